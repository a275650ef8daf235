//! The controllers before a plan, as the files of the project still describe them: the names of their finalizers, and the kinds of their types.

use crate::{
    crd, disk,
    operator::{Operator, ResourceType},
    render::CRDS,
    workspace::open::OpenProject,
};

/// A group and the name of a kind in it.
pub type GroupKind = (String, String);

impl OpenProject {
    /// The finalizer that the runtime takes for its own in the controller of a module, before a plan: that of its name, or, if it has none,
    /// that of the group of its kind.
    pub fn former_finalizer(
        &self,
        operator: &str,
        module: &str,
        kind: Option<&GroupKind>,
    ) -> Option<String> {
        let registry = disk::read(&self.root, "src/controllers/mod.rs").ok()??;
        let registry: String = registry.split_whitespace().collect();
        if registry.contains(&format!("({module}::setup,")) {
            let (group, _) = kind?;
            return Some(format!("{group}/{operator}"));
        }
        let (before, _) = registry.split_once(&format!("\",{module}::setup,"))?;
        let name = before.rsplit('"').next()?;
        Some(format!("{operator}/{name}"))
    }

    /// The kind that a type had before a plan, by the path of the type. `None` if several kinds have its name.
    pub fn former_kind(&self, path: &[String]) -> Option<GroupKind> {
        match path {
            [_, api, _, _, name] if api == "api" && path[0] != "k8s_openapi" => {
                let mut kinds = self
                    .lock
                    .files
                    .keys()
                    .filter(|path| path.starts_with(CRDS))
                    .filter_map(|path| {
                        let text = disk::read(&self.root, path).ok()??;
                        crd::read(path, &text).ok()
                    })
                    .flatten()
                    .filter(|api| api.names.kind == *name);
                let api = kinds.next()?;
                kinds
                    .next()
                    .is_none()
                    .then_some((api.group, api.names.kind))
            }
            _ => kind_after(&self.operator().ok()?, path),
        }
    }
}

/// The kind that a type has after a plan.
pub fn kind_after(operator: &Operator<'_>, path: &[String]) -> Option<GroupKind> {
    let ResourceType { group, kind, .. } = operator.kind_of_type(path)?;
    Some((group, kind))
}
