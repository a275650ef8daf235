//! What must hold of an object before it is stored, whatever its kind.

use serde_json::Value;

use super::kind::Kind;
use super::metadata::{self, finalizers, is_deleting, name, text};
use super::status::{Cause, Failure, Result};
use super::{Request, State, crd};

impl State {
    pub(crate) fn check_changed(
        &self,
        kind: &Kind,
        subresource: Option<&str>,
        live: &Value,
        object: &Value,
        mut causes: Vec<Cause>,
    ) -> Result<()> {
        causes.extend(new_finalizers(live, object));
        let own = metadata::violations(kind, object);
        let is_whole = kind.custom.is_some() && subresource.is_none();
        if is_whole {
            causes.extend(own.clone());
        }
        if kind.custom.is_none() || subresource.is_none() {
            // Two layers of the real server compare the metadata with what it was.
            causes.extend(causes.clone());
        }
        // Its strategies look at labels and annotations again, each as often as it was written to.
        let of_labels = own.iter().filter(|cause| {
            matches!(
                cause.field.as_str(),
                "metadata.labels" | "metadata.annotations" | "metadata.finalizers"
            )
        });
        let of_labels: Vec<Cause> = of_labels.cloned().collect();
        for _ in 0..looks_again(kind) {
            causes.extend(of_labels.clone());
        }
        if kind.group == "rbac.authorization.k8s.io" {
            let short = own
                .iter()
                .filter(|it| it.field.starts_with("metadata.finalizers["));
            causes.extend(short.cloned().collect::<Vec<_>>());
        }
        causes.extend(own);
        let of_kind = self.kind_violations(kind, Some(live), object);
        causes.extend(match (subresource, &kind.custom) {
            (Some("status"), Some(_)) => crd::status_violations(of_kind),
            _ => of_kind,
        });
        match causes.is_empty() {
            true => Ok(()),
            false => Err(Failure::invalid(kind, name(live), causes)),
        }
    }

    /// Refuses an object that breaks a rule of its kind.
    pub(crate) fn check(&self, kind: &Kind, object: &Value) -> Result<()> {
        let mut causes = metadata::violations(kind, object);
        match &kind.custom {
            // Rules are asked of objects that are valid otherwise.
            Some(custom) if !causes.is_empty() && crd::has_rules(custom) => {
                causes.extend(crd::unruled(custom, object));
            }
            _ => causes.extend(self.kind_violations(kind, None, object)),
        }
        match causes.is_empty() {
            true => Ok(()),
            false => Err(Failure::invalid(kind, name(object), causes)),
        }
    }
}

/// How often more than once the real server looks at the labels of an object that is updated.
fn looks_again(kind: &Kind) -> usize {
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => 0,
        ("apps" | "coordination.k8s.io", _) | ("", "services") => 2,
        _ => 3,
    }
}

/// The namespace in the body is that of the path.
pub(crate) fn check_place(request: &Request<'_>, object: &mut Value) -> Result<()> {
    let namespace = text(object, "namespace").to_owned();
    let expected = &request.path.namespace;
    if !request.kind.namespaced {
        metadata::set(object, "namespace", Value::Null);
        return Ok(());
    }
    if !namespace.is_empty() && namespace != *expected {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::set(object, "namespace", expected.as_str());
    Ok(())
}

/// A version that is sent is a number.
pub(crate) fn check_number(object: &Value) -> Result<()> {
    let version = text(object, "resourceVersion");
    match version.is_empty() || version.parse::<u64>().is_ok() {
        true => Ok(()),
        false => Err(Failure::internal(format!(
            "strconv.ParseUint: parsing {version:?}: invalid syntax"
        ))),
    }
}

pub(crate) fn check_version(kind: &Kind, live: &Value, object: &Value) -> Result<()> {
    check_number(object)?;
    let version = text(object, "resourceVersion");
    if !version.is_empty() && version != "0" && version != text(live, "resourceVersion") {
        return Err(Failure::modified(kind, name(live)));
    }
    Ok(())
}

/// What of the metadata no write may change.
pub(crate) fn immutable(live: &Value, object: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (old, new) = (&live["metadata"][field], &object["metadata"][field]);
        let may_change = field != "uid" && is_deleting(live);
        let is_kept = new.is_null() || *new == "" || new == old || may_change;
        if !is_kept {
            let text = format!("Invalid value: {new}: field is immutable");
            causes.push(Cause::invalid(format!("metadata.{field}"), text));
        }
    }
    causes
}

fn new_finalizers(live: &Value, object: &Value) -> Option<Cause> {
    if !is_deleting(live) {
        return None;
    }
    let before = finalizers(live);
    let added: Vec<String> = finalizers(object)
        .into_iter()
        .filter(|finalizer| !before.contains(finalizer))
        .map(|finalizer| format!("{finalizer:?}"))
        .collect();
    if added.is_empty() {
        return None;
    }
    Some(Cause {
        reason: "FieldValueForbidden",
        message: format!(
            "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.join(", ")
        ),
        field: "metadata.finalizers".into(),
    })
}
