//! Validates `metadata` in the [layers] of the API server. An update repeats the message of each layer that finds a problem.
//!
//! [layers]: https://github.com/kubernetes/kubernetes/blob/master/staging/src/k8s.io/apiserver/pkg/registry/rest/update.go

use std::borrow::Cow;

use serde_json::{Value, json};

use super::field as rule;
use super::field::{invalid, refuse, too_long};
use crate::go;
use crate::kinds::strategy;
use crate::model::json::items;
use crate::model::metadata::{finalizers, is_deleting, is_standard_finalizer, text};
use crate::model::{Cause, Kind, name};

/// The maximum size of an object's annotations, in bytes.
pub(crate) const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The violations in the metadata of a new object.
pub(crate) fn of_new(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (name, prefix) = (text(object, "name"), text(object, "generateName"));
    let bad_name = strategy(kind).bad_name;
    if !prefix.is_empty() {
        let wrong = bad_name(&as_name(prefix));
        refuse("metadata.generateName", prefix, wrong, &mut causes);
    }
    if name.is_empty() {
        let why = "name or generateName is required";
        causes.push(Cause::required("metadata.name", why));
    } else {
        refuse("metadata.name", name, bad_name(name), &mut causes);
    }
    causes.extend(maps(object));
    causes.extend(bad_finalizers(object));
    causes.extend(managers(object));
    causes.extend(short_finalizers(kind, object));
    causes
}

/// A `generateName` as the name to validate. As in the real server, an `a` takes the place of a final dash and the character before it.
fn as_name(prefix: &str) -> Cow<'_, str> {
    match prefix.char_indices().nth_back(1) {
        Some((end, _)) if prefix.ends_with('-') => format!("{}a", &prefix[..end]).into(),
        _ => prefix.into(),
    }
}

/// The violations in the metadata of an object that replaces `live`.
pub(crate) fn of_changed(
    kind: &Kind,
    subresource: Option<&str>,
    live: &Value,
    object: &Value,
    immutable: Vec<Cause>,
) -> Vec<Cause> {
    let maps = maps(object);
    let managers = managers(object);
    let always = [maps.clone(), bad_finalizers(object), managers.clone()].concat();
    let short = short_finalizers(kind, object);
    let mut changed: Vec<Cause> = new_finalizers(live, object).into_iter().collect();
    changed.extend(immutable);
    changed.extend(maps);
    changed.extend(managers);
    let mut causes = [&always[..], &changed].concat();
    if subresource.is_none() && strategy(kind).validates_updates_as_new {
        causes.extend(always);
        causes.extend_from_slice(&short);
    }
    if (strategy(kind).compares_metadata)(subresource) {
        causes.extend(changed);
        causes.extend(short);
    }
    causes
}

/// The violations in labels, annotations and owner references.
fn maps(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let metadata = &object["metadata"];
    rule::labels("metadata.labels", &metadata["labels"], &mut causes);
    annotations(&metadata["annotations"], &mut causes);
    causes.extend(owners(object));
    causes
}

fn bad_finalizers(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let all = finalizers(object);
    for finalizer in &all {
        let wrong = name::bad_label_key(finalizer);
        refuse("metadata.finalizers", finalizer, wrong, &mut causes);
    }
    if all.contains(&"orphan") && all.contains(&"foregroundDeletion") {
        let why = "finalizer orphan and foregroundDeletion cannot be both set";
        causes.push(invalid("metadata.finalizers", json!(all), why));
    }
    causes
}

/// The violations in the entries of `managedFields` that a client wrote.
fn managers(object: &Value) -> Vec<Cause> {
    const LONGEST: usize = 256;
    let mut causes = Vec::new();
    for (at, entry) in items(&object["metadata"]["managedFields"]).enumerate() {
        let text = |field: &str| entry[field].as_str().unwrap_or_default();
        let field = format!("metadata.managedFields[{at}]");
        manager(&format!("{field}.manager"), text("manager"), &mut causes);
        if text("subresource").len() > LONGEST {
            causes.push(too_long(&format!("{field}.subresource"), LONGEST));
        }
    }
    causes
}

/// The violations in the name of a field manager.
pub(crate) fn manager(field: &str, name: &str, causes: &mut Vec<Cause>) {
    const LONGEST: usize = 128;
    if name.len() > LONGEST {
        causes.push(too_long(field, LONGEST));
        return;
    }
    for (at, letter) in name.char_indices().filter(|(_, it)| !go::is_printed(*it)) {
        let text = format!(
            "Invalid value: {}: invalid character U+{:04X} (at position {at})",
            go::quoted(name),
            u32::from(letter)
        );
        causes.push(Cause::invalid(field, text));
    }
}

/// The size of an object's annotations in bytes.
pub(crate) fn annotations_size(found: &Value) -> usize {
    let entries = found.as_object().into_iter().flatten();
    let size = |(key, value): (&String, &Value)| key.len() + value.as_str().map_or(0, str::len);
    entries.map(size).sum()
}

fn annotations(found: &Value, causes: &mut Vec<Cause>) {
    const FIELD: &str = "metadata.annotations";
    rule::annotations(FIELD, found, causes);
    if annotations_size(found) > ANNOTATIONS_LIMIT {
        causes.push(too_long(FIELD, ANNOTATIONS_LIMIT));
    }
}

fn owners(object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let owners: Vec<&Value> = items(&object["metadata"]["ownerReferences"]).collect();
    let part = |owner: &Value, name: &str| owner[name].as_str().unwrap_or_default().to_owned();
    let mut controller = None;
    for owner in &owners {
        for field in ["apiVersion", "kind", "name", "uid"] {
            let found = part(owner, field);
            let (is_empty, why) = match field {
                "apiVersion" => (version(&found).is_empty(), "version must not be empty"),
                _ => (found.is_empty(), "must not be empty"),
            };
            if is_empty {
                let field = format!("metadata.ownerReferences.{field}");
                causes.push(invalid(field, format!("{found:?}"), why));
            }
        }
        if owner["apiVersion"] == "v1" && owner["kind"] == "Event" {
            let shown = in_go_order(&[owner])[0].to_string();
            let why = "/v1, Kind=Event is disallowed from being an owner";
            causes.push(invalid("metadata.ownerReferences", shown, why));
        }
        if owner["controller"] == true {
            let shown = format!("{}/{}", part(owner, "kind"), part(owner, "name"));
            let Some(first) = &controller else {
                controller = Some(shown);
                continue;
            };
            let why = format!(
                "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {shown}"
            );
            let all = in_go_order(&owners);
            causes.push(invalid("metadata.ownerReferences", all, why));
        }
    }
    causes
}

/// The version in an `apiVersion`; empty if it is invalid.
fn version(api_version: &str) -> &str {
    match api_version.split_once('/') {
        None => api_version,
        Some((_, version)) if !version.contains('/') => version,
        Some(_) => "",
    }
}

/// Formats owner references as Go does, with the fields in the order of the Go type.
fn in_go_order(owners: &[&Value]) -> Value {
    const FIELDS: [&str; 6] = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    owners
        .iter()
        .map(|owner| {
            let fields = FIELDS
                .iter()
                .filter(|field| !owner[**field].is_null())
                .map(|field| ((*field).to_owned(), owner[*field].clone()));
            Value::Object(fields.collect())
        })
        .collect()
}

/// The violations of finalizers without a domain, which only custom kinds and some built-in ones allow.
fn short_finalizers(kind: &Kind, object: &Value) -> Vec<Cause> {
    let short = finalizers(object)
        .into_iter()
        .enumerate()
        .filter(|(_, it)| !it.contains('/') && !is_standard_finalizer(it))
        .filter(|_| !strategy(kind).allows_short_finalizers);
    let cause = |(at, finalizer): (usize, &str)| {
        let why = "name is neither a standard finalizer name nor is it fully qualified";
        let field = format!("metadata.finalizers[{at}]");
        invalid(field, format!("{finalizer:?}"), why)
    };
    short.map(cause).collect()
}

fn new_finalizers(live: &Value, object: &Value) -> Option<Cause> {
    if !is_deleting(live) {
        return None;
    }
    let before = finalizers(live);
    let mut added: Vec<&str> = finalizers(object)
        .into_iter()
        .filter(|it| !before.contains(it))
        .collect();
    added.sort_unstable();
    added.dedup();
    if added.is_empty() {
        return None;
    }
    let added = added.iter().map(|finalizer| format!("{finalizer:?}"));
    let added = added.collect::<Vec<_>>().join(", ");
    Some(Cause::forbidden(
        "metadata.finalizers",
        &format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{added}}}"
        ),
    ))
}
