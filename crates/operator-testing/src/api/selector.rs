//! [Label and field selectors] of lists and watches.
//!
//! [Label and field selectors]: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

use serde_json::Value;

use super::kind::Kind;
use super::label::{self, Test};
use super::request::Call;
use super::status::{Failure, Result};

/// Which objects a list or watch is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<(String, Test)>,
    fields: Vec<(String, Test)>,
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
            if !selectable(kind, &name) {
                let text = match has_own_fields(kind) {
                    true => format!("field label not supported: {name}"),
                    false => format!(
                        "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    ),
                };
                return Err(Failure::bad_request(text));
            }
            fields.push((name, test));
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
            && self.fields.iter().all(|(name, test)| {
                let mut value = object;
                for part in name.split('.') {
                    value = &value[part];
                }
                let text = match value {
                    Value::String(text) => text.clone(),
                    Value::Null if name == "status.successful" => "0".to_owned(),
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                test.holds(Some(&text))
            })
    }
}

/// The fields of a kind, beside name and namespace.
type Fields = (&'static str, &'static str, &'static [&'static str]);

const MORE: &[Fields] = &[
    (
        "",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
    ),
    (
        "",
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    ("", "secrets", &["type"]),
    ("", "namespaces", &["status.phase"]),
    ("", "nodes", &["spec.unschedulable"]),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    ("batch", "jobs", &["status.successful"]),
    ("", "replicationcontrollers", &["status.replicas"]),
    (
        "events.k8s.io",
        "events",
        &[
            "reason",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reportingController",
            "type",
        ],
    ),
];
/// Whether the kind says itself what of it may be selected.
fn has_own_fields(kind: &Kind) -> bool {
    let mut kinds = MORE.iter();
    kind.custom.is_some() || kinds.any(|(group, plural, _)| kind.is(group, plural))
}

/// Every object may be selected by name and namespace; some kinds by more.
fn selectable(kind: &Kind, field: &str) -> bool {
    let more = MORE
        .iter()
        .find(|(group, plural, _)| kind.is(group, plural));
    let custom = kind.custom.as_ref().is_some_and(|custom| {
        custom
            .selectable_fields
            .iter()
            .any(|path| path.trim_start_matches('.') == field)
    });
    matches!(field, "metadata.name" | "metadata.namespace")
        || more.is_some_and(|(_, _, fields)| fields.contains(&field))
        || custom
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

/// Whether a selector that an object has selects labels; an empty one does.
pub(crate) fn selects(selector: &Value, labels: &Value) -> bool {
    let list = |field: &str, of: &Value| of[field].as_array().cloned().unwrap_or_default();
    let wanted = selector["matchLabels"].as_object().into_iter().flatten();
    let mut wanted = wanted.map(|(name, value)| labels[name.as_str()] == *value);
    let fits = |expression: &Value| {
        let found = &labels[expression["key"].as_str().unwrap_or_default()];
        let values = list("values", expression);
        match expression["operator"].as_str() {
            Some("In") => values.contains(found),
            Some("NotIn") => !values.contains(found),
            Some("Exists") => !found.is_null(),
            _ => found.is_null(),
        }
    };
    wanted.all(|fits| fits) && list("matchExpressions", selector).iter().all(fits)
}
