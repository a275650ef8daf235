//! The name of an image.

use semver::Version;

/// Describes a valid image name, for the error.
pub const IMAGE_HELP: &str =
    "write NAME[:TAG][@DIGEST] in lower case, such as ghcr.io/me/memcached-operator:0.1.0";

/// Whether the text can be an image reference; the registry checks the rest
/// (<https://github.com/distribution/reference/blob/main/reference.go>).
pub fn is_image(name: &str) -> bool {
    let (name, digest) = match name.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (name, None),
    };
    // a colon before a slash precedes the port of a registry
    let last = name.rsplit('/').next().unwrap_or_default();
    let (path, tag) = match last.split_once(':') {
        Some((_, tag)) => (&name[..name.len() - tag.len() - 1], Some(tag)),
        None => (name, None),
    };
    let word = |text: &str, more: &[u8]| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    let (registry, rest) = match registry(path) {
        Some((registry, rest)) => (Some(registry), rest),
        None => (None, path),
    };
    let is_path = |part: &str| word(part, b"._-") && !part.bytes().any(|b| b.is_ascii_uppercase());
    registry.is_none_or(|registry| word(registry, b".-:"))
        && rest.split('/').all(is_path)
        && tag.is_none_or(|tag| word(tag, b"._-") || tag.starts_with('_'))
        && digest.is_none_or(is_digest)
}

/// Whether the text is a digest by a registered algorithm
/// (<https://github.com/opencontainers/image-spec/blob/main/descriptor.md#registered-algorithms>).
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hash)) = digest.split_once(':') else {
        return false;
    };
    let length = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return false,
    };
    hash.len() == length && hash.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// The registry in the name of a repository, and the rest of the name; `None` for a repository on Docker Hub.
/// <https://github.com/distribution/reference/blob/main/normalize.go>
pub fn registry(name: &str) -> Option<(&str, &str)> {
    name.split_once('/')
        .filter(|(host, _)| host.contains(['.', ':']) || *host == "localhost")
}

/// The parts of an image's name.
pub struct Image<'a> {
    pub repository: &'a str,
    pub tag: &'a str,
    pub digest: &'a str,
}

impl<'a> Image<'a> {
    /// The parts of `NAME[:TAG][@DIGEST]`.
    pub fn of(image: &'a str) -> Self {
        let (name, digest) = image.split_once('@').unwrap_or((image, ""));
        // a colon before a slash precedes the port of a registry
        let start = name.rfind('/').map_or(0, |slash| slash + 1);
        let (repository, tag) = name[start..]
            .find(':')
            .map(|colon| start + colon)
            .map_or((name, ""), |at| (&name[..at], &name[at + 1..]));
        Self {
            repository,
            tag,
            digest,
        }
    }

    /// The version of the operator: the tag, if that is a version (<https://semver.org>), with or without `v`. Names of objects contain the
    /// version, so one with `+` or capital letters does not count.
    pub fn version(&self) -> Option<Version> {
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
        let version = self.tag.strip_prefix('v').unwrap_or(self.tag);
        Version::parse(version)
            .ok()
            .filter(|_| version.chars().all(is_name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_an_image_are_found() {
        for (image, expected) in [
            ("a", ["a", "", ""]),
            ("a/b:1", ["a/b", "1", ""]),
            (
                "localhost:5000/a:1@sha256:0",
                ["localhost:5000/a", "1", "sha256:0"],
            ),
            ("localhost:5000/a", ["localhost:5000/a", "", ""]),
            ("a@sha256:0", ["a", "", "sha256:0"]),
        ] {
            let Image {
                repository,
                tag,
                digest,
            } = Image::of(image);
            assert_eq!([repository, tag, digest], expected);
        }
    }

    #[test]
    fn a_digest_has_a_known_algorithm_and_its_length() {
        let (short, long) = ("0a".repeat(32), "0a".repeat(64));
        for (digest, expected) in [
            (format!("sha256:{short}"), true),
            (format!("sha512:{long}"), true),
            (format!("sha256:{long}"), false),
            (format!("sha256:{}", short.to_uppercase()), false),
            (format!("md5:{short}"), false),
            ("sha256:abc".to_owned(), false),
            (short.clone(), false),
        ] {
            assert_eq!(is_image(&format!("a/b:1@{digest}")), expected, "{digest}");
        }
    }

    #[test]
    fn a_tag_may_be_a_version() {
        for (tag, expected) in [
            ("0.2.0", Some("0.2.0")),
            ("v1.0.0-rc.1", Some("1.0.0-rc.1")),
            ("1.0", None),
            ("latest", None),
            ("1.0.0-RC1", None),
            ("1.0.0_1", None),
        ] {
            let image = format!("localhost:5000/a:{tag}");
            let version = Image::of(&image).version().map(|it| it.to_string());
            assert_eq!(version.as_deref(), expected, "{tag}");
        }
        assert_eq!(Image::of("localhost:5000/a").version(), None);
    }
}
