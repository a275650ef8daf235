// Made by `cargo operator regenerate`. Do not edit: change operator.toml and run it again.
//! The controllers of the project, with what each of them watches.

use operator_runtime::{Controllers, Watches};

pub mod page;
pub mod site;

/// All controllers, to be registered with an `Operator`.
pub fn all() -> Controllers {
    let mut all = Controllers::new();
    all = all.add(page::setup, page_watches);
    all = all.add(site::setup, site_watches);
    all
}

fn page_watches(mut watches: Watches) -> Watches {
    watches = watches.owns("", "v1", "ConfigMap", "configmaps");
    watches
}

fn site_watches(mut watches: Watches) -> Watches {
    watches = watches.owns("apps", "v1", "Deployment", "deployments");
    watches = watches.owns("", "v1", "ConfigMap", "configmaps");
    watches = watches.watches("", "v1", "Secret", "secrets");
    watches
}
