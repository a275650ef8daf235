//! [CustomResourceDefinitions]: what the server makes of one, and the kinds that it registers.
//!
//! [CustomResourceDefinitions]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

mod shape;

use std::collections::BTreeMap;
use std::sync::Arc;

use operator_schema::Schema;
use serde_json::{Value, json};

use self::shape::{schema, shapes};
use super::State;
use super::delete::Options;
use super::gc::{Actor, unfinalize};
use super::kind::{Custom, Kind, Shape};
use super::metadata::{self, finalizers, is_deleting};
use super::naming::{Taken, accept, is_established};
use super::scale;
use super::status::{Cause, Failure};
use super::store::Key;
#[cfg(feature = "http")]
use super::table::PrinterColumn;

pub(crate) const GROUP: &str = "apiextensions.k8s.io";
pub(crate) const PLURAL: &str = "customresourcedefinitions";
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";
const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

pub(crate) fn is_definition(kind: &Kind) -> bool {
    kind.is(GROUP, PLURAL)
}

/// Fills in names and conversion.
pub(crate) fn fill_names(object: &mut Value) {
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

/// Those of a write of the status alone, whose schema knows nothing of what is around it.
pub(crate) fn status_violations(causes: Vec<Cause>) -> Vec<Cause> {
    let causes = causes
        .into_iter()
        .filter(|cause| cause.field.trim_start_matches('.').starts_with("status"));
    let causes = causes.map(|cause| Cause {
        message: cause
            .message
            .replace(": status.", ": ")
            .replace(": status in body", ":  in body"),
        ..cause
    });
    causes.collect()
}

#[cfg(not(feature = "cel"))]
fn refused(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let violations = match live {
        Some(live) => operator_schema::update_violations(schema, live, object),
        None => operator_schema::violations(schema, object),
    };
    violations.into_iter().map(cause).collect()
}

#[cfg(feature = "cel")]
fn refused(schema: &Schema, live: Option<&Value>, object: &Value) -> Vec<Cause> {
    let judgement = match live {
        Some(live) => schema.validate_update(live, object),
        None => schema.validate(object),
    };
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

/// The kinds that a definition registers: one a served version. What was stored under a schema that is not that of `before` gets its
/// new form when it is read, if it is not younger than `now`.
pub(crate) fn kinds(definition: &Value, before: &[Arc<Kind>], now: u64) -> Vec<Arc<Kind>> {
    if !is_established(definition) {
        return Vec::new();
    }
    let since = |kind: &Kind| {
        let same = before.iter().find(|other| other.version == kind.version);
        match (same.and_then(|same| same.custom.as_ref()), &kind.custom) {
            (Some(before), Some(custom)) if before.schema == custom.schema => before.since,
            (None, _) if before.is_empty() => 0,
            _ => now,
        }
    };
    let shapes = Arc::new(shapes(definition));
    let served = versions(definition)
        .iter()
        .filter(|version| version["served"] == true);
    served
        .filter_map(|version| kind(definition, version, &shapes))
        .map(|mut kind| {
            let since = since(&kind);
            if let Some(custom) = kind.custom.as_mut().and_then(Arc::get_mut) {
                custom.since = since;
            }
            Arc::new(kind)
        })
        .collect()
}

fn kind(
    definition: &Value,
    version: &Value,
    shapes: &Arc<BTreeMap<String, Shape>>,
) -> Option<Kind> {
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().map(text).collect()
    };
    let names = &spec["names"];
    let schema = schema(version)?;
    let subresource = |name: &str| {
        version["subresources"]
            .get(name)
            .filter(|sub| !sub.is_null())
    };
    let writes = || ["get", "patch", "update"].map(str::to_owned).to_vec();
    let subresources: BTreeMap<String, Vec<String>> = ["status", "scale"]
        .into_iter()
        .filter(|name| subresource(name).is_some())
        .map(|name| (name.to_owned(), writes()))
        .collect();
    let custom = Custom {
        list_kind: text(&names["listKind"]),
        is_stored: version["storage"] == true,
        is_converted: spec["conversion"]["strategy"] == "Webhook"
            && (version["storage"] != true || has_older(definition)),
        identity: json!([
            definition["metadata"]["uid"],
            definition["metadata"]["generation"],
            definition["status"]["acceptedNames"],
        ]),
        since: 0,
        shapes: shapes.clone(),
        scale: subresource("scale").and_then(|scale| serde_json::from_value(scale.clone()).ok()),
        selectable_fields: list_of(&version["selectableFields"], "jsonPath"),
        #[cfg(feature = "http")]
        columns: PrinterColumn::of_version(version),
        schema,
    };
    Some(Kind {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        kind: text(&names["kind"]),
        plural: text(&names["plural"]),
        singular: text(&names["singular"]),
        short_names: list(&names["shortNames"]),
        categories: list(&names["categories"]),
        namespaced: spec["scope"] == "Namespaced",
        verbs: VERBS.map(str::to_owned).to_vec(),
        subresources,
        type_name: None,
        custom: Some(Arc::new(custom)),
    })
}

/// Whether objects may be stored in another version than the one of storage now.
fn has_older(definition: &Value) -> bool {
    let stored = definition["status"]["storedVersions"].as_array();
    stored.is_some_and(|stored| stored.len() > 1)
}

fn list_of(items: &Value, field: &str) -> Vec<String> {
    let items = items.as_array().into_iter().flatten();
    items
        .filter_map(|item| Some(item[field].as_str()?.to_owned()))
        .collect()
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

fn set_terminating(definition: &mut Value, status: &str, reason: &str, message: &str) {
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

impl State {
    /// Whether an object of a custom kind may be made: not while its definition is being deleted.
    pub(crate) fn check_definition(&self, kind: &Kind, name: &str) -> Result<(), Failure> {
        let definition = kind.custom.as_ref().and_then(|_| {
            self.store.find(&Key {
                group: GROUP.into(),
                plural: PLURAL.into(),
                namespace: String::new(),
                name: kind.qualified(),
            })
        });
        if !definition.is_some_and(|definition| is_deleting(&definition)) {
            return Ok(());
        }
        let text = format!(
            "{} {name:?} is forbidden: create not allowed while custom resource definition is terminating",
            kind.qualified()
        );
        Err(Failure::forbidden(kind, name, text))
    }

    fn objects_of(&self, definition: &Value) -> Vec<Key> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let spec = &definition["spec"];
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        self.store
            .of_kind(&group, &plural, "")
            .map(|(key, _)| key.clone())
            .collect()
    }

    /// Accepts new definitions, deletes the objects of those that are being deleted, and ends those that have none left.
    pub(crate) fn sweep_definitions(&mut self) {
        if std::mem::take(&mut self.renamed) {
            self.accept_names();
        }
        let ending: Vec<(Key, Arc<Value>)> = self
            .store
            .of_kind(GROUP, PLURAL, "")
            .filter(|(_, object)| is_deleting(object))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect();
        for (definition, object) in ending {
            if !finalizers(&object).contains(&CLEANUP) {
                continue;
            }
            self.edit(&definition, Actor::ApiServer, |object| {
                let message = "CustomResource deletion is in progress";
                set_terminating(object, "True", "InstanceDeletionInProgress", message);
            });
            for key in self.objects_of(&object) {
                let deleting = self
                    .store
                    .find(&key)
                    .is_none_or(|object| is_deleting(&object));
                if !deleting && let Some(kind) = self.registry.by_key(&key) {
                    // A vanished object is what was wanted.
                    let _gone = self.delete_one(&kind, &key, &Options::default());
                }
            }
            if self.objects_of(&object).is_empty() {
                self.edit(&definition, Actor::ApiServer, |object| {
                    let (reason, message) = match is_established(object) {
                        true => ("InstanceDeletionCompleted", "removed all instances"),
                        false => ("NeverEstablished", "resource was never established"),
                    };
                    set_terminating(object, "False", reason, message);
                    unfinalize(object, CLEANUP);
                });
            }
        }
    }

    fn accept_names(&mut self) {
        let names = self.store.of_kind(GROUP, PLURAL, "");
        let names: Vec<Key> = names.map(|(key, _)| key.clone()).collect();
        for key in names {
            let Some(object) = self.store.find(&key) else {
                continue;
            };
            let mut taken = Taken::default();
            let others = self.store.of_kind(GROUP, PLURAL, "");
            let others = others.filter(|(other, _)| other.name != key.name);
            others
                .filter(|(_, other)| other["spec"]["group"] == object["spec"]["group"])
                .for_each(|(_, other)| taken.add(other));
            self.edit(&key, Actor::ApiServer, |object| accept(object, &taken));
        }
    }
}
