//! The only layer of an image: the operator, CA certificates, and the user that it runs as.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use tar::{Builder, EntryType, Header};

use super::{
    Blob, Created,
    descriptor::{digest, media_type},
};

const PASSWD: &str = "\
root:x:0:0:root:/root:/sbin/nologin
nonroot:x:65532:65532:nonroot:/:/sbin/nologin
";
const GROUP: &str = "\
root:x:0:
nonroot:x:65532:
";

/// A layer, compressed, with the digest of its content.
pub struct Layer {
    pub blob: Blob,
    /// The digest of the tar file before its compression.
    pub diff_id: String,
}

impl Layer {
    pub fn of(binary: &[u8], created: Created) -> Self {
        let certificates = certificates();
        let tar = tar(
            &[
                Entry::Folder("etc/"),
                Entry::File("etc/group", 0o644, GROUP.as_bytes()),
                Entry::File("etc/passwd", 0o644, PASSWD.as_bytes()),
                Entry::Folder("etc/ssl/"),
                Entry::Folder("etc/ssl/certs/"),
                // where OpenSSL, Go and rustls-native-certs look for them
                Entry::File(
                    "etc/ssl/certs/ca-certificates.crt",
                    0o644,
                    certificates.as_bytes(),
                ),
                Entry::File("operator", 0o755, binary),
            ],
            created,
        );
        // the header of the gzip format has no time and no name by default
        let mut encoder = GzEncoder::new(vec![], Compression::best());
        let compressed = encoder.write_all(&tar).and_then(|()| encoder.finish());
        Self {
            diff_id: digest(&tar),
            blob: Blob::new(media_type::LAYER, compressed.expect(IN_MEMORY)),
        }
    }
}

const IN_MEMORY: &str = "writing to memory does not fail";

/// An entry of a tar file, with the mode and the content of a file.
pub enum Entry<'a> {
    Folder(&'a str),
    File(&'a str, u32, &'a [u8]),
}

/// A tar file in the format `ustar`, whose entries belong to root.
pub fn tar(entries: &[Entry<'_>], created: Created) -> Vec<u8> {
    let mut builder = Builder::new(vec![]);
    for entry in entries {
        let (path, kind, mode, content): (_, _, _, &[u8]) = match entry {
            Entry::Folder(path) => (path, EntryType::Directory, 0o755, &[]),
            Entry::File(path, mode, content) => (path, EntryType::Regular, *mode, content),
        };
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(created.seconds());
        header.set_size(content.len() as u64);
        let added = builder.append_data(&mut header, path, content);
        added.expect(IN_MEMORY);
    }
    builder.into_inner().expect(IN_MEMORY)
}

/// The certificate authorities that Mozilla trusts, as PEM. They are part of this program, so that an image does not depend on the host.
fn certificates() -> String {
    let pems: Vec<pem::Pem> = webpki_root_certs::TLS_SERVER_ROOT_CERTS
        .iter()
        .map(|root| pem::Pem::new("CERTIFICATE", root.as_ref()))
        .collect();
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    pem::encode_many_config(&pems, config)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::image::manifest::USER;

    #[test]
    fn a_layer_has_the_operator_certificates_and_a_user() {
        let created = Created::read(Some("1700000000")).unwrap();
        let layer = Layer::of(b"binary", created);
        let mut tar = vec![];
        flate2::read::GzDecoder::new(layer.blob.bytes.as_slice())
            .read_to_end(&mut tar)
            .unwrap();
        assert_eq!(digest(&tar), layer.diff_id);
        let mut archive = tar::Archive::new(tar.as_slice());
        let mut entries = vec![];
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            assert_eq!(header.mtime().unwrap(), 1_700_000_000);
            assert!(header.as_ustar().is_some());
            let path = entry.path().unwrap().display().to_string();
            let mode = entry.header().mode().unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            match path.as_str() {
                "operator" => assert_eq!(text, "binary"),
                "etc/passwd" => assert!(text.contains(&format!("nonroot:x:{USER}:{USER}:"))),
                "etc/ssl/certs/ca-certificates.crt" => {
                    let count = text.matches("-----BEGIN CERTIFICATE-----\n").count();
                    assert_eq!(count, webpki_root_certs::TLS_SERVER_ROOT_CERTS.len());
                    assert!(!text.contains('\r'));
                }
                _ => {}
            }
            entries.push(format!("{mode:o} {path}"));
        }
        assert_eq!(
            entries,
            [
                "755 etc/",
                "644 etc/group",
                "644 etc/passwd",
                "755 etc/ssl/",
                "755 etc/ssl/certs/",
                "644 etc/ssl/certs/ca-certificates.crt",
                "755 operator",
            ]
        );
    }

    #[test]
    fn the_gzip_header_names_no_time_file_or_host() {
        let layer = Layer::of(b"binary", Created::default());
        // magic, deflate, no flags, no time; then the level, and an unknown operating system
        assert_eq!(layer.blob.bytes[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
        assert_eq!(layer.blob.bytes[9], 255);
    }
}
