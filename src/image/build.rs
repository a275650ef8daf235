//! Builds the binary for a platform with cargo, whose output goes to standard error, and lists the packages in it.

#![allow(clippy::disallowed_methods, reason = "cargo is a program")]

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cargo_metadata::{DependencyKind, Message, Metadata, MetadataCommand, PackageId};

use super::{
    BuildError, Created, Platform, Sbom, SbomPackage, elf,
    target::{Linker, Toolchain, cargo_home, linker},
};
use crate::disk::package_in;

/// The description of an operator in its image, from Cargo.toml.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    pub version: String,
    pub text: Option<String>,
    /// The URL of the repository.
    pub source: Option<String>,
    /// An SPDX expression.
    pub license: Option<String>,
}

/// The package of an operator, with all that a build needs.
pub struct Package {
    root: PathBuf,
    pub description: Description,
    /// Cargo's target folder.
    pub target: PathBuf,
    toolchain: Toolchain,
    builds: Vec<(Platform, Linker, Metadata)>,
}

/// The result of a build.
pub struct Built {
    pub platform: Platform,
    pub binary: Vec<u8>,
    pub sbom: Sbom,
}

impl Package {
    /// Reads the package in a folder, and checks that it can be built for the platforms.
    pub fn read(root: &Path, platforms: &[Platform]) -> Result<Self, BuildError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let linkers: Vec<Linker> = platforms
            .iter()
            .map(|platform| linker(&root, *platform))
            .collect::<Result<_, _>>()?;
        let mut builds = vec![];
        for (platform, linker) in platforms.iter().zip(linkers) {
            let metadata = MetadataCommand::new()
                .manifest_path(root.join("Cargo.toml"))
                .current_dir(&root)
                .other_options(
                    ["--locked", "--filter-platform", platform.target()].map(String::from),
                )
                .exec()?;
            builds.push((*platform, linker, metadata));
        }
        let (_, _, metadata) = builds.first().expect("an image has a platform");
        let package = package_in(metadata, &root);
        let package = package.ok_or_else(|| BuildError::NoPackage(root.clone()))?;
        Ok(Self {
            description: Description {
                name: package.name.to_string(),
                version: package.version.to_string(),
                text: package.description.clone(),
                source: package.repository.clone(),
                license: package.license.clone(),
            },
            target: metadata.target_directory.clone().into(),
            toolchain: Toolchain::of(&root)?,
            root,
            builds,
        })
    }

    /// The prefixes of paths that differ between machines, each with its replacement in the binary. If several match, rustc uses the last.
    fn remapped(&self, metadata: &Metadata) -> Vec<(PathBuf, String)> {
        let root: PathBuf = metadata.workspace_root.clone().into();
        let local = metadata.packages.iter().filter(|it| it.source.is_none());
        let others = local.filter_map(|package| {
            let folder: PathBuf = package.manifest_path.parent()?.into();
            let is_inside = folder.starts_with(&root);
            (!is_inside).then(|| (folder, format!("/{}", package.name)))
        });
        let Toolchain { sources, commit } = &self.toolchain;
        let mut remapped: Vec<(PathBuf, String)> = others.collect();
        remapped.push((root, "/build".into()));
        remapped.push((self.target.clone(), "/target".into()));
        remapped.extend(cargo_home().map(|home| (home, "/cargo".into())));
        remapped.push((sources.clone(), format!("/rustc/{commit}")));
        remapped
    }
}

/// Builds the binary `name` for each platform.
pub fn build(package: &Package, name: &str, created: Created) -> Result<Vec<Built>, BuildError> {
    let builds = package.builds.iter();
    builds
        .map(|(platform, linker, metadata)| {
            let platform = *platform;
            let remapped = package.remapped(metadata);
            let messages = cargo_build(package, name, platform, *linker, &remapped, created)?;
            let artifacts = Artifacts::of(messages, name, platform);
            let path = artifacts.program.ok_or_else(|| BuildError::Cargo {
                name: name.to_owned(),
                target: platform.target(),
                zigbuild: *linker == Linker::Zigbuild,
            })?;
            let binary = match fs::read(&path) {
                Ok(binary) => binary,
                Err(source) => return Err(BuildError::Read { path, source }),
            };
            elf::check(&binary, platform).map_err(|source| BuildError::Binary { path, source })?;
            Ok(Built {
                platform,
                binary,
                sbom: sbom(metadata, &package.root, &artifacts.packages),
            })
        })
        .collect()
}

/// Runs cargo, and returns its messages; none if it failed.
fn cargo_build(
    package: &Package,
    name: &str,
    platform: Platform,
    linker: Linker,
    remapped: &[(PathBuf, String)],
    created: Created,
) -> Result<Vec<Message>, BuildError> {
    let target = platform.target();
    let mut command = Command::new(cargo());
    command
        .arg(match linker {
            Linker::Zigbuild => "zigbuild",
            Linker::Cargo => "build",
        })
        .args(["--release", "--locked", "--bin", name, "--target", target])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(&package.root)
        // read by build scripts and C compilers
        .env("SOURCE_DATE_EPOCH", created.seconds().to_string())
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let strip = "CARGO_PROFILE_RELEASE_STRIP";
    command.env(
        strip,
        env::var_os(strip).unwrap_or_else(|| "symbols".into()),
    );
    let flags: Vec<String> = remapped
        .iter()
        .map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()))
        .collect();
    match flags_of_environment() {
        // the environment has precedence over all settings
        Some(own) => {
            let all: Vec<String> = own.into_iter().chain(flags).collect();
            command.env("CARGO_ENCODED_RUSTFLAGS", all.join(SEPARATOR));
        }
        // these are added to the settings for the target
        None => {
            let flags = serde_json::Value::from(flags);
            command.args([
                "--config".to_owned(),
                format!("target.{target}.rustflags={flags}"),
            ]);
        }
    }
    let output = command.output().map_err(|source| BuildError::Program {
        program: "cargo",
        source,
    })?;
    if !output.status.success() {
        return Ok(vec![]);
    }
    let messages = Message::parse_stream(output.stdout.as_slice());
    Ok(messages.filter_map(Result::ok).collect())
}

/// The separator of the flags in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\u{1f}";

/// The flags of rustc that the user has set in the environment.
fn flags_of_environment() -> Option<Vec<String>> {
    let split = |flags: &str, separator: &str| {
        let flags = flags.split(separator).filter(|flag| !flag.is_empty());
        flags.map(str::to_owned).collect()
    };
    if let Ok(flags) = env::var("CARGO_ENCODED_RUSTFLAGS") {
        return Some(split(&flags, SEPARATOR));
    }
    env::var("RUSTFLAGS").ok().map(|flags| split(&flags, " "))
}

/// The program and the packages that cargo has compiled for a platform.
#[derive(Default)]
struct Artifacts {
    program: Option<PathBuf>,
    /// The packages of the libraries and the program; not those of macros and build scripts, which run on this machine.
    packages: BTreeSet<PackageId>,
}

impl Artifacts {
    fn of(messages: Vec<Message>, name: &str, platform: Platform) -> Self {
        let mut artifacts = Self::default();
        for message in messages {
            let Message::CompilerArtifact(artifact) = message else {
                continue;
            };
            // ".../TARGET/release/..."
            let is_for_platform = artifact.filenames.iter().any(|path| {
                let parts: Vec<&str> = path.iter().collect();
                parts
                    .windows(2)
                    .any(|parts| parts == [platform.target(), "release"])
            });
            if !is_for_platform {
                continue;
            }
            if artifact.target.is_bin() && artifact.target.name == name {
                artifacts.program = artifact.executable.map(Into::into);
            }
            artifacts.packages.insert(artifact.package_id);
        }
        artifacts
    }
}

/// The packages in a binary, as cargo resolved them.
fn sbom(metadata: &Metadata, root: &Path, compiled: &BTreeSet<PackageId>) -> Sbom {
    let mut packages: Vec<&cargo_metadata::Package> = metadata
        .packages
        .iter()
        .filter(|package| compiled.contains(&package.id))
        .collect();
    packages.sort_by_key(|it| (&it.name, &it.version, it.source.as_ref().map(|it| &it.repr)));
    let indices: BTreeMap<&PackageId, usize> = packages
        .iter()
        .enumerate()
        .map(|(index, package)| (&package.id, index))
        .collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let dependencies: BTreeMap<&PackageId, Vec<usize>> = nodes
        .map(|node| {
            let is_normal = |it: &&cargo_metadata::NodeDep| {
                it.dep_kinds
                    .iter()
                    .any(|it| it.kind == DependencyKind::Normal)
            };
            let mut normal: Vec<usize> = node
                .deps
                .iter()
                .filter(is_normal)
                .filter_map(|dependency| indices.get(&dependency.pkg).copied())
                .collect();
            normal.sort_unstable();
            normal.dedup();
            (&node.id, normal)
        })
        .collect();
    let root = package_in(metadata, root).and_then(|root| indices.get(&root.id));
    Sbom {
        root: root.copied().unwrap_or_default(),
        packages: packages
            .iter()
            .map(|package| SbomPackage {
                name: package.name.to_string(),
                version: package.version.to_string(),
                source: package.source.as_ref().map(|it| it.repr.clone()),
                license: package.license.clone(),
                dependencies: dependencies.get(&package.id).cloned().unwrap_or_default(),
            })
            .collect(),
    }
}

/// The cargo that runs this program, if there is one.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
