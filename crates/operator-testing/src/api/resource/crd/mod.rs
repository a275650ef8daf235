//! [CustomResourceDefinitions]: what the server makes of one, and the kinds that it registers.
//!
//! [CustomResourceDefinitions]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

pub(crate) mod naming;
mod register;
mod scale;
mod shape;

pub(crate) use self::register::{Registered, register};

use operator_schema::Schema;
use serde_json::{Value, json};

use crate::api::model::failure::Cause;
use crate::api::model::kind::{Custom, Kind};
use crate::api::model::metadata::{self, finalizers, is_deleting};

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn is_definition(kind: &Kind) -> bool {
    kind.is(GROUP, PLURAL)
}

/// Fills in names, conversion and the versions that are stored.
pub(crate) fn fill(object: &mut Value) {
    let kind = object["spec"]["names"]["kind"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if kind.is_empty() {
        return;
    }
    let names = &mut object["spec"]["names"];
    for (field, value) in [
        ("singular", kind.to_lowercase()),
        ("listKind", format!("{kind}List")),
    ] {
        if names[field].as_str().unwrap_or_default().is_empty() {
            names[field] = value.into();
        }
    }
    if object["spec"]["conversion"].is_null() {
        object["spec"]["conversion"] = json!({"strategy": "None"});
    }
    let stored = object["status"]["storedVersions"].as_array();
    let storage = storage_version(object);
    if stored.is_none_or(Vec::is_empty) && !storage.is_null() {
        object["status"]["storedVersions"] = json!([storage]);
    }
}

/// What a new definition says of itself, before it is accepted.
pub(crate) fn prepare(object: &mut Value) {
    let storage = storage_version(object);
    object["status"] = json!({
        "acceptedNames": {"plural": "", "kind": ""},
        "conditions": null,
        "storedVersions": [storage],
    });
}

fn storage_version(object: &Value) -> Value {
    let storage = versions(object)
        .iter()
        .find(|version| version["storage"] == true);
    storage
        .map(|version| version["name"].clone())
        .unwrap_or_default()
}

/// Remembers that there may be objects of the storage version.
pub(crate) fn note_storage(object: &mut Value) {
    let storage = storage_version(object);
    if let Some(stored) = object["status"]["storedVersions"].as_array_mut()
        && !stored.contains(&storage)
    {
        stored.push(storage);
    }
}

pub(crate) fn versions(definition: &Value) -> &[Value] {
    definition["spec"]["versions"]
        .as_array()
        .map_or(&[], Vec::as_slice)
}

/// What in a new custom object, or in one that replaces `live`, breaks its schema; its rules are asked with the feature `cel`.
pub(crate) fn violations(custom: &Custom, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let mut causes: Vec<Cause> = refused(&custom.schema, live, object);
    if let Some(scale) = &custom.scale {
        causes.extend(scale::violations(object, scale));
    }
    causes
}

pub(crate) fn has_rules(custom: &Custom) -> bool {
    !operator_schema::unchecked_rules(&custom.schema).is_empty()
}

/// What in a new custom object breaks its schema, when its rules are not asked.
pub(crate) fn unruled(custom: &Custom, object: &Value) -> Vec<Cause> {
    const SKIPPED: &str = "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    let violations = operator_schema::violations(&custom.schema, object);
    let violations = violations.into_iter().map(cause);
    violations
        .chain([Cause::invalid("<nil>", SKIPPED)])
        .collect()
}

/// Those of a write of the status alone.
pub(crate) fn status_violations(custom: &Custom, live: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = status_refused(&custom.schema, live, object);
    if let Some(scale) = &custom.scale {
        let of_scale = scale::violations(object, scale).into_iter();
        causes.extend(of_scale.filter(|it| it.field.trim_start_matches('.').starts_with("status")));
    }
    causes
}

#[cfg(not(feature = "cel"))]
fn refused(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let violations = match live {
        Some(live) => operator_schema::update_violations(schema, live, object),
        None => operator_schema::violations(schema, object),
    };
    violations.into_iter().map(cause).collect()
}

#[cfg(not(feature = "cel"))]
fn status_refused(schema: &Schema, live: &Value, object: &Value) -> Vec<Cause> {
    let violations = operator_schema::status_violations(schema, live, object);
    violations.into_iter().map(cause).collect()
}

#[cfg(feature = "cel")]
fn refused(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    causes(match live {
        Some(live) => schema.validate_update(live, object),
        None => schema.validate(object),
    })
}

#[cfg(feature = "cel")]
fn status_refused(schema: &Schema, live: &Value, object: &Value) -> Vec<Cause> {
    causes(schema.validate_status(live, object))
}

#[cfg(feature = "cel")]
fn causes(judgement: operator_schema::Judgement) -> Vec<Cause> {
    // What can't be evaluated here might be refused by a real server: a test must not pass for it.
    let unsupported = judgement.unsupported.into_iter();
    let unsupported = unsupported.map(|rule| {
        let text = format!("Invalid value: the API server of the tests can't evaluate {rule}");
        Cause::invalid("<nil>", text)
    });
    let violations = judgement.violations.into_iter().map(cause);
    violations.chain(unsupported).collect()
}

fn cause(violation: operator_schema::Violation) -> Cause {
    Cause {
        reason: violation.reason.as_str(),
        message: violation.detail,
        field: violation.path,
    }
}

/// What a `DELETE` adds to a definition.
pub(crate) fn terminate(object: &mut Value) {
    if is_deleting(object) {
        return;
    }
    let mut names: Vec<Value> = finalizers(object).into_iter().map(Value::from).collect();
    names.push(CLEANUP.into());
    metadata::set(object, "finalizers", names);
    set_terminating(
        object,
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    );
}

pub(crate) fn set_terminating(definition: &mut Value, status: &str, reason: &str, message: &str) {
    let Some(conditions) = definition["status"]["conditions"].as_array_mut() else {
        return;
    };
    let before = conditions
        .iter_mut()
        .find(|condition| condition["type"] == "Terminating");
    let since = match &before {
        Some(before) if before["status"] == status => before["lastTransitionTime"].clone(),
        _ => metadata::now().into(),
    };
    let condition = json!({
        "type": "Terminating",
        "status": status,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    });
    match before {
        Some(before) => *before = condition,
        None => conditions.push(condition),
    }
}
