//! The name of an image.

use semver::Version;

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
        // a colon before a slash is that of a registry's port
        let start = name.rfind('/').map_or(0, |slash| slash + 1);
        let colon = name[start..].find(':').map(|colon| start + colon);
        let (repository, tag) = colon.map_or((name, ""), |at| (&name[..at], &name[at + 1..]));
        Self {
            repository,
            tag,
            digest,
        }
    }

    /// The version of the operator in it: its tag, if that is a version (<https://semver.org>), with or without `v`. Names of objects have the
    /// version, so it has no `+` and no capital letters.
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
