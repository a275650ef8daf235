//! The validation of objects of all kinds before they are stored.

use serde_json::Value;

use super::prepare::kind_violations;
use crate::go;
use crate::kinds::rule::metadata as metadata_rules;
use crate::kinds::{custom, strategy};
use crate::model::metadata::{self, is_deleting, name, text};
use crate::model::{Cause, Failure, Kind, Result};
use crate::request::Request;

/// Rejects an update that violates a rule of its kind. `immutable` has the changes of immutable metadata.
pub(crate) fn check_changed(
    kind: &Kind,
    subresource: Option<&str>,
    live: &Value,
    object: &Value,
    immutable: Vec<Cause>,
) -> Result<()> {
    let mut causes = metadata_rules::of_changed(kind, subresource, live, object, immutable);
    causes.extend(match (subresource, &kind.custom) {
        (Some("status"), Some(custom)) => custom::status_violations(custom, live, object),
        (Some("status"), None) if !strategy(kind).validates_status => Vec::new(),
        _ => kind_violations(kind, Some(live), object),
    });
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Failure::invalid(kind, name(live), causes))
    }
}

/// Rejects a new object that violates a rule of its kind.
pub(crate) fn check(kind: &Kind, object: &Value) -> Result<()> {
    let mut causes = metadata_rules::of_new(kind, object);
    let is_incomplete = causes.iter().any(|it| it.reason != "FieldValueInvalid");
    match &kind.custom {
        // the server does not evaluate the rules if something is missing or too long
        Some(custom) if is_incomplete && custom::has_rules(custom) => {
            causes.extend(custom::violations_without_rules(custom, object));
        }
        _ => causes.extend(kind_violations(kind, None, object)),
    }
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Failure::invalid(kind, name(object), causes))
    }
}

/// Checks that the namespace in the body is that of the path.
pub(crate) fn check_place(request: &Request<'_>, object: &mut Value) -> Result<()> {
    let namespace = text(object, "namespace").to_owned();
    let expected = &request.path.namespace;
    if !request.kind.namespaced {
        metadata::set(object, "namespace", Value::Null);
        return Ok(());
    }
    if !namespace.is_empty() && namespace != *expected {
        return Err(Failure::misplaced());
    }
    metadata::set(object, "namespace", expected.as_str());
    Ok(())
}

/// Checks that a version in the body is a number.
pub(crate) fn check_number(object: &Value) -> Result<()> {
    let version = text(object, "resourceVersion");
    if !version.is_empty() {
        go::parse_uint(version).map_err(Failure::without_reason)?;
    }
    Ok(())
}

/// Checks that an update names the version on which it is based, for kinds that require this.
pub(crate) fn check_given_version(kind: &Kind, object: &Value) -> Result<()> {
    if matches!(text(object, "resourceVersion"), "" | "0")
        && !strategy(kind).allows_unconditional_update
    {
        let cause = Cause::invalid(
            "metadata.resourceVersion",
            "Invalid value: 0: must be specified for an update",
        );
        return Err(Failure::invalid_resource(kind, name(object), vec![cause]));
    }
    Ok(())
}

/// Rejects an update that is based on an older version.
pub(crate) fn check_version(kind: &Kind, live: &Value, object: &Value) -> Result<()> {
    check_number(object)?;
    let version = text(object, "resourceVersion");
    if !version.is_empty() && version != "0" && version != text(live, "resourceVersion") {
        return Err(Failure::modified(kind, name(live)));
    }
    Ok(())
}

/// The changes of metadata that no write may change.
pub(crate) fn immutable(live: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (old, new) = (&live["metadata"][field], &object["metadata"][field]);
        // the server keeps the time of deletion, whatever the client sends
        let may_change = field == "deletionTimestamp" && is_deleting(live);
        let is_kept = new.is_null() || *new == "" || new == old || may_change;
        if !is_kept {
            let text = format!("Invalid value: {new}: field is immutable");
            causes.push(Cause::invalid(format!("metadata.{field}"), text));
        }
    }
    causes
}
