//! Uploads an image to a registry with the API of the
//! [OCI distribution specification](https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md).
//!
//! A blob that the registry already has is not uploaded again. The tag is written last, so that it never refers to a part of an image.

#![allow(clippy::disallowed_methods, reason = "a registry is on the network")]

mod challenge;
mod credentials;
mod error;
mod http;
mod origin;
mod referrer;
mod registry;
mod retry;

pub use credentials::{Credentials, CredentialsError, credentials};
pub use error::PushError;

use super::{Blob, Image, Reference};
use registry::Registry;

/// What a push has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The digest of the image's index.
    pub digest: String,
    /// The number of blobs that were uploaded.
    pub uploaded: usize,
    /// The number of blobs that were there.
    pub existing: usize,
}

/// A repository to push to. It keeps what the registry has authorized, as some credentials can be used only once.
pub struct Repository {
    registry: Registry,
    name: Reference,
    runtime: tokio::runtime::Runtime,
}

impl Repository {
    pub fn new(name: &Reference, credentials: Option<Credentials>) -> Result<Self, PushError> {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Ok(Self {
            registry: Registry::new(name, credentials)?,
            name: name.clone(),
            runtime: runtime.enable_all().build().map_err(PushError::Runtime)?,
        })
    }

    /// Checks that the registry accepts an upload, without one.
    pub fn check(&mut self) -> Result<(), PushError> {
        self.runtime.block_on(self.registry.check())
    }

    /// Uploads an image, and tags it.
    pub fn push(&mut self, image: &Image) -> Result<Pushed, PushError> {
        let upload = upload(image, &self.name, &mut self.registry);
        self.runtime.block_on(upload)
    }
}

/// Uploads blobs before the manifests that refer to them, because registries refuse a manifest with missing blobs.
async fn upload(
    image: &Image,
    name: &Reference,
    registry: &mut Registry,
) -> Result<Pushed, PushError> {
    let mut pushed = Pushed {
        digest: image.index.descriptor.digest.clone(),
        uploaded: 0,
        existing: 0,
    };
    let digest = |blob: &Blob| blob.descriptor.digest.clone();
    for platform in &image.platforms {
        for blob in platform.blobs() {
            if registry.has_blob(blob).await? {
                pushed.existing += 1;
            } else {
                registry.upload_blob(blob).await?;
                pushed.uploaded += 1;
            }
        }
        let manifest = &platform.manifest;
        registry.put_manifest(manifest, &digest(manifest)).await?;
        let sbom = &platform.sbom.manifest;
        let response = registry.put_manifest(sbom, &digest(sbom)).await?;
        if !response.headers.contains_key("oci-subject") {
            referrer::add(registry, &digest(manifest), &sbom.descriptor).await?;
        }
    }
    registry.put_manifest(&image.index, &name.tag).await?;
    Ok(pushed)
}
