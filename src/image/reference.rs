//! The name of an image in a registry.

use std::fmt;

use crate::{
    config::{IMAGE_HELP, Image, is_image, registry},
    diagnostic::Explain,
};

/// A registry, a repository in it, and a tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The host, with its port if the name has one. Docker Hub is `docker.io`.
    pub registry: String,
    pub repository: String,
    pub tag: String,
    /// The name as it was written, without tag and digest.
    name: String,
}

/// The reason why a new image has no valid name.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    #[error("the image has no name: there is no --tag, and no `image` in operator.toml")]
    Missing,
    #[error("{0:?} is no name of an image")]
    Name(String),
    #[error("{0:?} has a digest, which a new image does not have before it is built")]
    Digest(String),
}

impl Explain for ReferenceError {
    fn help(&self) -> String {
        match self {
            Self::Missing => {
                "add `--tag NAME:TAG`, or store a name with `cargo operator gen-manifests --image NAME:TAG`"
            }
            Self::Name(_) => IMAGE_HELP,
            Self::Digest(_) => "write NAME:TAG",
        }
        .into()
    }
}

const DOCKER_HUB: &str = "docker.io";

impl Reference {
    /// Reads `NAME:TAG`. As with docker, the tag is `latest` by default, and the registry is Docker Hub.
    pub fn read(text: &str) -> Result<Self, ReferenceError> {
        if !is_image(text) {
            return Err(ReferenceError::Name(text.to_owned()));
        }
        if text.contains('@') {
            return Err(ReferenceError::Digest(text.to_owned()));
        }
        let Image {
            repository: name,
            tag,
            ..
        } = Image::of(text);
        let tag = if tag.is_empty() { "latest" } else { tag };
        let (registry, path) = match registry(name) {
            Some((DOCKER_HUB | "index.docker.io", path)) => (DOCKER_HUB, path),
            Some(other) => other,
            None => (DOCKER_HUB, name),
        };
        // the official images of Docker Hub
        let is_official = registry == DOCKER_HUB && !path.contains('/');
        let namespace = if is_official { "library/" } else { "" };
        Ok(Self {
            registry: registry.to_owned(),
            repository: format!("{namespace}{path}"),
            tag: tag.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Reads the name in `operator.toml` without its digest, which is that of the previous image.
    pub fn of_config(image: &str) -> Result<Self, ReferenceError> {
        Self::read(image.split('@').next().unwrap_or(image))
    }

    /// The name with its registry: `docker.io/library/a:latest` for `a`.
    pub fn canonical(&self) -> String {
        format!("{}/{}:{}", self.registry, self.repository, self.tag)
    }

    /// The name with the tag and a digest, for `gen-manifests --image`.
    pub fn with_digest(&self, digest: &str) -> String {
        format!("{self}@{digest}")
    }

    /// The root of the registry's API. Only a registry on this machine may use plain HTTP.
    pub fn origin(&self) -> String {
        match self.registry.as_str() {
            DOCKER_HUB => "https://registry-1.docker.io".to_owned(),
            registry if is_local(registry) => format!("http://{registry}"),
            registry => format!("https://{registry}"),
        }
    }
}

/// Whether a host, which may have a port, is this machine.
pub fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    ["localhost", "127.0.0.1"].contains(&name)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_registry_a_repository_and_a_tag() {
        for (text, registry, repository, tag, origin) in [
            (
                "a",
                "docker.io",
                "library/a",
                "latest",
                "https://registry-1.docker.io",
            ),
            (
                "me/a:1",
                "docker.io",
                "me/a",
                "1",
                "https://registry-1.docker.io",
            ),
            (
                "index.docker.io/me/a:1",
                "docker.io",
                "me/a",
                "1",
                "https://registry-1.docker.io",
            ),
            (
                "docker.io/a:1",
                "docker.io",
                "library/a",
                "1",
                "https://registry-1.docker.io",
            ),
            (
                "index.docker.io/a",
                "docker.io",
                "library/a",
                "latest",
                "https://registry-1.docker.io",
            ),
            (
                "index.docker.io.example.com/a",
                "index.docker.io.example.com",
                "a",
                "latest",
                "https://index.docker.io.example.com",
            ),
            (
                "ghcr.io/me/b/a:v1.0",
                "ghcr.io",
                "me/b/a",
                "v1.0",
                "https://ghcr.io",
            ),
            (
                "localhost:5000/a",
                "localhost:5000",
                "a",
                "latest",
                "http://localhost:5000",
            ),
            (
                "127.0.0.1:5000/a:b",
                "127.0.0.1:5000",
                "a",
                "b",
                "http://127.0.0.1:5000",
            ),
            (
                "localhost.example.com/a",
                "localhost.example.com",
                "a",
                "latest",
                "https://localhost.example.com",
            ),
        ] {
            let read = Reference::read(text).unwrap();
            assert_eq!(
                (
                    &*read.registry,
                    &*read.repository,
                    &*read.tag,
                    &*read.origin()
                ),
                (registry, repository, tag, origin),
                "{text}"
            );
        }
        assert_eq!(Reference::read("me/a").unwrap().to_string(), "me/a:latest");
        assert_eq!(
            Reference::read("a:1").unwrap().canonical(),
            "docker.io/library/a:1"
        );
    }

    #[test]
    fn wrong_names_are_refused() {
        for wrong in ["", "A", "a b", "a:", "a:b:c", "https://a.b/c", "../a"] {
            assert!(
                matches!(Reference::read(wrong), Err(ReferenceError::Name(_))),
                "{wrong}"
            );
        }
        let digest = format!("a:1@sha256:{}", "0".repeat(64));
        assert!(matches!(
            Reference::read(&digest),
            Err(ReferenceError::Digest(_))
        ));
        assert_eq!(Reference::of_config(&digest).unwrap().to_string(), "a:1");
    }
}
