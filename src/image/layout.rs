//! An image as files: an [OCI image layout](https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md), or a tar file of it.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    Blob, Created, Image, Platform, Reference,
    descriptor::{Annotations, media_type},
    layer::{Entry, tar},
};

/// The files of a layout, by their paths.
///
/// The index of the layout lists the index of the image, with its name, and the manifests of the SBOMs: a layout has no other way to find
/// what is attached to a manifest.
pub fn layout(image: &Image, name: &Reference) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut add = |blob: &Blob| {
        let path = path(&blob.descriptor.digest);
        files.insert(path, blob.bytes.clone());
    };
    add(&image.index);
    let mut listed = image.index.descriptor.clone();
    listed.annotations = Annotations::from([
        (
            "org.opencontainers.image.ref.name".to_owned(),
            name.tag.clone(),
        ),
        // the name that containerd gives the image
        ("io.containerd.image.name".to_owned(), name.canonical()),
    ]);
    let mut manifests = vec![listed];
    for platform in &image.platforms {
        platform.blobs().into_iter().for_each(&mut add);
        add(&platform.manifest);
        add(&platform.sbom.manifest);
        manifests.push(platform.sbom.manifest.descriptor.clone());
    }
    let index = json!({
        "schemaVersion": 2,
        "mediaType": media_type::INDEX,
        "manifests": manifests,
    });
    let version = json!({ "imageLayoutVersion": "1.0.0" });
    files.insert("index.json".into(), index.to_string().into_bytes());
    files.insert("oci-layout".into(), version.to_string().into_bytes());
    files
}

/// A tar file of the layout. It also has the `manifest.json` of `docker save`, with the image of one platform: that of this machine, or
/// the first one. Docker's classic image store reads nothing else.
pub fn archive(image: &Image, name: &Reference, created: Created) -> Vec<u8> {
    let mut files = layout(image, name);
    let host = Platform::of_host();
    let of_host = |image: &&super::PlatformImage| Some(image.platform) == host;
    let mut platforms = image.platforms.iter();
    if let Some(platform) = platforms.clone().find(of_host).or(platforms.next()) {
        let manifest = json!([{
            "Config": path(&platform.config.descriptor.digest),
            "RepoTags": [name.to_string()],
            "Layers": [path(&platform.layer.descriptor.digest)],
        }]);
        files.insert("manifest.json".into(), manifest.to_string().into_bytes());
    }
    let mut entries = vec![Entry::Folder("blobs/"), Entry::Folder("blobs/sha256/")];
    entries.extend(
        files
            .iter()
            .map(|(path, content)| Entry::File(path, 0o644, content)),
    );
    tar(&entries, created)
}

fn path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}
