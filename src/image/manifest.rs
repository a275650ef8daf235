//! From binaries to an image: configs, manifests, artifacts and the index, as the
//! [OCI image specification](https://github.com/opencontainers/image-spec/tree/v1.1.1) defines them.

use serde_json::{Value, json};

use super::{
    Blob, Created, Description, Platform, Sbom,
    descriptor::{Annotations, Descriptor, media_type},
    layer::Layer,
};
use crate::manifests::HTTP_PORT;

/// The user `nonroot` of Distroless, as in the Dockerfile. The number lets the kubelet verify that it is not root.
pub const USER: u32 = 65532;

/// The input of an image for one platform.
pub struct Part {
    pub platform: Platform,
    pub binary: Vec<u8>,
    pub sbom: Sbom,
}

/// An image, whose index refers to a manifest for each platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub platforms: Vec<PlatformImage>,
    pub index: Blob,
}

/// The blobs of one platform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlatformImage {
    pub platform: Platform,
    pub layer: Blob,
    pub config: Blob,
    pub manifest: Blob,
    pub sbom: Artifact,
}

/// A document that is attached to a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub config: Blob,
    pub document: Blob,
    /// Its `subject` is the manifest to which the document is attached.
    pub manifest: Blob,
}

impl Image {
    pub fn new(description: &Description, created: Created, parts: Vec<Part>) -> Self {
        let annotations = annotations(description);
        let platforms: Vec<PlatformImage> = parts
            .into_iter()
            .map(|part| PlatformImage::new(part, description, &annotations, created))
            .collect();
        let manifests = platforms.iter().map(|it| &it.manifest.descriptor);
        let index = json!({
            "schemaVersion": 2,
            "mediaType": media_type::INDEX,
            "manifests": manifests.collect::<Vec<_>>(),
            "annotations": annotations,
        });
        Self {
            index: Blob::json(media_type::INDEX, &index),
            platforms,
        }
    }
}

impl PlatformImage {
    fn new(
        part: Part,
        description: &Description,
        annotations: &Annotations,
        created: Created,
    ) -> Self {
        let layer = Layer::of(&part.binary, created);
        let config = Blob::json(
            media_type::CONFIG,
            &config(part.platform, &layer, annotations, created),
        );
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type::MANIFEST,
            "config": config.descriptor,
            "layers": [layer.blob.descriptor],
            "annotations": annotations,
        });
        let mut manifest = Blob::json(media_type::MANIFEST, &manifest);
        manifest.descriptor.platform = Some(part.platform.into());
        let document = part.sbom.spdx(description, &part.binary, created);
        Self {
            platform: part.platform,
            sbom: Artifact::new(
                Blob::json(media_type::SPDX, &document),
                &manifest.descriptor,
                created,
            ),
            layer: layer.blob,
            config,
            manifest,
        }
    }

    /// The blobs that are not manifests.
    pub fn blobs(&self) -> [&Blob; 4] {
        let sbom = &self.sbom;
        [&self.layer, &self.config, &sbom.document, &sbom.config]
    }
}

impl Artifact {
    fn new(document: Blob, subject: &Descriptor, created: Created) -> Self {
        let config = Blob::empty();
        let artifact_type = document.descriptor.media_type;
        let annotations = Annotations::from([(
            "org.opencontainers.image.created".to_owned(),
            created.rfc3339(),
        )]);
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": media_type::MANIFEST,
            "artifactType": artifact_type,
            "config": config.descriptor,
            "layers": [document.descriptor],
            "subject": Descriptor { platform: None, ..subject.clone() },
            "annotations": annotations,
        });
        let mut manifest = Blob::json(media_type::MANIFEST, &manifest);
        manifest.descriptor.artifact_type = Some(artifact_type);
        manifest.descriptor.annotations = annotations;
        Self {
            config,
            document,
            manifest,
        }
    }
}

/// The [annotations](https://github.com/opencontainers/image-spec/blob/v1.1.1/annotations.md) of the manifests and the index, which are the
/// labels of the configs, too.
fn annotations(description: &Description) -> Annotations {
    let Description {
        name,
        version,
        text,
        source,
        license,
    } = description;
    let known = [
        ("title", Some(name)),
        ("version", Some(version)),
        ("description", text.as_ref()),
        ("source", source.as_ref()),
        ("licenses", license.as_ref()),
        ("base.name", Some(&"scratch".to_owned())),
    ];
    known
        .into_iter()
        .filter_map(|(key, value)| {
            Some((format!("org.opencontainers.image.{key}"), value?.clone()))
        })
        .collect()
}

/// The [config](https://github.com/opencontainers/image-spec/blob/v1.1.1/config.md) of an image: how to run it.
fn config(platform: Platform, layer: &Layer, labels: &Annotations, created: Created) -> Value {
    let created = created.rfc3339();
    json!({
        "created": created,
        "architecture": platform.architecture(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "ExposedPorts": { format!("{HTTP_PORT}/tcp"): {} },
            "Entrypoint": ["/operator"],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": { "type": "layers", "diff_ids": [layer.diff_id] },
        "history": [{ "created": created, "created_by": "cargo operator image" }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{SbomPackage, descriptor::digest};

    fn image(binary: &[u8]) -> Image {
        let description = Description {
            name: "widget-operator".into(),
            version: "0.1.0".into(),
            text: Some("Runs widgets".into()),
            source: None,
            license: Some("Apache-2.0".into()),
        };
        let part = |platform| Part {
            platform,
            binary: binary.to_vec(),
            sbom: Sbom {
                root: 0,
                packages: vec![SbomPackage {
                    name: "widget-operator".into(),
                    version: "0.1.0".into(),
                    source: None,
                    license: None,
                    dependencies: vec![],
                }],
            },
        };
        let parts = Platform::ALL.map(part).into();
        Image::new(&description, Created::default(), parts)
    }

    fn json(blob: &Blob) -> Value {
        assert_eq!(blob.descriptor.digest, digest(&blob.bytes));
        assert_eq!(blob.descriptor.size, blob.bytes.len());
        serde_json::from_slice(&blob.bytes).unwrap()
    }

    #[test]
    fn the_index_leads_to_every_blob_by_digest() {
        let image = image(b"binary");
        let index = json(&image.index);
        assert_eq!(index["mediaType"], media_type::INDEX);
        for (at, platform) in image.platforms.iter().enumerate() {
            let listed = &index["manifests"][at];
            assert_eq!(listed["digest"], platform.manifest.descriptor.digest);
            let architecture = platform.platform.architecture();
            assert_eq!(
                listed["platform"],
                json!({"architecture": architecture, "os": "linux"})
            );
            let manifest = json(&platform.manifest);
            assert_eq!(manifest["config"], json!(platform.config.descriptor));
            assert_eq!(manifest["layers"], json!([platform.layer.descriptor]));
            let config = json(&platform.config);
            assert_eq!(config["architecture"], architecture);
            assert_eq!(config["created"], "1970-01-01T00:00:00Z");
            assert_eq!(
                config["config"],
                json!({
                    "User": "65532:65532",
                    "ExposedPorts": {"8080/tcp": {}},
                    "Entrypoint": ["/operator"],
                    "WorkingDir": "/",
                    "Labels": {
                        "org.opencontainers.image.base.name": "scratch",
                        "org.opencontainers.image.description": "Runs widgets",
                        "org.opencontainers.image.licenses": "Apache-2.0",
                        "org.opencontainers.image.title": "widget-operator",
                        "org.opencontainers.image.version": "0.1.0",
                    },
                })
            );
        }
    }

    #[test]
    fn each_manifest_has_an_sbom_that_names_it_as_its_subject() {
        for platform in image(b"binary").platforms {
            let manifest = json(&platform.sbom.manifest);
            assert_eq!(manifest["artifactType"], "application/spdx+json");
            assert_eq!(manifest["config"]["mediaType"], media_type::EMPTY);
            let subject = &manifest["subject"];
            assert_eq!(subject["digest"], platform.manifest.descriptor.digest);
            assert_eq!(subject["size"], platform.manifest.bytes.len());
            let document = json(&platform.sbom.document);
            assert_eq!(document["spdxVersion"], "SPDX-2.3");
        }
    }

    #[test]
    fn the_same_input_gives_the_same_image_and_another_binary_gives_another() {
        assert_eq!(image(b"binary"), image(b"binary"));
        let digest = |binary| image(binary).index.descriptor.digest;
        assert_ne!(digest(b"binary"), digest(b"another"));
    }
}
