//! The checks of the levels, in the order in which a rejection lists them, and their shared messages.

use serde_json::Value;

use super::policy::{Level, LevelVersion};
use super::{baseline, restricted};
use crate::model::json::entries;

/// The newest version with different checks; all later versions have the same ones.
const NEWEST: u32 = 35;

/// The reason why a pod is not admitted.
pub(crate) struct Refusal {
    reason: &'static str,
    detail: String,
}

/// A check, which applies in versions from [`Check::since`] on.
struct Check {
    since: u32,
    /// The version from which the level `restricted` replaces this check with a stricter one.
    replaced: Option<u32>,
    run: fn(&Pod<'_>, u32) -> Option<Refusal>,
}

const fn check(since: u32, run: fn(&Pod<'_>, u32) -> Option<Refusal>) -> Check {
    Check {
        since,
        replaced: None,
        run,
    }
}

impl Check {
    const fn replaced(self, from: u32) -> Self {
        Self {
            replaced: Some(from),
            ..self
        }
    }
}

const BASELINE: &[Check] = &[
    check(0, baseline::app_armor),
    check(0, baseline::capabilities).replaced(22),
    check(0, baseline::host_namespaces),
    check(0, baseline::host_paths).replaced(0),
    check(0, baseline::host_ports),
    check(34, baseline::hosts),
    check(0, baseline::privileged),
    check(0, baseline::proc_mount).replaced(35),
    check(0, baseline::se_linux),
    check(0, baseline::seccomp).replaced(19),
    check(0, baseline::sysctls),
    check(0, baseline::host_process),
];

const RESTRICTED: &[Check] = &[
    check(8, restricted::privilege_escalation),
    check(22, restricted::capabilities),
    check(35, restricted::proc_mount),
    check(0, restricted::volumes),
    check(0, restricted::non_root),
    check(23, restricted::user),
    check(19, restricted::seccomp),
];

/// The reasons why a level rejects a pod.
pub(crate) fn refusals(level: LevelVersion, pod: &Pod<'_>) -> Vec<Refusal> {
    let minor = level.minor.unwrap_or(NEWEST).min(NEWEST);
    let is_restricted = level.level == Level::Restricted;
    let baseline = BASELINE.iter().filter(|check| {
        level.level != Level::Privileged
            && !(is_restricted && check.replaced.is_some_and(|from| minor >= from))
    });
    let restricted = RESTRICTED.iter().filter(|_| is_restricted);
    baseline
        .chain(restricted)
        .filter(|check| minor >= check.since)
        .filter_map(|check| (check.run)(pod, minor))
        .collect()
}

pub(crate) fn details(refusals: &[Refusal]) -> String {
    let one = |it: &Refusal| format!("{} ({})", it.reason, it.detail);
    refusals.iter().map(one).collect::<Vec<_>>().join(", ")
}

pub(crate) fn reasons(refusals: &[Refusal]) -> String {
    let reasons: Vec<&str> = refusals.iter().map(|it| it.reason).collect();
    reasons.join(", ")
}

pub(crate) fn refusal(reason: &'static str, detail: String) -> Option<Refusal> {
    Some(Refusal { reason, detail })
}

/// A pod or a pod template.
pub(crate) struct Pod<'a> {
    pub metadata: &'a Value,
    pub spec: &'a Value,
}

impl<'a> Pod<'a> {
    pub fn new(metadata: &'a Value, spec: &'a Value) -> Self {
        Self { metadata, spec }
    }

    pub fn is_windows(&self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether the pod has its own user namespace, to which some checks do not apply from version 1.35 on.
    pub fn has_own_users(&self, minor: u32) -> bool {
        minor >= 35 && self.spec["hostUsers"] == false
    }

    pub fn containers(&self) -> impl Iterator<Item = &'a Value> {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let spec = self.spec;
        lists
            .into_iter()
            .flat_map(move |list| items(&spec[list]).iter())
    }

    /// The names of the containers for which a predicate holds.
    pub fn named(&self, mut is: impl FnMut(&Value) -> bool) -> Vec<&'a str> {
        self.containers()
            .filter(|container| is(container))
            .map(|container| text(&container["name"]))
            .collect()
    }

    pub fn annotations(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let annotations = entries(&self.metadata["annotations"]);
        annotations.map(|(name, value)| (name.as_str(), text(value)))
    }

    /// The places whose security context satisfies a predicate: `pod and containers "a", "b"`; `None` if there are none.
    pub fn setters(&self, mut sets: impl FnMut(&Value) -> bool) -> Option<String> {
        let mut setters = Vec::new();
        if sets(&self.spec["securityContext"]) {
            setters.push("pod".to_owned());
        }
        let names = self.named(|container| sets(&container["securityContext"]));
        if !names.is_empty() {
            setters.push(containers(&names));
        }
        (!setters.is_empty()).then(|| setters.join(" and "))
    }
}

pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// `"a", "b"`
pub(crate) fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let quoted = items
        .into_iter()
        .map(|item| format!("\"{}\"", item.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

/// `container "a"`, `containers "a", "b"`
pub(crate) fn containers(names: &[&str]) -> String {
    format!(
        "{} {}",
        plural(names.len(), "container", "containers"),
        quoted(names)
    )
}

pub(crate) fn plural(count: usize, one: &'static str, many: &'static str) -> &'static str {
    if count == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(level: Level, minor: u32, metadata: Value, spec: Value) -> String {
        let pod = Pod::new(&metadata, &spec);
        let minor = Some(minor);
        details(&refusals(LevelVersion { level, minor }, &pod))
    }

    #[test]
    fn seccomp_was_set_by_annotations() {
        let metadata = json!({"annotations": {
            "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
            "container.seccomp.security.alpha.kubernetes.io/c": "localhost/a",
            "container.seccomp.security.alpha.kubernetes.io/d": "unconfined",
            "container.seccomp.security.alpha.kubernetes.io/none": "unconfined",
        }});
        let spec = json!({"containers": [{"name": "c"}, {"name": "d"}]});
        let refused = |minor| refused(Level::Baseline, minor, metadata.clone(), spec.clone());
        assert_eq!(
            refused(18),
            "seccompProfile (forbidden annotations container.seccomp.security.alpha.kubernetes.io/d=\"unconfined\", seccomp.security.alpha.kubernetes.io/pod=\"unconfined\")"
        );
        assert_eq!(refused(19), "");
    }

    #[test]
    fn rules_begin_with_their_versions() {
        let spec = json!({"containers": [{"name": "c"}]});
        let reasons = |minor| {
            let pod = Pod::new(&Value::Null, &spec);
            let level = Level::Restricted;
            let minor = Some(minor);
            reasons(&refusals(LevelVersion { level, minor }, &pod))
        };
        let escalation = "allowPrivilegeEscalation != false";
        let root = "runAsNonRoot != true";
        assert_eq!(reasons(7), root);
        assert_eq!(reasons(8), format!("{escalation}, {root}"));
        assert_eq!(reasons(19), format!("{escalation}, {root}, seccompProfile"));
        let all = format!("{escalation}, unrestricted capabilities, {root}, seccompProfile");
        assert_eq!(reasons(22), all);
        assert_eq!(reasons(99), all);
    }
}
