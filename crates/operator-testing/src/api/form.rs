//! The form of an answer, as the client's `Accept` wants it: objects as they are, their [metadata alone], or, with the feature `http`,
//! [tables].
//!
//! [metadata alone]: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches
//! [tables]: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables

use serde_json::{Value, json};

use super::State;
use super::metadata::text;
use super::request::Call;
#[cfg(feature = "http")]
use super::request::Target;
use super::status::{Failure, Result};
#[cfg(feature = "http")]
use super::table::{self, Header, Include, Rows};

pub(crate) const JSON: &str = "application/json";
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
    Metadata,
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
    /// The first range of `Accept` that this server can answer.
    pub fn read(call: &Call) -> Result<Self> {
        let ranges = call.accept.split(',').map(str::trim);
        let mut refused = None;
        for range in ranges.filter(|range| !range.is_empty()) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            let parts: Vec<&str> = parts.collect();
            let param = |name: &str| {
                let mut values = parts.iter().filter_map(|part| part.split_once('='));
                values.find_map(|(key, value)| (key == name).then_some(value))
            };
            match (media, param("as")) {
                ("application/json" | "*/*" | "application/*" | "text/plain", None) => {
                    return Ok(Self::Whole);
                }
                (
                    "application/json",
                    Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                ) => return Ok(Self::Metadata),
                #[cfg(feature = "http")]
                ("application/json", Some("Table"))
                    if param("g") == Some("meta.k8s.io") && param("v") == Some("v1") =>
                {
                    return Ok(Self::Table(Include::read(call.param("includeObject"))?));
                }
                ("application/json", Some("APIGroupDiscoveryList"))
                    if param("g") == Some("apidiscovery.k8s.io") && param("v") == Some("v2") =>
                {
                    return Ok(Self::Discovery);
                }
                #[cfg(feature = "http")]
                (SWAGGER, None) => return Ok(Self::Swagger),
                _ => refused = refused.or(Some(range)),
            }
        }
        refused.map_or(Ok(Self::Whole), |_| Err(Failure::not_acceptable()))
    }
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
    pub fn show(&self, object: Value) -> Value {
        if object["kind"] == "Status" && object["apiVersion"] == "v1" {
            return object;
        }
        #[cfg(feature = "http")]
        if let (Form::Table(include), Some(rows)) = (self.form, &self.rows) {
            return table::table(rows, &object, include, self.header);
        }
        if self.form != Form::Metadata {
            return object;
        }
        match items(&object) {
            Some(items) => {
                let mut metadata = object["metadata"].clone();
                if let (true, Some(fields)) = (metadata["continue"] == "", metadata.as_object_mut())
                {
                    fields.shift_remove("continue");
                }
                json!({
                    "kind": "PartialObjectMetadataList",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata,
                    "items": items.iter().map(partial).collect::<Vec<_>>(),
                })
            }
            None => partial(&object),
        }
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
            _ => "text/plain",
        }
    }

    /// The next object of a watch: only the first table says what its columns are.
    pub fn show_next(&mut self, object: Value) -> Value {
        let shown = self.show(object);
        #[cfg(feature = "http")]
        {
            self.header = Header::Omitted;
        }
        shown
    }
}

/// What is in a list. It has no name: an object of a custom kind, which does, may have `items` of its own.
pub(crate) fn items(object: &Value) -> Option<&[Value]> {
    let items = object["items"].as_array()?;
    text(object, "name").is_empty().then_some(items)
}

/// An object's [metadata](https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches) alone.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": object["metadata"],
    })
}
