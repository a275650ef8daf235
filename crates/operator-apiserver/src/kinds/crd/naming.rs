//! Which names of a CRD are accepted: those that no other CRD of its group uses. A kind is served once all its names are accepted.
//!
//! See [`NamesAccepted`](https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/).

use std::collections::BTreeSet;

use serde_json::Value;

use super::lifecycle::condition;
use crate::model::condition::{is_true, set_condition};
use crate::model::json::items;

/// The accepted names of other CRDs in a group.
#[derive(Default)]
pub(crate) struct NamesInUse {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl NamesInUse {
    pub fn add(&mut self, crd: &Value) {
        let names = &crd["status"]["acceptedNames"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let short = items(&names["shortNames"]);
        self.resources.extend(short.map(text));
        self.resources
            .extend([text(&names["plural"]), text(&names["singular"])]);
        self.kinds
            .extend([text(&names["kind"]), text(&names["listKind"])]);
    }
}

/// Accepts the unused names, and establishes the kind if all names are accepted. An established kind stays established.
pub(crate) fn accept(object: &mut Value, in_use: &NamesInUse) {
    let wanted = object["spec"]["names"].clone();
    let mut accepted = object["status"]["acceptedNames"].clone();
    let mut conflict = None;
    for (field, reason) in [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("shortNames", "ShortNamesConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ] {
        let known = match field {
            "kind" | "listKind" => &in_use.kinds,
            _ => &in_use.resources,
        };
        let names: Vec<&str> = match &wanted[field] {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            name => name.as_str().into_iter().collect(),
        };
        let conflicts: Vec<String> = names
            .iter()
            .filter(|name| known.contains(**name))
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        match conflicts.as_slice() {
            [] if wanted[field].is_null() => {
                drop(accepted.as_object_mut().map(|a| a.shift_remove(field)));
            }
            [] => accepted[field] = wanted[field].clone(),
            [one] => conflict = Some((reason, one.clone())),
            many => conflict = Some((reason, format!("[{}]", many.join(", ")))),
        }
    }
    if let Some(categories) = wanted.get("categories") {
        accepted["categories"] = categories.clone();
    }
    let was_established = is_established(object);
    let names = match &conflict {
        None => ("True", "NoConflicts", "no conflicts found"),
        Some((reason, message)) => ("False", *reason, message.as_str()),
    };
    let established = if conflict.is_none() || was_established {
        (
            "True",
            "InitialNamesAccepted",
            "the initial names have been accepted",
        )
    } else {
        ("False", "NotAccepted", "not all names are accepted")
    };
    for (type_, (status, reason, message)) in
        [("NamesAccepted", names), ("Established", established)]
    {
        set_condition(object, condition(type_, status, reason, message));
    }
    object["status"]["acceptedNames"] = accepted;
}

/// Whether the kind of a CRD is served.
pub(crate) fn is_established(crd: &Value) -> bool {
    is_true(crd, "Established")
}
