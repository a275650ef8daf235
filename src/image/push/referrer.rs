//! The [referrers tag](https://github.com/opencontainers/distribution-spec/blob/v1.1.1/spec.md#referrers-tag-schema): the list of what is
//! attached to a manifest, for a registry without the referrers API.

use http::StatusCode;
use serde_json::{Value, json};

use super::{PushError, registry::Registry};
use crate::image::{
    Blob,
    descriptor::{Descriptor, media_type},
};

/// Adds a manifest to the list of the manifest `subject`.
pub async fn add(
    registry: &mut Registry,
    subject: &str,
    referrer: &Descriptor,
) -> Result<(), PushError> {
    let tag = subject.replace(':', "-");
    let response = registry.manifest(&tag).await?;
    let mut index = match response.status {
        StatusCode::NOT_FOUND => json!({
            "schemaVersion": 2,
            "mediaType": media_type::INDEX,
            "manifests": [],
        }),
        _ => serde_json::from_slice(&response.body).unwrap_or_default(),
    };
    let Some(listed) = index.get_mut("manifests").and_then(Value::as_array_mut) else {
        return Err(PushError::Referrers(tag));
    };
    if listed.iter().any(|it| it["digest"] == referrer.digest) {
        return Ok(());
    }
    listed.push(json!(referrer));
    registry
        .put_manifest(&Blob::json(media_type::INDEX, &index), &tag)
        .await?;
    Ok(())
}
