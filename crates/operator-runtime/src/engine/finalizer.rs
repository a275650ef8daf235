//! Decides what to do about a controller's finalizer on an object. No I/O.

use kube::{Resource, ResourceExt};

/// What to do with an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Write these finalizers (if any are given), then reconcile.
    Reconcile(Option<Vec<String>>),
    /// Clean up, then write these finalizers.
    Cleanup(Vec<String>),
    /// The object is being deleted, without our finalizer: write these finalizers (if any are given).
    RemoveFinalizers(Option<Vec<String>>),
}

/// Decides the next step. `needed` is the finalizer that the object needs now. `is_own` is `true` also for the one that it does not need now,
/// and for the one with the conventional name, which may remain from an earlier version of the operator.
pub(crate) fn next_step<K: Resource>(
    object: &K,
    needed: Option<&str>,
    is_own: impl Fn(&str) -> bool,
) -> Step {
    let present = object.finalizers();
    let ours = |name: &String| Some(name.as_str()) == needed;
    let has_ours = present.iter().any(ours);
    let has_stale = present.iter().any(|name| is_own(name) && !ours(name));
    let others = || present.iter().filter(|name| !is_own(name)).cloned();
    if object.meta().deletion_timestamp.is_some() {
        return if has_ours {
            Step::Cleanup(others().collect())
        } else {
            Step::RemoveFinalizers(has_stale.then(|| others().collect()))
        };
    }
    let missing = needed.is_some() && !has_ours;
    let wanted = || others().chain(needed.map(str::to_owned)).collect();
    Step::Reconcile((has_stale || missing).then(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::{
        api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp,
    };
    use kube::core::ObjectMeta;

    const OURS: &str = "example.com/operator";

    fn object(finalizers: &[&str], deleted: bool) -> ConfigMap {
        let finalizers = finalizers.iter().map(ToString::to_string).collect();
        let metadata = ObjectMeta {
            finalizers: Some(finalizers),
            deletion_timestamp: deleted.then_some(Time(Timestamp::UNIX_EPOCH)),
            ..ObjectMeta::default()
        };
        ConfigMap {
            metadata,
            ..ConfigMap::default()
        }
    }

    fn is_own(name: &str) -> bool {
        name == OURS
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_declared_finalizer_is_added_once() {
        let step = |present: &[&str]| next_step(&object(present, false), Some(OURS), is_own);
        assert_eq!(step(&["x/y"]), Step::Reconcile(Some(names(&["x/y", OURS]))));
        assert_eq!(step(&[OURS, "x/y"]), Step::Reconcile(None));
    }

    #[test]
    fn a_finalizer_that_is_not_needed_is_removed_and_others_are_kept() {
        let step_without =
            |present: &[&str], deleted| next_step(&object(present, deleted), None, is_own);
        assert_eq!(step_without(&["x/y"], false), Step::Reconcile(None));
        assert_eq!(
            step_without(&[OURS, "x/y"], false),
            Step::Reconcile(Some(names(&["x/y"])))
        );
        assert_eq!(
            step_without(&[OURS], true),
            Step::RemoveFinalizers(Some(vec![]))
        );
        let is_own = |name: &str| is_own(name) || name == "new/name";
        let renamed = next_step(&object(&[OURS], false), Some("new/name"), is_own);
        assert_eq!(renamed, Step::Reconcile(Some(names(&["new/name"]))));
    }

    #[test]
    fn cleanup_runs_only_with_our_finalizer() {
        let deleted = |present: &[&str]| next_step(&object(present, true), Some(OURS), is_own);
        assert_eq!(deleted(&["x/y", OURS]), Step::Cleanup(names(&["x/y"])));
        assert_eq!(
            deleted(&["x/y"]),
            Step::RemoveFinalizers(None),
            "an object that is being deleted without our finalizer is not reconciled"
        );
    }
}
