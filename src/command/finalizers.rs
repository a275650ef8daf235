//! Reports finalizers that remain on objects: of a controller that leaves the project, or of a project that is renamed.

use super::{open::OpenProject, stale_paths::PackageRename};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    plan::{LOCK, Plan},
    project::{Controller as Described, Lock},
    scaffold::{Interface, Scaffold},
    user_code::{self, Controller},
};

/// The controller that a file implements.
struct Written {
    text: String,
    interface: &'static Interface,
    controller: Controller,
}

impl Written {
    fn read(text: String) -> Option<Self> {
        let mut interfaces = Scaffold::all().map(|scaffold| &scaffold.interface);
        let (interface, controller) = interfaces.find_map(|interface| {
            let controller = user_code::controller(&text, &interface.wanted)?;
            Some((interface, controller))
        })?;
        Some(Self {
            text,
            interface,
            controller,
        })
    }

    /// The name of its finalizer, or the name of the constant if its value is not a literal.
    fn finalizer(&self) -> Option<&str> {
        let finalizer = self.controller.finalizer.as_ref()?;
        Some(finalizer.value.as_deref().unwrap_or("FINALIZER"))
    }

    /// The name of the type that it reconciles.
    fn resource(&self) -> Option<&String> {
        self.controller.resource.as_ref()?.path.last()
    }

    fn location(&self, path: &str) -> Option<Location> {
        let name = &self.controller.finalizer.as_ref()?.part.name;
        Some(Location::new(path, 1, &self.text, name.clone()))
    }
}

impl OpenProject {
    /// The finalizers that no controller removes any more after the plan, and those that the former name of the project explains.
    pub fn finalizers(&self, plan: &Plan) -> Vec<Report> {
        let project = self.project();
        // the kinds were resolved for the plan
        let controllers = project.controllers().unwrap_or_default();
        let mut reports = self.abandoned_finalizers(plan, &controllers);
        if let Some(renamed) = PackageRename::of(plan) {
            let kept = |controller: &Described<'_>| self.kept_finalizer(controller, &renamed);
            reports.extend(controllers.iter().filter_map(kept));
        }
        reports
    }

    fn abandoned_finalizers(&self, plan: &Plan, controllers: &[Described<'_>]) -> Vec<Report> {
        let lock = plan.changes.iter().find(|change| change.path == LOCK);
        let lock = lock.and_then(|change| Lock::read(change.after.as_deref()?).ok());
        let Some(lock) = lock else { return vec![] };
        let is_gone = |path: &&String| {
            let file = path.strip_prefix("src/controllers/");
            file.is_some_and(|file| file.ends_with(".rs") && file != "mod.rs")
                && !lock.files.contains_key(*path)
        };
        let gone: Vec<&String> = self.lock.files.keys().filter(is_gone).collect();
        if gone.is_empty() {
            return vec![];
        }
        // a file that was moved is there before the plan
        let is_moved = controllers.iter().any(|it| {
            let path = it.path();
            !self.lock.files.contains_key(&path) && disk::exists(&self.root, &path)
        });
        let remaining: Vec<Written> = controllers
            .iter()
            .filter_map(|controller| self.written_by(plan, &controller.path()))
            .collect();
        let report = |path: &String| match self.text(path) {
            None if is_moved => None,
            None => Some(self.deleted(path)),
            Some(text) => {
                let written = Written::read(text)?;
                let finalizer = written.finalizer()?;
                let mut remaining = remaining.iter();
                let is_same = |it: &Written| {
                    it.finalizer() == Some(finalizer) && it.resource() == written.resource()
                };
                (!remaining.any(is_same))
                    .then(|| self.removed_controller(path, finalizer, &written))
            }
        };
        gone.into_iter().filter_map(report).collect()
    }

    /// The controller in a file, as the plan writes it.
    fn written_by(&self, plan: &Plan, path: &str) -> Option<Written> {
        let mut changes = plan.changes.iter();
        let change = changes.find(|change| change.path == path);
        let text = change.and_then(|change| change.after.clone());
        Written::read(text.or_else(|| self.text(path))?)
    }

    fn text(&self, path: &str) -> Option<String> {
        disk::read(&self.root, path).ok().flatten()
    }

    fn removed_controller(&self, path: &str, finalizer: &str, written: &Written) -> Report {
        // what the runtime of another version of this operator takes for its own
        let name = &self.state.state.name;
        let is_derived =
            finalizer.ends_with(&format!("/{name}")) || finalizer.starts_with(&format!("{name}/"));
        let first = match written.interface.cleanup {
            None => "first delete the objects with the operator that still has this controller",
            Some(_) if is_derived => {
                "first deploy the operator with this controller but without its FINALIZER, and with the permission to patch the objects: it then removes the finalizer"
            }
            Some(_) => "first deploy the operator with a controller that removes the finalizer",
        };
        self.finalizer_report(
            Severity::Warning,
            format!(
                "the controller in {path} is removed; objects that have its finalizer {finalizer} cannot be deleted until somebody removes it"
            ),
            written.location(path),
            format!("{first}; or remove it from `metadata.finalizers` of all objects yourself"),
        )
    }

    fn deleted(&self, path: &str) -> Report {
        self.finalizer_report(
            Severity::Note,
            format!(
                "{path} was deleted and its controller is removed; if it had a FINALIZER, objects that have it cannot be deleted until somebody removes it"
            ),
            None,
            "version control shows whether it had one; if so, remove it from `metadata.finalizers` of all objects".into(),
        )
    }

    /// A finalizer that is derived from the former name.
    fn kept_finalizer(
        &self,
        controller: &Described<'_>,
        renamed: &PackageRename,
    ) -> Option<Report> {
        let path = controller.path();
        let written = Written::read(self.text(&path)?)?;
        let finalizer = written.finalizer()?;
        (finalizer == controller.finalizer(&renamed.before)).then(|| {
            self.finalizer_report(
                Severity::Note,
                format!(
                    "FINALIZER in {path} contains the former name of the operator; leave it as it is, because objects have this finalizer"
                ),
                written.location(&path),
                format!(
                    "with another FINALIZER, such as {}, the operator no longer removes {finalizer}, and the objects that have it cannot be deleted",
                    controller.finalizer(&renamed.after)
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
            subject: Some(self.state.state.name.clone()),
            message,
            location,
            instead: None,
            help: Some(help),
        }
    }
}
