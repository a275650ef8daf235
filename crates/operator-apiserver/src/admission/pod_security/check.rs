//! The checks of the levels, in the order in which a rejection lists them.

use super::pod::{Pod, Refusal};
use super::policy::{Level, LevelVersion};
use super::{baseline, restricted};

/// The newest version with different checks; all later versions have the same ones.
const NEWEST: u32 = 35;

/// A check, which applies in versions from [`Check::since`] on.
struct Check {
    since: u32,
    /// The version from which the level `restricted` replaces this check with a stricter one.
    replaced: Option<u32>,
    run: fn(&Pod<'_>, u32) -> Option<Refusal>,
}

/// A check of versions from `since` on.
const fn check(since: u32, run: fn(&Pod<'_>, u32) -> Option<Refusal>) -> Check {
    Check {
        since,
        replaced: None,
        run,
    }
}

impl Check {
    /// Leaves this check out of the level `restricted` from a version on.
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::admission::pod_security::pod::{details, reasons};

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
