//! The form of an answer, as the client's `Accept` wants it: objects as they are, their [metadata alone], or, with the feature `http`,
//! [tables].
//!
//! [metadata alone]: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
//! [tables]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

use serde_json::{Value, json};

use crate::api::State;
use crate::api::accept::{self, Range};
use crate::api::builtin::builtin;
use crate::api::decode::go_package;
use crate::api::kind::group_version;
use crate::api::metadata::text;
use crate::api::request::{Call, Target};
use crate::api::status::{Failure, Result};
#[cfg(feature = "http")]
use crate::api::table::{self, Header, Include, Rows};

pub(crate) const JSON: &str = "application/json";
const TEXT: &str = "text/plain";
/// The one form in which kubectl takes `/openapi/v2`.
#[cfg(feature = "http")]
const SWAGGER: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/// It is answered under another name, as `@` is no part of a media type.
#[cfg(feature = "http")]
const SWAGGER_ANSWER: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// What the client wants to see of objects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    Whole,
    /// Of one object, in that version.
    Metadata(&'static str),
    /// The same of lists.
    MetadataList(&'static str),
    #[cfg(feature = "http")]
    Table(Include),
    /// All groups in [one answer], for the two paths that have it.
    ///
    /// [one answer]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#aggregated-discovery
    Discovery,
    /// `/openapi/v2` as protobuf.
    #[cfg(feature = "http")]
    Swagger,
}

/// A form, and what it needs to know of the objects.
pub(crate) struct View {
    form: Form,
    /// What a table is of.
    #[cfg(feature = "http")]
    rows: Option<Rows>,
    #[cfg(feature = "http")]
    header: Header,
}

impl Form {
    /// What the client wants most of what this server can answer.
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
            if let Some(form) = Self::of(range, call, &target)? {
                return Ok(form);
            }
        }
        Err(Failure::no_such_form())
    }

    /// The form that a range asks for, if there is one.
    fn of(range: &Range<'_>, call: &Call, target: &Target) -> Result<Option<Self>> {
        if !range.takes_json() {
            return Ok(match range.media {
                TEXT if is_text(target) => Some(Self::Whole),
                #[cfg(feature = "http")]
                SWAGGER => Some(Self::Swagger),
                _ => None,
            });
        }
        Ok(match range.wanted() {
            None => Some(Self::Whole),
            Some([form, "meta.k8s.io", version @ ("v1" | "v1beta1")])
                if form.starts_with("PartialObjectMetadata") =>
            {
                let version = match version {
                    "v1" => "meta.k8s.io/v1",
                    _ => "meta.k8s.io/v1beta1",
                };
                match form {
                    "PartialObjectMetadata" => Some(Self::Metadata(version)),
                    "PartialObjectMetadataList" => Some(Self::MetadataList(version)),
                    _ => None,
                }
            }
            #[cfg(feature = "http")]
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

/// Whether a path is of a group that is not built in, whose media types are not looked at before its kind is.
fn is_custom(target: &Target) -> bool {
    match target {
        Target::Resource(path) => {
            let mut kinds = builtin().kinds.iter();
            !kinds.any(|kind| kind.group == path.group && kind.version == path.version)
        }
        Target::Other(_) => false,
    }
}

/// Whether a path is answered as text.
fn is_text(target: &Target) -> bool {
    match target {
        Target::Resource(path) => path.subresource.as_deref() == Some("log"),
        Target::Other(_) => true,
    }
}

/// Whether a path that is built in has the media type, whatever its parameters.
fn is_routed(target: &Target, media: &str) -> bool {
    const ROUTED: [&str; 4] = [
        "*/*",
        "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
    ];
    #[cfg(feature = "http")]
    if media == SWAGGER {
        return true;
    }
    ROUTED.contains(&media) || media == TEXT && is_text(target)
}

impl State {
    /// The form of a call's answer.
    #[cfg(feature = "http")]
    pub(crate) fn view(&self, form: Form, call: &Call) -> View {
        let rows = match (form, Target::read(&call.path)) {
            (Form::Table(_), Target::Resource(path)) => match path.subresource.as_deref() {
                Some("scale") => Some(Rows::Scales),
                // Other subresources are the object itself.
                _ => self
                    .registry
                    .kind(&path.group, &path.version, &path.plural)
                    .map(Rows::Objects),
            },
            _ => None,
        };
        View {
            form,
            rows,
            header: Header::Shown,
        }
    }

    /// The form of a call's answer.
    #[cfg(not(feature = "http"))]
    pub(crate) fn view(&self, form: Form, _call: &Call) -> View {
        View { form }
    }
}

impl View {
    /// An object, or a list of objects, in this form.
    pub fn show(&self, object: Value) -> Result<Value> {
        if object["kind"] == "Status" && object["apiVersion"] == "v1" {
            return Ok(object);
        }
        #[cfg(feature = "http")]
        if let (Form::Table(include), Some(rows)) = (self.form, &self.rows) {
            return Ok(table::table(rows, &object, include, self.header));
        }
        let (version, wants_list) = match self.form {
            Form::Metadata(version) => (version, false),
            Form::MetadataList(version) => (version, true),
            _ => return Ok(object),
        };
        Ok(match items(&object) {
            Some(_) if !wants_list => {
                let message = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{})",
                    go_type(&object)
                );
                return Err(Failure::unfit_form(message));
            }
            Some(items) => {
                let mut metadata = object["metadata"].clone();
                if let (true, Some(fields)) = (metadata["continue"] == "", metadata.as_object_mut())
                {
                    fields.shift_remove("continue");
                }
                json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": version,
                    "metadata": metadata,
                    "items": items.iter().map(|item| partial(item, version)).collect::<Vec<_>>(),
                })
            }
            None if wants_list && is_built_in(&object) => {
                let message = format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{})",
                    go_type(&object)
                );
                return Err(Failure::unfit_form(message));
            }
            None if wants_list => return Err(Failure::internal("content is not a list")),
            None => partial(&object, version),
        })
    }

    /// Whether an answer is shown as it is.
    pub fn is_whole(&self) -> bool {
        self.form == Form::Whole
    }

    /// The media type of an answer.
    pub fn media(&self, object: &Value) -> &'static str {
        match self.form {
            Form::Discovery if object["kind"] == "APIGroupDiscoveryList" => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            _ => JSON,
        }
    }

    /// The media type of an answer that is no object.
    pub fn text_media(&self) -> &'static str {
        match self.form {
            #[cfg(feature = "http")]
            Form::Swagger => SWAGGER_ANSWER,
            _ => TEXT,
        }
    }

    /// The next object of a watch: only the first table says what its columns are.
    pub fn show_next(&mut self, object: Value) -> Value {
        let shown = self
            .show(object)
            .unwrap_or_else(|failure| failure.to_json());
        #[cfg(feature = "http")]
        {
            self.header = Header::Omitted;
        }
        shown
    }
}

/// The Go type of an answer.
fn go_type(answer: &Value) -> String {
    let kind = answer["kind"].as_str().unwrap_or_default();
    match (is_built_in(answer), kind.ends_with("List")) {
        (true, _) => {
            let (group, _) = group_version(answer["apiVersion"].as_str().unwrap_or_default());
            format!("{}.{kind}", go_package(group))
        }
        (false, true) => "unstructured.UnstructuredList".to_owned(),
        (false, false) => "unstructured.Unstructured".to_owned(),
    }
}

fn is_built_in(answer: &Value) -> bool {
    let (group, _) = group_version(answer["apiVersion"].as_str().unwrap_or_default());
    builtin().kinds.iter().any(|kind| kind.group == group)
}

/// What is in a list. It has no name: an object of a custom kind, which does, may have `items` of its own.
pub(crate) fn items(object: &Value) -> Option<&[Value]> {
    let items = object["items"].as_array()?;
    text(object, "name").is_empty().then_some(items)
}

/// An object's [metadata](https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches) alone.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version,
        "metadata": object["metadata"],
    })
}
