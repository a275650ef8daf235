//! The cargo workspace around a project. Its Cargo.toml is the only file outside of a project that a command changes, and cargo does that.

use std::{
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use cargo_metadata::{Metadata, MetadataCommand, Package};

use super::{
    device::Device,
    error::DiskError,
    install::{real, runtime_version, text_in},
    program::cargo,
    root::Root,
};

/// The root of a workspace, and its manifest.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub root: PathBuf,
    pub manifest: String,
}

/// The manifests of the folders above a project, the nearest first, without those of checkouts of this tool.
pub fn manifests_above(project: &Path) -> Vec<Workspace> {
    let project = real(project);
    let folders = project
        .ancestors()
        .skip(1)
        .filter(|folder| runtime_version(folder).is_none());
    let read = |root: &Path| {
        let manifest = text_in(root, "Cargo.toml")?;
        let root = root.to_owned();
        Some(Workspace { root, manifest })
    };
    folders.filter_map(read).collect()
}

/// Lets cargo add a package to the members of the workspace above its folder. The package remains to be written.
pub fn join_workspace(folder: &Path, name: &str) -> Result<(), DiskError> {
    let folder = real(folder);
    // cargo would write through a link of a manifest as if its target were relative to the current folder
    let mut manifests = folder.ancestors().skip(1).map(|it| it.join("Cargo.toml"));
    if let Some(link) = manifests.find(|it| it.is_symlink()) {
        return Err(DiskError::Join(format!("{} is a link", link.display())));
    }
    // if joining fails, an empty folder must not stay: it is an error of a workspace whose `members` match it
    let created = Root::open(&folder)?.create()?;
    added_by_cargo(&folder, name).inspect_err(|_| Root::remove_created(&created))
}

/// Runs `cargo init`, checks the workspace, and removes the created files again.
fn added_by_cargo(folder: &Path, name: &str) -> Result<(), DiskError> {
    let output = cargo()
        .args(["init", "--vcs", "none", "--quiet", "--name", name])
        .arg(folder)
        .stdout(Stdio::null())
        .output();
    let output = output.map_err(|error| DiskError::Join(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let text = text.trim().trim_start_matches("error: ");
        return Err(DiskError::Join(text.into()));
    }
    // `cargo init` also succeeds if the workspace becomes invalid, for example because another member has the name
    let built = MetadataCommand::new()
        .manifest_path(folder.join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec();
    // `cargo init` is run for the entry in `members`; its files are not needed
    let root = Root::open(folder)?;
    let removed = ["Cargo.toml", "src/main.rs"]
        .map(|path| root.remove_file(Path::new(path)))
        .into_iter()
        .collect::<io::Result<()>>();
    removed
        .and_then(|()| root.remove_folder(Path::new("src")))
        .map_err(DiskError::at(folder))?;
    match built {
        Ok(_) => Ok(()),
        Err(cargo_metadata::Error::CargoMetadata { stderr }) => Err(DiskError::Join(
            stderr.trim().trim_start_matches("error: ").into(),
        )),
        Err(error) => Err(DiskError::Join(error.to_string())),
    }
}

/// Reverts [`join_workspace`].
pub fn leave_workspace(workspace: &Workspace) -> Result<(), DiskError> {
    let root = Root::open(&workspace.root)?;
    let path = root.target(Path::new("Cargo.toml"))?;
    let draft = path.with_file_name(".cargo-operator-Cargo.toml");
    let permissions = root.metadata(&path)?.map(|it| it.permissions());
    // a command that was killed may have left it
    let _ = root.remove_file(&draft);
    root.write(&draft, workspace.manifest.as_bytes(), permissions.as_ref())
        .and_then(|()| root.rename(&draft, &path))
        .map_err(DiskError::at(&root.join(path)))
}

/// The package of a project, which may be a member of a workspace.
pub fn package_in<'a>(metadata: &'a Metadata, project: &Path) -> Option<&'a Package> {
    let project = project.canonicalize().ok()?;
    let is_project = |package: &&Package| {
        let folder = package.manifest_path.parent();
        package.source.is_none()
            && folder
                .is_some_and(|it| it.as_std_path().canonicalize().ok().as_ref() == Some(&project))
    };
    metadata.packages.iter().find(is_project)
}

/// The features `v1_*` of k8s-openapi that members of a workspace use, each with the name of the member; empty without cargo.
pub fn kubernetes_versions(workspace: &Workspace) -> Vec<(String, String)> {
    let metadata = MetadataCommand::new()
        .manifest_path(workspace.root.join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec();
    let packages = metadata.map_or_else(|_| vec![], |it| it.packages);
    let mut versions = vec![];
    for package in packages {
        let dependencies = package.dependencies.iter();
        for dependency in dependencies.filter(|it| it.name == "k8s-openapi") {
            let of_version = |it: &&String| {
                it.starts_with("v1_") || matches!(it.as_str(), "earliest" | "latest")
            };
            let features = dependency.features.iter().filter(of_version);
            versions.extend(features.map(|feature| (package.name.to_string(), feature.clone())));
        }
    }
    versions
}
