//! Makes a new project in a folder of a cargo workspace a member of it.

use std::path::Path;

use super::{kind_error::KindError, origin::slashed};
use crate::{
    config::{inherited, is_workspace_of},
    diagnostic::{Exit, Failure},
    disk::{self, Workspace},
    plan::Plan,
    terminal::Terminal,
};

/// The version of Kubernetes whose types a project uses, as a feature of k8s-openapi; it is in `templates/Cargo.toml.j2`.
pub const KUBERNETES: &str = "v1_33";

/// The workspace above a project that is to be created. Checkouts of this tool are never joined.
pub fn enclosing(project: &Path) -> Result<Option<Workspace>, KindError> {
    let mut above = disk::manifests_above(project).into_iter();
    let is_root = |it: &Workspace| is_workspace_of(&it.manifest, &path_in(it, project));
    let Some(workspace) = above.find(is_root) else {
        return Ok(None);
    };
    let mut versions = disk::kubernetes_versions(&workspace).into_iter();
    match versions.find(|(_, feature)| feature != KUBERNETES) {
        Some((member, feature)) => Err(KindError::Kubernetes { member, feature }),
        None => Ok(Some(workspace)),
    }
}

/// The path of a project in its workspace.
pub fn path_in(workspace: &Workspace, project: &Path) -> String {
    slashed(&disk::relative(&workspace.root, project))
}

/// The path from a project to the root of its workspace, for `operator.toml`.
pub fn path_to(workspace: &Workspace, project: &Path) -> String {
    slashed(&disk::relative(project, &workspace.root))
}

/// Lets the project's manifest inherit the keys that the workspace has. A later merge keeps this, like an edit of the user.
pub fn inherit(plan: &mut Plan, workspace: &Workspace) {
    let manifests = plan.changes.iter_mut().filter(|it| it.path == "Cargo.toml");
    for text in manifests.filter_map(|it| it.after.as_mut()) {
        *text = inherited(text, &workspace.manifest);
    }
}

/// Makes the project a member of the workspace while `write` writes its files; if that fails, the workspace stays as it was.
pub fn join(
    workspace: &Workspace,
    project: &Path,
    name: &str,
    write: impl FnOnce() -> Result<Exit, Failure>,
) -> Result<Exit, Failure> {
    let written = disk::join_workspace(project, name)
        .map_err(Failure::from)
        .and_then(|()| write());
    if !matches!(written, Ok(Exit::Clean)) {
        disk::leave_workspace(workspace)?;
    }
    written
}

/// Prints what cargo changes outside of the project, and what belongs to the root of the workspace.
pub fn report(workspace: &Workspace, project: &Path, name: &str, terminal: &Terminal) {
    let manifest = disk::shown(&workspace.root.join("Cargo.toml"));
    let path = path_in(workspace, project);
    terminal.status(&format!(
        "note: `{path}` becomes a member of the workspace in {manifest}; Cargo.lock, profiles, deny.toml and .github/ are those of the workspace\n\
         help: build it once and commit Cargo.lock; in its CI, run `cargo test --locked --package {name}` and `cargo operator regenerate --check --manifest-path {path}`\n\
         help: build the image in the workspace: `docker build --file {path}/Dockerfile .`\n\
         help: for a project that is no member, pass --no-workspace"
    ));
}
