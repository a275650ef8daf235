//! The kinds that keep pods running.

pub(crate) mod daemon_set;
pub(crate) mod deployment;
pub(crate) mod replica_set;
mod replicated;
mod rollout;
pub(crate) mod stateful_set;

use super::pod::drop_signals;
use super::resource::{DISRUPTION_BUDGETS, Resource};
use super::strategy::{Controller, Enqueue, Strategy};

/// The strategy of a kind with a pod template, whose objects no other workload adopts.
pub(crate) const fn of_workload(resource: Resource, controller: Controller) -> Strategy {
    Strategy {
        drop_disabled_fields: |_, object| drop_signals(object.pointer_mut("/spec/template/spec")),
        has_generation: true,
        template: Some("/spec/template"),
        enqueues: &[
            Enqueue::Owner(&[]),
            Enqueue::InNamespace(DISRUPTION_BUDGETS),
        ],
        controller: Some(controller),
        ..Strategy::of(resource)
    }
}
