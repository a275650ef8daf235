//! Suggests the kinds that a wrong name in `operator.toml` probably means, as they are written there.

use super::builtin::watchable;
use crate::crd::Api;

/// Group, version and name of a kind.
type Candidate<'a> = (&'a str, &'a str, &'a str);

/// The kinds of the project, and the built-in ones.
fn candidates(apis: &[Api]) -> Vec<Candidate<'_>> {
    let own = apis.iter().map(|api| {
        let version = api.storage_version().name.as_str();
        (api.group.as_str(), version, api.names.kind.as_str())
    });
    let builtin = watchable().map(|it| (it.group, it.version, it.kind));
    own.chain(builtin).collect()
}

/// The kinds of this name in any group. The name may differ in case, or by some letters if there is no better one.
pub fn of_kind(kind: &str, apis: &[Api]) -> Vec<String> {
    best(&candidates(apis), kind)
}

/// The intended kinds: those of the group with such a name, or else those of exactly this name in another group.
pub fn of_group(group: &str, kind: &str, apis: &[Api]) -> Vec<String> {
    let (in_group, mut others): (Vec<Candidate<'_>>, Vec<_>) =
        candidates(apis).into_iter().partition(|it| it.0 == group);
    let near = best(&in_group, kind);
    // a group outside of Kubernetes may have any kind
    let is_own = group.contains('.') && !group.ends_with(".k8s.io");
    if !near.is_empty() || is_own {
        return near;
    }
    others.retain(|it| it.2 == kind);
    best(&others, kind)
}

/// All kinds of a built-in group; empty for another group.
pub fn whole_group(group: &str) -> Vec<String> {
    let of_group = watchable().filter(|it| it.group == group);
    let of_group = of_group.map(|it| (it.group, it.version, it.kind));
    of_group.map(|it| written(&it)).collect()
}

/// The candidates with the name that is most similar to `kind`; none if no name is similar enough.
fn best(candidates: &[Candidate<'_>], kind: &str) -> Vec<String> {
    let likeness = |name: &str| {
        if name == kind {
            2.0
        } else {
            strsim::jaro(&name.to_lowercase(), &kind.to_lowercase())
        }
    };
    let most = candidates
        .iter()
        .map(|it| likeness(it.2))
        .fold(0.0, f64::max);
    let is_best = |it: &&Candidate<'_>| most > 0.85 && likeness(it.2) >= most;
    candidates.iter().filter(is_best).map(written).collect()
}

/// Formats a kind as in `operator.toml`.
pub fn written((group, version, kind): &Candidate<'_>) -> String {
    match *group {
        "" => format!("{version}/{kind}"),
        group => format!("{group}/{version}/{kind}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_kinds_are_suggested() {
        for (kind, meant) in [
            ("Pod", &["v1/Pod"][..]),
            ("deployment", &["apps/v1/Deployment"]),
            ("Deploymnt", &["apps/v1/Deployment"]),
            ("Event", &["v1/Event", "events.k8s.io/v1/Event"]),
            ("event", &["v1/Event", "events.k8s.io/v1/Event"]),
            ("Service", &["v1/Service"]),
            ("Foo", &[]),
        ] {
            assert_eq!(of_kind(kind, &[]), meant, "{kind}");
        }
        for (group, kind, meant) in [
            ("", "service", &["v1/Service"][..]),
            ("apps", "Pod", &["v1/Pod"]),
            ("events", "Event", &["v1/Event", "events.k8s.io/v1/Event"]),
            ("events.k8s.io", "Evnt", &["events.k8s.io/v1/Event"]),
            // a CRD may define these
            ("example.com", "Pod", &[]),
            ("apps", "Podd", &[]),
        ] {
            assert_eq!(of_group(group, kind, &[]), meant, "{group} {kind}");
        }
        assert_eq!(whole_group("batch"), ["batch/v1/CronJob", "batch/v1/Job"]);
        assert!(whole_group("example.com").is_empty());
    }
}
