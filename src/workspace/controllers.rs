//! Records the controllers of a plan in its `operator.lock`, so that a later plan knows what it removes.

use std::collections::BTreeMap;

use super::open::OpenProject;
use crate::{
    diagnostic::Failure,
    plan::{ControllerEntry, LOCK, Lock, Ours, Plan},
    scaffold::Scaffold,
};

impl OpenProject {
    /// Records the controllers in the lock. A new value of FINALIZER alone does not change the lock, because `regenerate --check` would
    /// fail after this edit of the user. It is recorded with the next change; until then, it is read from the code.
    pub(super) fn record_controllers(&self, plan: &mut Plan, ours: &Ours) -> Result<(), Failure> {
        let controllers = self.controllers_after(plan, ours)?;
        let mut changes = plan.changes.iter();
        let index = changes.position(|change| change.path == LOCK);
        let lock = match index.and_then(|index| plan.changes.remove(index).after) {
            Some(text) => Lock::read(&text)?,
            None if self.lock.controllers.keys().eq(controllers.keys()) => return Ok(()),
            None => self.lock.clone(),
        };
        let text = Lock {
            controllers,
            ..lock
        }
        .to_text();
        plan.add_sources(ours, vec![(LOCK.to_owned(), text)], &[]);
        Ok(())
    }

    /// The controllers after a plan. If the file of a controller is missing, or implements no trait, its last known finalizer is kept.
    fn controllers_after(
        &self,
        plan: &Plan,
        ours: &Ours,
    ) -> Result<BTreeMap<String, ControllerEntry>, Failure> {
        let operator = self.operator()?;
        let entries = operator.controllers.iter().map(|controller| {
            let path = controller.path();
            let change = plan.changes.iter().find(|change| change.path == path);
            let text = change.map_or(ours.get(&path), |change| change.after.as_deref());
            let finalizer = match text.and_then(Scaffold::implemented) {
                Some((_, written)) => written.finalizer_name().map(str::to_owned),
                None => {
                    let known = self.lock.controllers.get(&controller.module);
                    known.and_then(|known| known.finalizer.clone())
                }
            };
            let entry = ControllerEntry {
                group: controller.resource.group.clone(),
                kind: controller.resource.kind.clone(),
                conventional: controller.finalizer(&self.config.name),
                finalizer,
            };
            (controller.module.clone(), entry)
        });
        Ok(entries.collect())
    }
}
