//! The additional checks of the level `restricted`. The second argument is the minor version of the policy.

use std::collections::BTreeSet;

use serde_json::Value;

use super::baseline::{added, forbidden_seccomp, masked_proc};
use super::pod::{Pod, Refusal, containers, items, plural, quoted, refusal, text};
use crate::model::json::entries;

/// Whether the pod is for Windows, to which some checks do not apply from version 1.25 on.
fn is_exempt(pod: &Pod<'_>, minor: u32) -> bool {
    minor >= 25 && pod.is_windows()
}

pub(crate) fn privilege_escalation(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    let names =
        pod.named(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    if names.is_empty() || is_exempt(pod, minor) {
        return None;
    }
    let names = containers(&names);
    refusal(
        "allowPrivilegeEscalation != false",
        format!("{names} must set securityContext.allowPrivilegeEscalation=false"),
    )
}

pub(crate) fn capabilities(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    if is_exempt(pod, minor) {
        return None;
    }
    let names = pod.named(|container| {
        let dropped = items(&container["securityContext"]["capabilities"]["drop"]);
        !dropped.contains(&Value::from("ALL"))
    });
    let details: Vec<String> = (!names.is_empty())
        .then(|| {
            format!(
                "{} must set securityContext.capabilities.drop=[\"ALL\"]",
                containers(&names)
            )
        })
        .into_iter()
        .chain(added(pod, &["NET_BIND_SERVICE"]))
        .collect();
    if details.is_empty() {
        return None;
    }
    refusal("unrestricted capabilities", details.join("; "))
}

pub(crate) fn proc_mount(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    masked_proc(pod)
}

pub(crate) fn volumes(pod: &Pod<'_>, _: u32) -> Option<Refusal> {
    const ALLOWED: [&str; 9] = [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "image",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ];
    let mut types = BTreeSet::new();
    let mut names = Vec::new();
    for volume in items(&pod.spec["volumes"]) {
        let source = entries(volume)
            .find(|(name, source)| *name != "name" && !source.is_null())
            .map_or("unknown", |(name, _)| name);
        if !ALLOWED.contains(&source) {
            names.push(text(&volume["name"]));
            types.insert(source);
        }
    }
    if names.is_empty() {
        return None;
    }
    let (volume, use_, type_) = (
        plural(names.len(), "volume", "volumes"),
        plural(names.len(), "uses", "use"),
        plural(
            types.len(),
            "restricted volume type",
            "restricted volume types",
        ),
    );
    let (names, types) = (quoted(names), quoted(types));
    refusal(
        "restricted volume types",
        format!("{volume} {names} {use_} {type_} {types}"),
    )
}

pub(crate) fn non_root(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    const REASON: &str = "runAsNonRoot != true";
    if pod.has_own_users(minor) {
        return None;
    }
    if let Some(violators) = pod.violators(|context| context["runAsNonRoot"] == false) {
        return refusal(
            REASON,
            format!("{violators} must not set securityContext.runAsNonRoot=false"),
        );
    }
    let names = unset(pod, |context| context["runAsNonRoot"].is_boolean())?;
    refusal(
        REASON,
        format!("pod or {names} must set securityContext.runAsNonRoot=true"),
    )
}

/// The containers for which a field is set neither in their own security context nor in that of the pod.
fn unset(pod: &Pod<'_>, sets: impl Fn(&Value) -> bool) -> Option<String> {
    if sets(&pod.spec["securityContext"]) {
        return None;
    }
    let names = pod.named(|container| !sets(&container["securityContext"]));
    (!names.is_empty()).then(|| containers(&names))
}

pub(crate) fn user(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    if pod.has_own_users(minor) {
        return None;
    }
    let violators = pod.violators(|context| context["runAsUser"] == 0)?;
    refusal(
        "runAsUser=0",
        format!("{violators} must not set runAsUser=0"),
    )
}

pub(crate) fn seccomp(pod: &Pod<'_>, minor: u32) -> Option<Refusal> {
    if is_exempt(pod, minor) {
        return None;
    }
    if let Some(forbidden) = forbidden_seccomp(pod) {
        return Some(forbidden);
    }
    let names = unset(pod, |context| context["seccompProfile"].is_object())?;
    refusal(
        "seccompProfile",
        format!(
            "pod or {names} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\""
        ),
    )
}
