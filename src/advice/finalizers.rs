//! Reports finalizers that remain on objects: of a controller that leaves the project, or of a project that is renamed.

use std::collections::BTreeMap;

use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    plan::{ControllerEntry, LOCK, Lock, Plan},
    scaffold::{Cleanup, Scaffold},
    user_code::{CONSTANT, ControllerImpl},
    workspace::open::OpenProject,
};

impl OpenProject {
    /// The finalizers that no controller removes any more after the plan, and those that contain the former name of the project.
    pub fn finalizers(&self, plan: &Plan) -> Vec<Report> {
        let lock = plan.changes.iter().find(|change| change.path == LOCK);
        let lock = lock.and_then(|change| Lock::read(change.after.as_deref()?).ok());
        let Some(Lock { controllers, .. }) = lock else {
            return vec![];
        };
        let report = |(module, before): (&String, &ControllerEntry)| match controllers.get(module) {
            Some(after) => self.kept_finalizer(module, before, after),
            None => self.abandoned_finalizer(module, before, &controllers),
        };
        self.lock.controllers.iter().filter_map(report).collect()
    }

    /// Reports the finalizer of a controller that the plan removes, unless a controller that exists `after` the plan has the same finalizer
    /// for the same kind.
    fn abandoned_finalizer(
        &self,
        module: &str,
        before: &ControllerEntry,
        after: &BTreeMap<String, ControllerEntry>,
    ) -> Option<Report> {
        let path = path(module);
        let text = disk::read(&self.root, &path).ok().flatten();
        let written = text.as_deref().and_then(Scaffold::implemented);
        // the code may be newer than the record
        let finalizer = match &written {
            Some((_, controller)) => controller.finalizer_name()?,
            None => before.finalizer.as_deref()?,
        };
        let mut unknown = None;
        for (module, other) in after {
            let is_same_kind = (&other.group, &other.kind) == (&before.group, &before.kind);
            match other.finalizer.as_deref().filter(|_| is_same_kind) {
                Some(other) if other == CONSTANT || finalizer == CONSTANT => {
                    unknown = Some(module);
                }
                Some(other) if other == finalizer => return None,
                _ => {}
            }
        }
        let removed = match text {
            Some(_) => format!("the controller in {path} is removed"),
            None => format!("{path} was deleted and its controller is removed"),
        };
        let (severity, message) = match unknown {
            None => (
                Severity::Warning,
                format!(
                    "{removed}; objects that have its finalizer {finalizer} cannot be deleted until somebody removes it"
                ),
            ),
            Some(other) => (
                Severity::Note,
                format!(
                    "{removed}; unless the controller in {} has the same finalizer, objects that have the finalizer {finalizer} cannot be deleted until somebody removes it",
                    self::path(other)
                ),
            ),
        };
        let first = match &written {
            None => "first restore its file, and let the operator remove the finalizer",
            Some((interface, _)) if matches!(interface.cleanup, Cleanup::Required) => {
                "first delete the objects with the operator that still has this controller"
            }
            _ if finalizer == before.conventional => {
                "first deploy the operator with this controller but without its FINALIZER, and with the permission to patch the objects: it then removes the finalizer"
            }
            _ => "first deploy the operator with a controller that removes the finalizer",
        };
        let help =
            format!("{first}; or remove it from `metadata.finalizers` of all objects yourself");
        let location = written
            .as_ref()
            .and_then(|(_, controller)| location(&path, text.as_deref()?, controller));
        Some(self.finalizer_report(severity, message, location, help))
    }

    /// Reports a finalizer in the code that contains the former name of the project.
    fn kept_finalizer(
        &self,
        module: &str,
        before: &ControllerEntry,
        after: &ControllerEntry,
    ) -> Option<Report> {
        let path = path(module);
        let text = disk::read(&self.root, &path).ok()??;
        let (_, written) = Scaffold::implemented(&text)?;
        let finalizer = written.finalizer_name()?;
        let is_renamed = before.group == after.group && before.conventional != after.conventional;
        (is_renamed && finalizer == before.conventional).then(|| {
            self.finalizer_report(
                Severity::Note,
                format!(
                    "FINALIZER in {path} contains the former name of the operator; leave it as it is, because objects have this finalizer"
                ),
                location(&path, &text, &written),
                format!(
                    "with another FINALIZER, such as {}, the operator no longer removes {finalizer}, and the objects that have it cannot be deleted",
                    after.conventional
                ),
            )
        })
    }

    fn finalizer_report(
        &self,
        severity: Severity,
        message: String,
        location: Option<Location>,
        help: String,
    ) -> Report {
        Report {
            severity,
            code: Some(Code::AbandonedFinalizers),
            subject: Some(self.config.name.clone()),
            message,
            location,
            instead: None,
            help: Some(help),
        }
    }
}

/// The file of a module.
fn path(module: &str) -> String {
    format!("src/controllers/{module}.rs")
}

fn location(path: &str, text: &str, controller: &ControllerImpl) -> Option<Location> {
    let name = &controller.finalizer.as_ref()?.part.name;
    Some(Location::new(path, 1, text, name.clone()))
}
