//! Events, in both of their forms.

use serde_json::Value;

use super::super::metadata;
use super::super::name;
use super::super::status::Cause;
use super::rule::{invalid, is_empty, refuse, text};

/// Checks an event; one of the newer group tells more of itself when it is new.
pub(super) fn check(group: &str, live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let is_newer = group == "events.k8s.io";
    let (regarding, controller) = match is_newer {
        true => ("regarding", "reportingController"),
        false => ("involvedObject", "reportingComponent"),
    };
    let is_timed = !object["eventTime"].is_null();
    whereabouts(
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
    if is_newer && live.is_none() {
        if !is_timed {
            causes.push(Cause::required("eventTime", ""));
        }
        let kind = text(object, "type");
        if !["Normal", "Warning"].contains(&kind) {
            let why = format!("has invalid value: {kind}");
            causes.push(invalid("type", "\"\"", why));
        }
    }
}

/// An event is in the namespace of what it is about; of what is in none, it is in `default`, or where parts of the cluster are.
fn whereabouts(found: &str, is_timed: bool, object: &Value, causes: &mut Vec<Cause>) {
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
