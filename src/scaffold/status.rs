//! The status that the example controller writes, as far as the schema accepts it.

use operator_schema::{Schema, apply_defaults};
use serde_json::{Map, Value, json};

use super::example::{Child, Style};
use crate::{
    crd::Version,
    types::{Access, KindFacts, StatusFacts, Wrapped},
};

/// The status of a controller's example.
#[derive(Default)]
pub struct Example {
    /// The status of the object, or its default, as an expression.
    pub read: String,
    /// The statements that fill the status, except for the conditions.
    pub lines: Vec<String>,
    /// The conditions to write, as an expression; empty where there are none.
    pub conditions: String,
    /// Whether the statements read the current child.
    pub reads_child: bool,
    /// Whether they need the labels of the child.
    pub reads_labels: bool,
}

/// A field of the status that the example knows.
struct Part {
    wire: &'static str,
    lines: Vec<String>,
    /// The path in the status.
    pointer: Vec<String>,
    /// The values for a child that is ready, for one that is not ready yet, and for one that could not be applied.
    values: [Option<Value>; 3],
}

const CONDITIONS: &str = "conditions";
const REPLICAS: &str = "replicas";
const SELECTOR: &str = "selector";

/// The status that the example writes. `None` if it knows none of the fields, or if the schema refuses the values. `sample` is an object of
/// the kind.
pub fn example(
    child: Child,
    version: &Version,
    facts: &KindFacts,
    sample: Option<&Value>,
    style: &Style,
    var: &str,
) -> Option<Example> {
    let status = facts.status.as_ref()?;
    let zero = status.zero.as_ref()?;
    let mut parts = parts(child, version, facts, status, style, var);
    let check = StatusCheck::new(version, sample);
    if !check.accepts(zero, &parts) {
        let mut accepted = vec![];
        for part in parts {
            accepted.push(part);
            if !check.accepts(zero, &accepted) {
                accepted.pop();
            }
        }
        parts = accepted;
    }
    if parts.is_empty() {
        return None;
    }
    let has = |wire| parts.iter().any(|part| part.wire == wire);
    let has_conditions = has(CONDITIONS);
    let (reads_child, reads_labels) = (has(REPLICAS), has(SELECTOR));
    let conditions = status.conditions.as_ref().filter(|_| has_conditions);
    let read = match status.wrapped {
        Wrapped::Bare => "",
        Wrapped::Option => ".unwrap_or_default()",
        Wrapped::Nested => ".flatten().unwrap_or_default()",
    };
    Some(Example {
        reads_child,
        reads_labels,
        read: format!("{var}.status.clone(){read}"),
        lines: parts.into_iter().flat_map(|part| part.lines).collect(),
        conditions: match conditions {
            Some(conditions) => {
                let ident = &conditions.ident;
                match conditions.wrapped {
                    Wrapped::Bare => format!("&mut status.{ident}"),
                    Wrapped::Option => format!("status.{ident}.get_or_insert_default()"),
                    Wrapped::Nested => {
                        format!("status.{ident}.get_or_insert_default().get_or_insert_default()")
                    }
                }
            }
            None => String::new(),
        },
    })
}

/// Checks whether the API server accepts an object of the kind with a status.
struct StatusCheck {
    schema: Schema,
    object: Value,
}

impl StatusCheck {
    fn new(version: &Version, sample: Option<&Value>) -> Self {
        let mut schema = version.schema.clone();
        if sample.is_none() {
            // without a sample, only the status can be checked
            schema.properties.retain(|wire, _| wire == "status");
            schema.required.clear();
            schema.validations.clear();
        }
        Self {
            schema,
            object: sample.cloned().unwrap_or_else(|| json!({})),
        }
    }

    /// Whether these parts are accepted for a child that is ready, for one that is not, and for one that could not be applied.
    fn accepts(&self, zero: &Value, parts: &[Part]) -> bool {
        (0..3).all(|case| {
            let mut status = zero.clone();
            for part in parts {
                if let Some(value) = &part.values[case] {
                    put(&mut status, &part.pointer, value.clone());
                }
            }
            let mut object = self.object.clone();
            object["status"] = status;
            apply_defaults(&self.schema, &mut object);
            self.schema.validate(&object).violations.is_empty()
        })
    }
}

fn put(status: &mut Value, pointer: &[String], value: Value) {
    match pointer {
        [] => *status = value,
        [wire, below @ ..] => {
            if !status.is_object() {
                *status = Value::Object(Map::new());
            }
            put(&mut status[wire], below, value);
        }
    }
}

/// The fields of the status that the example can fill.
fn parts(
    child: Child,
    version: &Version,
    facts: &KindFacts,
    status: &StatusFacts,
    style: &Style,
    var: &str,
) -> Vec<Part> {
    let mut parts = vec![];
    let generation = status_field(facts, ".status.observedGeneration");
    if let Some((access, pointer)) = generation.filter(|(access, _)| access.rust_type == "i64") {
        let value = of_option(&access, format!("{var}.metadata.generation"));
        parts.push(Part {
            wire: "observedGeneration",
            lines: vec![format!("status.{} = {value};", access.ident())],
            pointer,
            values: [1, 1, 1].map(|generation| Some(generation.into())),
        });
    }
    if let (Child::Deployment, Some(scale)) = (child, &version.scale) {
        let replicas = status_field(facts, &scale.status_replicas_path);
        if let Some((access, pointer)) = replicas
            && let "i32" | "i64" = access.rust_type.as_str()
        {
            parts.push(Part {
                wire: REPLICAS,
                lines: replicas_lines(&access, style),
                pointer,
                values: [Some(1.into()), Some(0.into()), None],
            });
        }
        let selector = scale
            .label_selector_path
            .as_deref()
            .and_then(|path| status_field(facts, path));
        if let Some((access, pointer)) = selector.filter(|(access, _)| access.rust_type == "String")
        {
            const LABELS: &str = "app.kubernetes.io/instance=name,app.kubernetes.io/name=name";
            parts.push(Part {
                wire: SELECTOR,
                lines: selector_lines(&access, style, var),
                pointer,
                values: [LABELS; 3].map(|labels| Some(labels.into())),
            });
        }
    }
    if let Some(conditions) = &status.conditions {
        let known = |condition: Value| {
            let fields = condition.as_object().into_iter().flatten();
            fields
                .filter(|(wire, _)| conditions.fields.contains(wire))
                .map(|(wire, value)| (wire.clone(), value.clone()))
                .collect::<Value>()
        };
        let value = |items: Vec<Value>| Some(items.into_iter().map(known).collect());
        parts.push(Part {
            wire: CONDITIONS,
            lines: vec![],
            pointer: vec![CONDITIONS.to_owned()],
            values: child.conditions().map(value),
        });
    }
    parts
}

/// The field at a path such as `.status.replicas`, and its position in the status, if it is a direct field of the status.
fn status_field(facts: &KindFacts, path: &str) -> Option<(Access, Vec<String>)> {
    let path: Vec<&str> = path.trim_start_matches('.').split('.').collect();
    let access = facts.access(&path)?;
    match path.as_slice() {
        ["status", wire] => Some((access, vec![(*wire).to_owned()])),
        _ => None,
    }
}

/// An expression that is an `Option`, as a value of the type of the last field.
fn of_option(access: &Access, value: String) -> String {
    match access.last() {
        Wrapped::Bare => format!("{value}.unwrap_or_default()"),
        Wrapped::Option => value,
        Wrapped::Nested => format!("{value}.map(Some)"),
    }
}

fn replicas_lines(access: &Access, style: &Style) -> Vec<String> {
    let widen = match access.rust_type.as_str() {
        "i64" => ".map(i64::from)",
        _ => "",
    };
    let live = style.child_status;
    let value = format!("{live}.and_then(|status| status.replicas){widen}");
    // if the child could not be applied, its status is unknown
    vec![
        format!("if let {} {{", style.binds_child),
        format!("    let {live} = child.status.as_ref();"),
        format!(
            "    status.{} = {};",
            access.ident(),
            of_option(access, value)
        ),
        "}".into(),
    ]
}

fn selector_lines(access: &Access, style: &Style, var: &str) -> Vec<String> {
    let text = "labels.iter().map(|(key, value)| format!(\"{key}={value}\")).collect::<Vec<_>>().join(\",\")";
    let text = match access.last() {
        Wrapped::Bare => text.to_owned(),
        Wrapped::Option => format!("Some({text})"),
        Wrapped::Nested => format!("Some(Some({text}))"),
    };
    vec![
        format!(
            "let labels = labels({}, {});",
            style.object(var),
            style.source[0]
        ),
        format!("status.{} = {text};", access.ident()),
    ]
}
