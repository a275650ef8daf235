// Made by `cargo operator regenerate`. Do not edit: change operator.toml and run it again.
//! The controllers of the project, with what each of them watches.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use operator_runtime::Controllers;

pub mod page;
pub mod site;

/// All controllers, to be registered with an `Operator`.
pub fn all() -> Controllers {
    Controllers::new()
        .add(page::setup, |watches| watches.owns::<ConfigMap>())
        .add(site::setup, |watches| {
            watches
                .owns::<Deployment>()
                .owns::<ConfigMap>()
                .watches::<Secret>()
        })
}
