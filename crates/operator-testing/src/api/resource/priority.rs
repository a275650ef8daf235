//! [Priority classes]: the two that every cluster has, and what is admitted of others.
//!
//! [Priority classes]: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass

pub(crate) const GROUP: &str = "scheduling.k8s.io";
pub(crate) const PLURAL: &str = "priorityclasses";

/// The names and values of the classes of the system, with what they are for.
pub(crate) const SYSTEM: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];
