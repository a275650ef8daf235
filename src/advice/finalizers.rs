//! Reports finalizers that remain on objects: of a controller that leaves the project, or of a project that is renamed.

use super::{
    former::{GroupKind, kind_after},
    stale_paths::PackageRename,
};
use crate::{
    diagnostic::{Code, Location, Report, Severity},
    disk,
    operator::{Controller as Described, Operator},
    plan::{LOCK, Lock, Plan},
    rust::module_name,
    scaffold::{Cleanup, Interface, Scaffold},
    user_code::{self, Controller},
    workspace::open::OpenProject,
};

/// The controller that a file implements.
struct Written {
    path: String,
    text: String,
    interface: &'static Interface,
    controller: Controller,
}

impl Written {
    fn read(path: &str, text: String) -> Option<Self> {
        let (interface, controller) = Scaffold::all()
            .map(|scaffold| &scaffold.interface)
            .find_map(|interface| {
                let controller = user_code::controller(&text, &interface.wanted)?;
                Some((interface, controller))
            })?;
        Some(Self {
            path: path.to_owned(),
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

    /// The path of the type that it reconciles.
    fn resource(&self) -> &[String] {
        let resource = self.controller.resource.as_ref();
        resource.map_or(&[], |resource| &resource.path)
    }

    /// Whether another controller has the same finalizer; `None` if one of them is not a literal.
    fn shares_finalizer(&self, other: &Self) -> Option<bool> {
        let value = |it: &Self| Some(it.controller.finalizer.as_ref()?.value.clone());
        match (value(self), value(other)) {
            (Some(Some(finalizer)), Some(Some(other))) => Some(finalizer == other),
            (Some(_), Some(_)) => None,
            _ => Some(false),
        }
    }

    /// Whether another controller reconciles the same kind; `None` if only the names of the types are known to be equal.
    fn shares_resource(
        &self,
        kind: Option<&GroupKind>,
        other: &Self,
        of_other: Option<&GroupKind>,
    ) -> Option<bool> {
        match (kind, of_other) {
            (Some(kind), Some(other)) => Some(kind == other),
            _ if self.resource() == other.resource() => Some(true),
            _ if self.resource().last() == other.resource().last() => None,
            _ => Some(false),
        }
    }

    fn location(&self) -> Option<Location> {
        let name = &self.controller.finalizer.as_ref()?.part.name;
        Some(Location::new(&self.path, 1, &self.text, name.clone()))
    }
}

impl OpenProject {
    /// The finalizers that no controller removes any more after the plan, and those that the former name of the project explains.
    pub fn finalizers(&self, plan: &Plan) -> Vec<Report> {
        // the names were resolved for the plan
        let Ok(resolved) = self.operator() else {
            return vec![];
        };
        let renamed = PackageRename::of(plan);
        let operator = match &renamed {
            Some(renamed) => &renamed.before,
            None => &self.config.name,
        };
        let mut reports = self.abandoned_finalizers(plan, &resolved, operator);
        if let Some(renamed) = &renamed {
            let kept = |controller: &Described| self.kept_finalizer(controller, renamed);
            reports.extend(resolved.controllers.iter().filter_map(kept));
        }
        reports
    }

    /// Those of controllers that leave the project; `operator` is its name before the plan.
    fn abandoned_finalizers(
        &self,
        plan: &Plan,
        resolved: &Operator<'_>,
        operator: &str,
    ) -> Vec<Report> {
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
        let remaining: Vec<Written> = resolved
            .controllers
            .iter()
            .filter_map(|controller| self.written_by(plan, &controller.path()))
            .collect();
        let missing = gone.iter().filter(|path| !disk::exists(&self.root, path));
        let deleted = self.not_moved(missing.copied().collect(), &remaining, operator);
        let report = |path: &String| {
            let Some(text) = self.text(path) else {
                return deleted.contains(&path).then(|| self.deleted(path));
            };
            let written = Written::read(path, text)?;
            let finalizer = written.finalizer()?;
            let kind = self.former_kind(written.resource());
            let mut unknown = None;
            for other in &remaining {
                let of_other = kind_after(resolved, other.resource());
                let resource = written.shares_resource(kind.as_ref(), other, of_other.as_ref());
                match (written.shares_finalizer(other), resource) {
                    (Some(false), _) | (_, Some(false)) => {}
                    (Some(true), Some(true)) => return None,
                    _ => unknown = Some(other),
                }
            }
            let own = self.former_finalizer(operator, stem(path), kind.as_ref());
            let is_own = own.as_deref() == Some(finalizer);
            Some(self.removed_controller(&written, finalizer, is_own, unknown))
        };
        gone.into_iter().filter_map(report).collect()
    }

    /// Those of the `missing` files of controllers that no new controller explains whose file was there before the plan: one that has the
    /// finalizer of the missing controller, or reconciles the kind that gives it its name. Each explains one.
    fn not_moved<'a>(
        &self,
        mut missing: Vec<&'a String>,
        remaining: &[Written],
        operator: &str,
    ) -> Vec<&'a String> {
        let is_new = |written: &&Written| {
            !self.lock.files.contains_key(&written.path) && disk::exists(&self.root, &written.path)
        };
        let mut moved: Vec<&Written> = remaining.iter().filter(is_new).collect();
        let has_finalizer = |written: &Written, path: &str| {
            let former = self.former_finalizer(operator, stem(path), None);
            former.is_some() && written.finalizer() == former.as_deref()
        };
        let has_kind = |written: &Written, path: &str| {
            let kind = written.resource().last();
            kind.is_some_and(|kind| module_name(kind) == stem(path))
        };
        explain(&mut missing, &mut moved, has_finalizer);
        explain(&mut missing, &mut moved, has_kind);
        missing
    }

    /// The controller in a file, as the plan writes it.
    fn written_by(&self, plan: &Plan, path: &str) -> Option<Written> {
        let change = plan.changes.iter().find(|change| change.path == path);
        let text = change.and_then(|change| change.after.clone());
        Written::read(path, text.or_else(|| self.text(path))?)
    }

    fn text(&self, path: &str) -> Option<String> {
        disk::read(&self.root, path).ok().flatten()
    }

    /// `is_own`: whether the runtime takes the finalizer for its own. `unknown`: a controller that may have the same finalizer.
    fn removed_controller(
        &self,
        written: &Written,
        finalizer: &str,
        is_own: bool,
        unknown: Option<&Written>,
    ) -> Report {
        let path = &written.path;
        let first = match written.interface.cleanup {
            Cleanup::Required => {
                "first delete the objects with the operator that still has this controller"
            }
            _ if is_own => {
                "first deploy the operator with this controller but without its FINALIZER, and with the permission to patch the objects: it then removes the finalizer"
            }
            _ => "first deploy the operator with a controller that removes the finalizer",
        };
        let (severity, message) = match unknown {
            None => (
                Severity::Warning,
                format!(
                    "the controller in {path} is removed; objects that have its finalizer {finalizer} cannot be deleted until somebody removes it"
                ),
            ),
            Some(other) => (
                Severity::Note,
                format!(
                    "the controller in {path} is removed; unless the controller in {} has the same finalizer and kind, objects that have the finalizer {finalizer} cannot be deleted until somebody removes it",
                    other.path
                ),
            ),
        };
        let help =
            format!("{first}; or remove it from `metadata.finalizers` of all objects yourself");
        self.finalizer_report(severity, message, written.location(), help)
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
    fn kept_finalizer(&self, controller: &Described, renamed: &PackageRename) -> Option<Report> {
        let path = controller.path();
        let written = Written::read(&path, self.text(&path)?)?;
        let finalizer = written.finalizer()?;
        (finalizer == controller.finalizer(&renamed.before)).then(|| {
            self.finalizer_report(
                Severity::Note,
                format!(
                    "FINALIZER in {path} contains the former name of the operator; leave it as it is, because objects have this finalizer"
                ),
                written.location(),
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
            subject: Some(self.config.name.clone()),
            message,
            location,
            instead: None,
            help: Some(help),
        }
    }
}

/// The finalizer of the controller in a file, if it is a literal.
pub fn finalizer_of(path: &str, text: String) -> Option<String> {
    Written::read(path, text)?.controller.finalizer?.value
}

/// Takes out the pairs of a missing file and a moved one that explains it.
fn explain(
    missing: &mut Vec<&String>,
    moved: &mut Vec<&Written>,
    explains: impl Fn(&Written, &str) -> bool,
) {
    moved.retain(|written| {
        let index = missing.iter().position(|path| explains(written, path));
        index.map(|index| missing.remove(index)).is_none()
    });
}

/// The module of a controller's file.
fn stem(path: &str) -> &str {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".rs").unwrap_or(file)
}
