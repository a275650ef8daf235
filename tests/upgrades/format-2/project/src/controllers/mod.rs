// Made by `cargo operator regenerate`. Do not edit: change operator.toml and run it again.
//! The controllers of the project, with what each of them watches.

use operator_runtime::{Controllers, Watches};

pub mod account;
pub mod queue;

/// All controllers, to be registered with an `Operator`.
pub fn all() -> Controllers {
    let mut all = Controllers::new();
    all = all.add(queue::setup, queue_watches);
    all = all.add(account::setup, account_watches);
    all
}

fn queue_watches(mut watches: Watches) -> Watches {
    watches = watches.owns("apps", "v1", "Deployment", "deployments");
    watches = watches.owns("", "v1", "ConfigMap", "configmaps");
    watches
}

fn account_watches(mut watches: Watches) -> Watches {
    watches = watches.owns("", "v1", "ConfigMap", "configmaps");
    watches = watches.watches("", "v1", "Secret", "secrets");
    watches
}
