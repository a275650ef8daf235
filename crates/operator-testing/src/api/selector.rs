//! [Label and field selectors] of lists and watches.
//!
//! [Label and field selectors]: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors

use serde_json::Value;

use super::kind::Kind;
use super::request::Call;
use super::status::{Failure, Result};

/// Which objects a list or watch is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<(String, Test)>,
    fields: Vec<(String, Test)>,
}

#[derive(Clone, Debug)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    GreaterThan(i64),
    LessThan(i64),
}

impl Selector {
    pub fn read(call: &Call, kind: &Kind) -> Result<Self> {
        let labels = call.param("labelSelector");
        let labels = parse_labels(labels).ok_or_else(|| {
            Failure::bad_request(format!("unable to parse requirement: {labels:?}"))
        })?;
        let mut fields = Vec::new();
        for term in call
            .param("fieldSelector")
            .split(',')
            .filter(|term| !term.is_empty())
        {
            let (name, test) = parse_field(term).ok_or_else(|| {
                Failure::bad_request(format!(
                    "invalid selector: {term:?}; can't understand {term:?}"
                ))
            })?;
            if !selectable(kind, &name) {
                let text = format!("field label not supported: {name}");
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
                    Value::Null => String::new(),
                    other => other.to_string(),
                };
                test.holds(Some(&text))
            })
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.iter().any(|v| v == value)),
            Self::NotIn(values) => value.is_none_or(|value| values.iter().all(|v| v != value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::GreaterThan(bound) => number().is_some_and(|number| number > *bound),
            Self::LessThan(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Every object may be selected by name and namespace; some kinds by more.
fn selectable(kind: &Kind, field: &str) -> bool {
    const MORE: &[(&str, &str, &[&str])] = &[
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
    Some((name.trim().to_owned(), test))
}

/// Requirements separated by commas that are not inside parentheses.
fn parse_labels(text: &str) -> Option<Vec<(String, Test)>> {
    let mut terms = vec![String::new()];
    let mut depth = 0;
    for letter in text.chars() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(String::new());
                continue;
            }
            _ => {}
        }
        terms.last_mut()?.push(letter);
    }
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    terms.iter().map(|term| parse_label(term.trim())).collect()
}

fn parse_label(term: &str) -> Option<(String, Test)> {
    if let Some(name) = term.strip_prefix('!') {
        return Some((valid(name)?, Test::Absent));
    }
    if let Some((head, values)) = term.split_once('(') {
        let values = values.strip_suffix(')')?.split(',');
        let values = values.map(|value| value.trim().to_owned()).collect();
        let mut words = head.split_whitespace();
        let (name, operator) = (words.next()?, words.next()?);
        let test = match operator {
            "in" => Test::In(values),
            "notin" => Test::NotIn(values),
            _ => return None,
        };
        return Some((valid(name)?, test));
    }
    let one = |value: &str| vec![value.trim().to_owned()];
    let (name, test) = if let Some((name, value)) = term.split_once("!=") {
        (name, Test::NotIn(one(value)))
    } else if let Some((name, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        (name, Test::In(one(value)))
    } else if let Some((name, value)) = term.split_once('>') {
        (name, Test::GreaterThan(value.trim().parse().ok()?))
    } else if let Some((name, value)) = term.split_once('<') {
        (name, Test::LessThan(value.trim().parse().ok()?))
    } else {
        (term, Test::Exists)
    };
    Some((valid(name)?, test))
}

fn valid(name: &str) -> Option<String> {
    let name = name.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    (!name.is_empty() && name.chars().all(fits)).then(|| name.to_owned())
}
