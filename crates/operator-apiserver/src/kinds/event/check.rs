//! Validates Events, in both versions.

use serde_json::Value;

use crate::kinds::rule::field::{invalid, is_empty, is_same, number, refuse, text};
use crate::model::{Cause, metadata, name};

/// Checks an event. A new event of the newer group needs more fields.
pub(crate) fn check(is_newer: bool, live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let (regarding, controller) = if is_newer {
        ("regarding", "reportingController")
    } else {
        ("involvedObject", "reportingComponent")
    };
    let is_timed = !object["eventTime"].is_null();
    check_namespace(
        text(&object[regarding], "namespace"),
        is_timed,
        object,
        causes,
    );
    if is_timed {
        let found = text(object, controller);
        if found.is_empty() {
            causes.push(Cause::required(controller, ""));
        }
        refuse(controller, found, name::bad_label_key(found), causes);
        let needed = ["reportingInstance", "action", "reason"];
        let missing = needed.iter().filter(|field| is_empty(&object[**field]));
        causes.extend(missing.map(|field| Cause::required(*field, "")));
        let note = if is_newer { "note" } else { "message" };
        for (field, shown, limit) in [
            ("reportingInstance", "reportingInstance", 128),
            ("action", "action", 128),
            ("reason", "reason", 128),
            (note, "message", 1024),
        ] {
            if text(object, field).len() > limit {
                let why = format!("can have at most {limit} characters");
                causes.push(invalid(shown, "\"\"", why));
            }
        }
    }
    match live {
        None if is_newer => new(object, causes),
        Some(live) if is_newer => changed(live, object, causes),
        _ => {}
    }
}

/// Checks the required fields of a new event in the newer group.
fn new(object: &Value, causes: &mut Vec<Cause>) {
    series(object, causes);
    if object["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(object, "type");
    if !["Normal", "Warning"].contains(&kind) {
        let why = format!("has invalid value: {kind}");
        causes.push(invalid("type", "\"\"", why));
    }
    for (field, name) in [
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("deprecatedSource", "source"),
    ] {
        if !is_empty(&object[field]) && object[field] != 0 {
            causes.push(invalid(name, "\"\"", "needs to be unset"));
        }
    }
}

/// Checks the immutable fields of the newer group in the order of the server, which checks the reason twice.
fn changed(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    if !is_same(&live["series"], &object["series"]) {
        series(object, causes);
    }
    for (field, name) in [
        ("regarding", "involvedObject"),
        ("reason", "reason"),
        ("note", "message"),
        ("deprecatedSource", "source"),
        ("deprecatedFirstTimestamp", "firstTimestamp"),
        ("deprecatedLastTimestamp", "lastTimestamp"),
        ("deprecatedCount", "count"),
        ("reason", "reason"),
        ("type", "type"),
        ("eventTime", "eventTime"),
        ("action", "action"),
        ("related", "related"),
        ("reportingController", "reportingController"),
        ("reportingInstance", "reportingInstance"),
    ] {
        let (old, new) = (&live[field], &object[field]);
        if !(is_same(old, new) || is_empty(old) && is_empty(new)) {
            causes.push(invalid(name, shown(name, new), "field is immutable"));
        }
    }
}

/// Formats a value as in messages: an object by the fields of its Go type.
fn shown(name: &str, value: &Value) -> String {
    let fields: &[(&str, &str)] = match name {
        "involvedObject" | "related" => &[
            ("Kind", "kind"),
            ("Namespace", "namespace"),
            ("Name", "name"),
            ("UID", "uid"),
            ("APIVersion", "apiVersion"),
            ("ResourceVersion", "resourceVersion"),
            ("FieldPath", "fieldPath"),
        ],
        "source" => &[("Component", "component"), ("Host", "host")],
        "count" if value.is_null() => return "0".to_owned(),
        "firstTimestamp" | "lastTimestamp" | "eventTime" => return value.to_string(),
        _ if value.is_null() => return "\"\"".to_owned(),
        _ => return value.to_string(),
    };
    if name == "related" && value.is_null() {
        return "\"null\"".to_owned();
    }
    let fields = fields.iter().map(|(go, name)| {
        let text = Value::from(text(value, name));
        format!("{go:?}:{text}")
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Checks the series of repeated events.
fn series(object: &Value, causes: &mut Vec<Cause>) {
    let series = &object["series"];
    if series.is_null() {
        return;
    }
    if number(series, "count") < 2 {
        causes.push(invalid("series.count", "\"\"", "should be at least 2"));
    }
    if series["lastObservedTime"].is_null() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}

/// Checks that an event is in the namespace of its object. Events about cluster-scoped objects are in `default` or `kube-system`.
fn check_namespace(found: &str, is_timed: bool, object: &Value, causes: &mut Vec<Cause>) {
    let own = metadata::text(object, "namespace");
    let is_there = match (found, is_timed) {
        ("", false) => matches!(own, "" | "default"),
        ("", true) => matches!(own, "default" | "kube-system"),
        (_, true) => true,
        (found, false) => found == own,
    };
    if !is_there {
        let why = "does not match event.namespace";
        let found = format!("{found:?}");
        causes.push(invalid("involvedObject.namespace", found, why));
    }
}
