//! Blobs, and the descriptors that refer to them by digest.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Platform;
use crate::hash::sha256;

/// The media types of the [OCI image specification](https://github.com/opencontainers/image-spec/blob/v1.1.1/media-types.md).
pub mod media_type {
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    pub const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
    pub const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
    /// The config of an artifact that needs none.
    pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
    /// A list of packages as [SPDX](https://spdx.github.io/spdx-spec/v2.3/).
    pub const SPDX: &str = "application/spdx+json";
}

/// Annotations or labels.
pub type Annotations = BTreeMap<String, String>;

/// A reference to a blob, as it is in a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub media_type: &'static str,
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// The size in bytes.
    pub size: usize,
    /// The platform, for a manifest in an index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<DescribedPlatform>,
    /// The type, for the manifest of an artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: Annotations,
}

/// A platform as a descriptor names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DescribedPlatform {
    pub architecture: &'static str,
    pub os: &'static str,
}

impl From<Platform> for DescribedPlatform {
    fn from(platform: Platform) -> Self {
        Self {
            architecture: platform.architecture(),
            os: "linux",
        }
    }
}

/// Content with the descriptor that refers to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub descriptor: Descriptor,
    pub bytes: Vec<u8>,
}

impl Blob {
    pub fn new(media_type: &'static str, bytes: Vec<u8>) -> Self {
        Self {
            descriptor: Descriptor {
                media_type,
                digest: digest(&bytes),
                size: bytes.len(),
                platform: None,
                artifact_type: None,
                annotations: Annotations::new(),
            },
            bytes,
        }
    }

    pub fn json(media_type: &'static str, value: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(value).expect("keys are strings");
        Self::new(media_type, bytes)
    }

    /// The config of an artifact that needs none, `{}`.
    pub fn empty() -> Self {
        Self::new(media_type::EMPTY, b"{}".to_vec())
    }
}

/// The digest of some bytes: `sha256:` and 64 hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_config_has_the_digest_of_the_specification() {
        let json = serde_json::to_string(&Blob::empty().descriptor).unwrap();
        // https://github.com/opencontainers/image-spec/blob/v1.1.1/manifest.md#guidance-for-an-empty-descriptor
        assert_eq!(
            json,
            r#"{"mediaType":"application/vnd.oci.empty.v1+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}"#
        );
    }
}
