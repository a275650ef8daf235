//! The format of a response, as the client's `Accept` asks for it: objects as they are, their [metadata alone], or, with the feature
//! `faces`, [tables].
//!
//! [metadata alone]: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
//! [tables]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

use super::accept::{self, Range};
use super::call::{Call, Target};
use crate::model::builtin::builtin;
use crate::model::{Failure, Result};

pub(crate) const JSON: &str = "application/json";
pub(crate) const TEXT: &str = "text/plain";
/// The only format in which kubectl accepts `/openapi/v2`.
#[cfg(feature = "faces")]
const SWAGGER: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// The media type of the response, because `@` is not allowed in a media type.
#[cfg(feature = "faces")]
pub(crate) const SWAGGER_ANSWER: &str =
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// The format in which the client wants objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    Whole,
    /// Metadata of one object, in this version.
    Metadata(&'static str),
    /// Metadata of lists, in this version.
    MetadataList(&'static str),
    #[cfg(feature = "faces")]
    Table(Include),
    /// All groups in one response, with [aggregated discovery] of `/api` and `/apis`.
    ///
    /// [aggregated discovery]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
    Discovery,
    /// `/openapi/v2` as protobuf.
    #[cfg(feature = "faces")]
    Swagger,
}

impl Format {
    /// The client's most preferred format among those that this server supports.
    pub fn read(call: &Call) -> Result<Self> {
        let ranges = accept::ranges(&call.accept);
        if ranges.is_empty() {
            return Ok(Self::Whole);
        }
        let target = Target::read(&call.path);
        let is_routed = |range: &Range<'_>| is_routed(&target, range.media);
        if !is_custom(&target) && !ranges.iter().any(is_routed) {
            let is_watchable = matches!(&target, Target::Resource(path) if path.name.is_empty());
            let is_read = call.method == http::Method::GET;
            return Err(Failure::not_acceptable(is_watchable && is_read));
        }
        for range in ranges.iter().filter(|range| range.is_served()) {
            if let Some(format) = Self::of(range, call, &target)? {
                return Ok(format);
            }
        }
        Err(Failure::no_such_format())
    }

    /// The format that a range asks for, if there is one.
    fn of(range: &Range<'_>, call: &Call, target: &Target) -> Result<Option<Self>> {
        if !range.takes_json() {
            return Ok(match range.media {
                TEXT if is_text(target) => Some(Self::Whole),
                #[cfg(feature = "faces")]
                SWAGGER => Some(Self::Swagger),
                _ => None,
            });
        }
        Ok(match range.wanted() {
            None => Some(Self::Whole),
            Some([format, "meta.k8s.io", version @ ("v1" | "v1beta1")])
                if format.starts_with("PartialObjectMetadata") =>
            {
                let version = match version {
                    "v1" => "meta.k8s.io/v1",
                    _ => "meta.k8s.io/v1beta1",
                };
                match format {
                    "PartialObjectMetadata" => Some(Self::Metadata(version)),
                    "PartialObjectMetadataList" => Some(Self::MetadataList(version)),
                    _ => None,
                }
            }
            #[cfg(feature = "faces")]
            Some(["Table", "meta.k8s.io", "v1"]) => {
                Some(Self::Table(Include::read(call.param("includeObject"))?))
            }
            Some(["APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2"])
                if matches!(call.path.trim_matches('/'), "api" | "apis") =>
            {
                Some(Self::Discovery)
            }
            Some(_) => None,
        })
    }
}

/// Whether a path is in a group that is not built in: there, the server looks for the kind before it checks the media types.
fn is_custom(target: &Target) -> bool {
    match target {
        Target::Resource(path) => {
            let mut kinds = builtin().kinds.iter();
            !kinds.any(|kind| kind.group == path.group && kind.version == path.version)
        }
        Target::Other(_) => false,
    }
}

/// Whether the response for a path is text.
fn is_text(target: &Target) -> bool {
    match target {
        Target::Resource(path) => path.subresource.as_deref() == Some("log"),
        Target::Other(_) => true,
    }
}

/// Whether a built-in path supports the media type, regardless of its parameters.
fn is_routed(target: &Target, media: &str) -> bool {
    const ROUTED: [&str; 4] = [
        "*/*",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ];
    #[cfg(feature = "faces")]
    if media == SWAGGER {
        return true;
    }
    ROUTED.contains(&media) || media == TEXT && is_text(target)
}

/// The part of the objects that rows contain.
#[cfg(feature = "faces")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

#[cfg(feature = "faces")]
impl Include {
    /// Parses `includeObject` in the query.
    pub fn read(text: &str) -> Result<Self> {
        match text {
            "None" => Ok(Self::Nothing),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}
