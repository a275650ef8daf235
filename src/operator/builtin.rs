//! The built-in kinds of Kubernetes, recorded from the discovery of a real API server (1.36).

use std::sync::LazyLock;

use operator_apiserver::{BuiltinKind, builtin_kinds};

/// All built-in kinds, by group and name. Of HorizontalPodAutoscaler, only the version that kubectl prefers.
static ALL: LazyLock<Vec<BuiltinKind>> = LazyLock::new(|| {
    let is_preferred = |it: &BuiltinKind| (it.group, it.version) != ("autoscaling", "v1");
    let mut kinds: Vec<BuiltinKind> = builtin_kinds().filter(is_preferred).collect();
    kinds.sort_by_key(|it| (it.group, it.kind));
    kinds
});

/// The kinds that can be watched.
pub fn watchable() -> impl Iterator<Item = &'static BuiltinKind> {
    ALL.iter().filter(|it| is_watchable(it))
}

/// Whether controllers can own or watch objects of the kind.
fn is_watchable(kind: &BuiltinKind) -> bool {
    kind.verbs.iter().any(|verb| verb == "watch")
}

/// Whether a kind is a built-in one that cannot be watched.
pub fn is_unwatched(group: &str, kind: &str) -> bool {
    let is_kind = |it: &&BuiltinKind| it.group == group && it.kind.eq_ignore_ascii_case(kind);
    ALL.iter().find(is_kind).is_some_and(|it| !is_watchable(it))
}

/// Whether a resource is built-in and cluster-scoped. An unknown plural, such as `*`, counts as cluster-scoped if its group has only
/// cluster-scoped resources.
pub fn is_cluster_scoped(group: &str, plural: &str) -> bool {
    let of_group = || ALL.iter().filter(|it| it.group == group);
    match of_group().find(|it| it.plural == plural) {
        Some(known) => !known.namespaced,
        None => of_group().next().is_some() && of_group().all(|it| !it.namespaced),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_an_unknown_resource_is_that_of_its_group() {
        assert!(is_cluster_scoped(
            "storage.k8s.io",
            "volumeattributesclasses"
        ));
        assert!(!is_cluster_scoped("storage.k8s.io", "csistoragecapacities"));
        assert!(is_cluster_scoped("node.k8s.io", "*"));
        assert!(is_cluster_scoped("authentication.k8s.io", "*"));
        for (group, plural) in [("", "*"), ("storage.k8s.io", "*"), ("example.com", "x")] {
            assert!(!is_cluster_scoped(group, plural));
        }
    }
}
