//! Reads the body of a review, or reports what is wrong with it.

use serde::Deserialize;

/// A body that is no review, which is answered with the HTTP status 400.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the body is no JSON of a review: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the review cannot be read: {0}")]
    Field(#[from] serde_path_to_error::Error<serde_json::Error>),
    #[error("expected apiVersion {expected:?} and kind {kind:?}, got {found:?} and {found_kind:?}")]
    Version {
        expected: &'static str,
        kind: &'static str,
        found: String,
        found_kind: String,
    },
    #[error("the review has no request")]
    NoRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

impl Unreadable {
    /// Checks the version and the kind of a review, and reads it.
    pub fn read_review<'a, R: Deserialize<'a>>(
        body: &'a [u8],
        expected: &'static str,
        kind: &'static str,
    ) -> Result<R, Self> {
        let version: Version = serde_json::from_slice(body)?;
        if version.api_version != expected || version.kind != kind {
            return Err(Self::Version {
                expected,
                kind,
                found: version.api_version,
                found_kind: version.kind,
            });
        }
        let mut json = serde_json::Deserializer::from_slice(body);
        let review = serde_path_to_error::deserialize(&mut json)?;
        json.end()?;
        Ok(review)
    }
}
