//! [Pod Security]: rejects pods, and warns about workloads, according to the labels of their namespace. There are no exemptions.
//!
//! In: an object to be stored. Out: nothing, warnings, or a rejection with the message of k8s.io/pod-security-admission. The checks are in
//! [`baseline`] and [`restricted`].
//!
//! [Pod Security]: https://kubernetes.io/docs/concepts/security/pod-security-admission/

mod baseline;
mod check;
mod pod;
mod policy;
mod restricted;

use std::collections::BTreeMap;

use serde_json::Value;

use self::pod::{Pod, details, reasons};
use self::policy::{Level, LevelVersion, Policy};
use crate::kinds::resource::{NAMESPACES, PODS};
use crate::kinds::strategy;
use crate::model::json::items;
use crate::model::metadata::{name, text};
use crate::model::{Failure, Key, Kind, Result};
use crate::request::Request;
use crate::store::Store;

/// Rejects a pod or a namespace, or warns about a workload. `live` is the object that an update replaces.
pub(crate) fn check_pod_security(
    store: &Store,
    request: &Request<'_>,
    live: Option<&Value>,
    object: &Value,
) -> Result<()> {
    let kind = request.kind;
    if request.path.subresource.is_some() {
        return Ok(());
    }
    if kind.is(NAMESPACES) {
        return check_policy(store, request, live, object);
    }
    let Some(pod) = pod_of(kind, object) else {
        return Ok(());
    };
    let namespace = store.find(&Key::new(NAMESPACES, "", text(object, "namespace")));
    let Some((policy, _)) = namespace.map(|namespace| Policy::read(&namespace)) else {
        return Ok(());
    };
    if kind.is(PODS) {
        if live.is_some_and(|live| has_same_images(&live["spec"], &object["spec"])) {
            return Ok(());
        }
        let refusals = check::refusals(policy.enforce, &pod);
        if !refusals.is_empty() {
            let name = name(object);
            let message = format!(
                "pods {name:?} is forbidden: violates PodSecurity \"{}\": {}",
                policy.enforce,
                details(&refusals)
            );
            return Err(Failure::forbidden(kind, name, message));
        }
    }
    let refusals = check::refusals(policy.warn, &pod);
    if !refusals.is_empty() {
        let details = details(&refusals);
        let level = policy.warn;
        request
            .call
            .warn(&format!("would violate PodSecurity \"{level}\": {details}"));
    }
    Ok(())
}

/// Rejects invalid labels of a namespace, and warns about its pods that a new level would reject.
fn check_policy(
    store: &Store,
    request: &Request<'_>,
    live: Option<&Value>,
    object: &Value,
) -> Result<()> {
    let (policy, causes) = Policy::read(object);
    let before = live.map(Policy::read);
    let known = before.as_ref().map_or(&[][..], |(_, causes)| causes);
    if !causes.is_empty() && causes != known {
        return Err(Failure::invalid(request.kind, name(object), causes));
    }
    let Some((before, _)) = before else {
        return Ok(());
    };
    let (new, old) = (policy.enforce, before.enforce);
    let is_relaxed = new.minor == old.minor && new.level <= old.level;
    if new != old && new.level != Level::Privileged && !is_relaxed {
        let warnings = violations_in(store, name(object), new);
        warnings.iter().for_each(|text| request.call.warn(text));
    }
    Ok(())
}

/// The pods of a namespace that a level would reject, grouped by reasons.
fn violations_in(store: &Store, namespace: &str, level: LevelVersion) -> Vec<String> {
    let mut first: BTreeMap<String, (&str, usize)> = BTreeMap::new();
    for (key, pod) in store.of_kind(PODS, namespace) {
        let pod = Pod::new(&pod["metadata"], &pod["spec"]);
        let refusals = check::refusals(level, &pod);
        if !refusals.is_empty() {
            let (_, count) = first.entry(reasons(&refusals)).or_insert((&key.name, 0));
            *count += 1;
        }
    }
    let mut texts: Vec<String> = first
        .into_iter()
        .map(|(reasons, (name, count))| match count {
            1 => format!("{name}: {reasons}"),
            2 => format!("{name} (and 1 other pod): {reasons}"),
            _ => format!("{name} (and {} other pods): {reasons}", count - 1),
        })
        .collect();
    texts.sort();
    if !texts.is_empty() {
        let text = format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{level}\""
        );
        texts.insert(0, text);
    }
    texts
}

/// The pod or pod template in an object.
fn pod_of<'a>(kind: &Kind, object: &'a Value) -> Option<Pod<'a>> {
    let template = object.pointer(strategy(kind).template?)?;
    template
        .is_object()
        .then(|| Pod::new(&template["metadata"], &template["spec"]))
}

/// Whether an update of a pod changes neither its containers nor their images.
fn has_same_images(live: &Value, spec: &Value) -> bool {
    ["containers", "initContainers", "ephemeralContainers"]
        .iter()
        .all(|list| {
            let images = |spec: &Value| -> Vec<Value> {
                let containers = items(&spec[list]);
                containers.map(|it| it["image"].clone()).collect()
            };
            images(live) == images(spec)
        })
}
