//! [Label and field selectors] of lists and watches.
//!
//! [Label and field selectors]: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

use serde_json::Value;

use super::call::Call;
use crate::kinds::strategy;
use crate::model::label::{self, Test};
use crate::model::{Failure, Kind, Result};

/// The objects that a list or watch selects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<(String, Test)>,
    /// The fields with their values if unset, and the requirements.
    fields: Vec<(String, &'static str, Test)>,
}

impl Selector {
    pub fn read(call: &Call, kind: &Kind) -> Result<Self> {
        let labels = label::parse(call.param("labelSelector")).map_err(Failure::bad_request)?;
        let mut fields = Vec::new();
        for term in call
            .param("fieldSelector")
            .split(',')
            .filter(|term| !term.is_empty())
        {
            let (name, test) = parse_field(term).ok_or_else(|| {
                let whole = call.param("fieldSelector");
                Failure::bad_request(format!(
                    "invalid selector: '{whole}'; can't understand '{term}'"
                ))
            })?;
            let (name, default) = field(kind, &name)?;
            fields.push((name, default, test));
        }
        Ok(Self { labels, fields })
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    pub fn matches(&self, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        self.labels
            .iter()
            .all(|(name, test)| test.holds(labels[name.as_str()].as_str()))
            && self
                .fields
                .iter()
                .all(|(name, default, test)| test.holds(Some(&text_of(object, name, default))))
    }
}

/// The field with this name and its value if it is not set, or a failure if the kind does not have it.
fn field(kind: &Kind, name: &str) -> Result<(String, &'static str)> {
    let own = strategy(kind).selectable_fields;
    let custom = kind.custom.as_ref().is_some_and(|custom| {
        custom
            .selectable_fields
            .iter()
            .any(|path| path.trim_start_matches('.') == name)
    });
    let known = own
        .unwrap_or_default()
        .iter()
        .find(|(known, _)| *known == name);
    let is_of_all = match name {
        "metadata.name" => true,
        // cluster-scoped kinds with selectable fields of their own do not support it
        "metadata.namespace" => own.is_none() || kind.namespaced,
        _ => false,
    };
    match known {
        Some((_, default)) => Ok((name.to_owned(), default)),
        None if custom || is_of_all => Ok((name.to_owned(), "")),
        None => Err(Failure::bad_request(match (own, &kind.custom) {
            (Some(_), _) if kind.group == "resource.k8s.io" => format!(
                "field label not supported for {}, Kind={}: {name}",
                kind.api_version(),
                kind.kind
            ),
            (None, None) => format!(
                "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ),
            _ => format!("field label not supported: {name}"),
        })),
    }
}

/// The value of a field for the selection.
fn text_of(object: &Value, name: &str, default: &str) -> String {
    let at = match name {
        // the real server accepts this field, but no object has a value for it
        "status.podIPs" => return String::new(),
        // the older name of `spec.nodeName`
        "spec.host" => "spec.nodeName",
        "status.successful" => "status.succeeded",
        "source" if object["source"].is_object() => "source.component",
        name => name,
    };
    let value = at.split('.').fold(object, |value, part| &value[part]);
    match value {
        Value::Null if name == "source" => object["reportingComponent"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        Value::Null => default.to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn parse_field(term: &str) -> Option<(String, Test)> {
    let (name, test) = match term.split_once("!=") {
        Some((name, value)) => (name, Test::NotIn(vec![value.to_owned()])),
        None => {
            let (name, value) = term.split_once("==").or_else(|| term.split_once('='))?;
            (name, Test::In(vec![value.to_owned()]))
        }
    };
    Some((name.to_owned(), test))
}
