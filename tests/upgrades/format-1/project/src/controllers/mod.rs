// Made by `cargo operator regenerate`. Do not edit: change operator.toml and run it again.
//! The controllers of the project, with what each of them watches.

use operator_runtime::{Controllers, Watches};

pub mod cache_policy;

/// All controllers, to be registered with an `Operator`.
pub fn all() -> Controllers {
    let mut all = Controllers::new();
    all = all.add(cache_policy::setup, cache_policy_watches);
    all
}

fn cache_policy_watches(mut watches: Watches) -> Watches {
    watches = watches.owns("", "v1", "ConfigMap", "configmaps");
    watches
}
