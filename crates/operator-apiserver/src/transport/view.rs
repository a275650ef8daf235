//! Converts a response to the format that the client accepts.

use serde_json::{Value, json};

#[cfg(feature = "faces")]
use super::table::{self, Header, Rows};
use crate::decode::go_package;
use crate::model::builtin::builtin;
use crate::model::metadata::text;
use crate::model::{Failure, Result, group_version};
use crate::request::Call;
#[cfg(feature = "faces")]
use crate::request::call::Target;
#[cfg(feature = "faces")]
use crate::request::format::SWAGGER_ANSWER;
use crate::request::format::{Format, JSON, TEXT};
use crate::store::Registry;

/// A format, with the information about the objects that it needs.
pub(crate) struct View {
    format: Format,
    /// The kind of rows in a table.
    #[cfg(feature = "faces")]
    rows: Option<Rows>,
    #[cfg(feature = "faces")]
    header: Header,
}

/// The format of the response to a call.
#[cfg(feature = "faces")]
pub(crate) fn view(registry: &Registry, format: Format, call: &Call) -> View {
    let rows = match (format, Target::read(&call.path)) {
        (Format::Table(_), Target::Resource(path)) => match path.subresource.as_deref() {
            Some("scale") => Some(Rows::Scales),
            // Other subresources are the object itself.
            _ => registry
                .kind(&path.group, &path.version, &path.plural)
                .map(Rows::Objects),
        },
        _ => None,
    };
    View {
        format,
        rows,
        header: Header::Shown,
    }
}

/// The format of the response to a call.
#[cfg(not(feature = "faces"))]
pub(crate) fn view(_registry: &Registry, format: Format, _call: &Call) -> View {
    View { format }
}

impl View {
    /// Converts an object or a list to this format.
    pub fn show(&self, object: Value) -> Result<Value> {
        if object["kind"] == "Status" && object["apiVersion"] == "v1" {
            return Ok(object);
        }
        #[cfg(feature = "faces")]
        if let (Format::Table(include), Some(rows)) = (self.format, &self.rows) {
            return Ok(table::table(rows, &object, include, self.header));
        }
        let (version, wants_list) = match self.format {
            Format::Metadata(version) => (version, false),
            Format::MetadataList(version) => (version, true),
            _ => return Ok(object),
        };
        Ok(match items(&object) {
            Some(_) if !wants_list => {
                let message = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{})",
                    go_type(&object)
                );
                return Err(Failure::wrong_format(message));
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
                return Err(Failure::wrong_format(message));
            }
            None if wants_list => return Err(Failure::without_reason("content is not a list")),
            None => partial(&object, version),
        })
    }

    /// Whether responses need no conversion.
    pub fn is_whole(&self) -> bool {
        self.format == Format::Whole
    }

    /// The media type of a response.
    pub fn media(&self, object: &Value) -> &'static str {
        match self.format {
            Format::Discovery if object["kind"] == "APIGroupDiscoveryList" => {
                "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
            }
            _ => JSON,
        }
    }

    /// The media type of a response that is not an object.
    pub fn text_media(&self) -> &'static str {
        match self.format {
            #[cfg(feature = "faces")]
            Format::Swagger => SWAGGER_ANSWER,
            _ => TEXT,
        }
    }

    /// Converts the next object of a watch; only the first table defines its columns.
    pub fn show_next(&mut self, object: Value) -> Value {
        let shown = self
            .show(object)
            .unwrap_or_else(|failure| failure.to_json());
        #[cfg(feature = "faces")]
        {
            self.header = Header::Omitted;
        }
        shown
    }
}

/// The Go type of a response.
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

/// The items of a list. A list has no name; an object of a custom kind has one, and may have its own `items`.
pub(crate) fn items(object: &Value) -> Option<&[Value]> {
    let items = object["items"].as_array()?;
    text(object, "name").is_empty().then_some(items)
}

/// The [metadata](https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches) of an object, without the rest.
pub(crate) fn partial(object: &Value, version: &str) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": version,
        "metadata": object["metadata"],
    })
}
