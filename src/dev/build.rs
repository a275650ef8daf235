//! Builds the operator with cargo, whose own words go to standard error.

use std::{
    env,
    ffi::OsString,
    io::BufReader,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cargo_metadata::{Message, Metadata, MetadataCommand};

use super::DevError;

/// How the operator is built.
#[derive(Clone, Debug)]
pub struct Build {
    root: PathBuf,
    /// The binary's name.
    binary: String,
    release: bool,
    /// Where cargo puts what it makes.
    pub target: PathBuf,
    /// The folders of the packages whose code the operator is made of, its own first.
    pub packages: Vec<PathBuf>,
}

/// What cargo has made.
#[derive(Clone, Debug)]
pub struct Built {
    pub program: PathBuf,
    /// Whether it was there already.
    pub is_fresh: bool,
}

impl Build {
    /// Finds out what cargo is to build.
    pub fn of(root: &Path, binary: Option<&str>, release: bool) -> Result<Self, DevError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()?;
        let binary = match binary {
            Some(name) => name.to_owned(),
            None => only_binary(&metadata, &root)?,
        };
        let local = metadata.packages.iter().filter(|it| it.source.is_none());
        let folder =
            |manifest: &cargo_metadata::camino::Utf8Path| manifest.parent().map(Into::into);
        let mut packages: Vec<PathBuf> = local.filter_map(|it| folder(&it.manifest_path)).collect();
        packages.sort_by_key(|folder| folder != &root);
        Ok(Self {
            target: metadata.target_directory.into(),
            root,
            binary,
            release,
            packages,
        })
    }

    /// The command, of which [`built`] reads the output. The first time cargo shows its progress; later only what is wrong.
    pub fn command(&self, is_first: bool) -> Command {
        let mut command = Command::new(cargo());
        command
            .args(["build", "--message-format=json-render-diagnostics", "--bin"])
            .arg(&self.binary)
            .args(self.release.then_some("--release"))
            .args((!is_first).then_some("--quiet"))
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    /// Reads what cargo said; `None` where it did not make the binary.
    pub fn built(&self, output: &[u8]) -> Option<Built> {
        let messages = Message::parse_stream(BufReader::new(output)).filter_map(Result::ok);
        messages
            .filter_map(|message| match message {
                Message::CompilerArtifact(made) if made.target.name == self.binary => Some(Built {
                    program: made.executable?.into(),
                    is_fresh: made.fresh,
                }),
                _ => None,
            })
            .last()
    }
}

fn only_binary(metadata: &Metadata, root: &Path) -> Result<String, DevError> {
    let none = || DevError::NoBinary(root.display().to_string());
    let of_root =
        |it: &&cargo_metadata::Package| it.manifest_path.parent().is_some_and(|it| it == root);
    let package = metadata.packages.iter().find(of_root);
    let package = package.or(metadata.root_package()).ok_or_else(none)?;
    if let Some(name) = &package.default_run {
        return Ok(name.clone());
    }
    let binaries = package.targets.iter().filter(|target| target.is_bin());
    let names: Vec<&str> = binaries.map(|target| target.name.as_str()).collect();
    let package = package.name.to_string();
    match names.as_slice() {
        [] => Err(DevError::NoBinary(package)),
        [name] => Ok((*name).to_owned()),
        _ => Err(DevError::Binaries {
            package,
            names: names.join(", "),
        }),
    }
}

/// The cargo that runs this program, if one does.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
