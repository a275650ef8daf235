//! Builds the operator with cargo, whose output goes to standard error.

use std::{
    env,
    ffi::OsString,
    io::{self, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use cargo_metadata::{Message, Metadata, MetadataCommand, Package};
use tokio::{
    io::AsyncReadExt,
    process::{Child, Command},
    task::JoinHandle,
};

use super::DevError;
use crate::disk::group;

/// The name of the target that serves the API.
const SERVER: &str = "dev";

/// The parameters of the build.
#[derive(Clone, Debug)]
pub struct Build {
    root: PathBuf,
    /// The name of the binary.
    binary: String,
    release: bool,
    /// Cargo's target folder.
    pub target: PathBuf,
    /// The folders of the operator's package and of the packages that it depends on.
    pub packages: Vec<PathBuf>,
}

/// The result of a build.
#[derive(Clone, Debug)]
pub struct Built {
    pub program: PathBuf,
    /// The API server.
    pub server: PathBuf,
    /// The duration of the build.
    pub took: Duration,
}

/// A running cargo, in its own process group. It is killed when this is dropped.
pub struct Building {
    child: Child,
    output: JoinHandle<Vec<u8>>,
    binary: String,
    began: Instant,
}

impl Build {
    /// Determines what cargo must build.
    pub fn of(root: &Path, binary: Option<&str>, release: bool) -> Result<Self, DevError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .exec()?;
        let package = package(&metadata, &root)
            .ok_or_else(|| DevError::NoBinary(root.display().to_string()))?;
        let binary = match binary {
            Some(name) => name.to_owned(),
            None => only_binary(package)?,
        };
        let mut targets = package.targets.iter();
        if !targets.any(|target| target.is_test() && target.name == SERVER) {
            return Err(DevError::NoServer(package.name.to_string()));
        }
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

    /// Starts cargo. The first build shows its progress; later builds show only problems.
    pub fn start(&self, is_first: bool) -> io::Result<Building> {
        let mut command = Command::new(cargo());
        command
            .args(["build", "--message-format=json-render-diagnostics", "--bin"])
            .arg(&self.binary)
            // with the dependencies of the tests, which are compiled already after `cargo test`
            .args(["--test", SERVER])
            .args(self.release.then_some("--release"))
            .args((!is_first).then_some("--quiet"))
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = group::own_group(&mut command).spawn()?;
        let mut output = child.stdout.take();
        Ok(Building {
            child,
            output: tokio::spawn(async move {
                let mut text = vec![];
                if let Some(output) = &mut output {
                    // the messages so far may be sufficient
                    let _cut = output.read_to_end(&mut text).await;
                }
                text
            }),
            binary: self.binary.clone(),
            began: Instant::now(),
        })
    }
}

impl Building {
    /// Waits for cargo. If cargo did not build the binary, returns the reason, unless cargo has already printed it.
    pub async fn built(&mut self) -> Result<Built, String> {
        let status = self.child.wait().await.map_err(|error| error.to_string())?;
        let output = (&mut self.output).await.unwrap_or_default();
        if !status.success() {
            return Err(String::new());
        }
        let messages =
            Message::parse_stream(BufReader::new(output.as_slice())).filter_map(Result::ok);
        let (mut program, mut server) = (None, None);
        for message in messages {
            let Message::CompilerArtifact(made) = message else {
                continue;
            };
            let name = made.target.name.as_str();
            if made.target.is_bin() && name == self.binary {
                program = made.executable.or(program);
            } else if made.target.is_test() && name == SERVER {
                server = made.executable.or(server);
            }
        }
        Ok(Built {
            program: program.ok_or("cargo names no binary")?.into(),
            server: server.ok_or("cargo names no API server")?.into(),
            took: self.began.elapsed(),
        })
    }

    /// Terminates cargo and the compilers that it has started.
    pub async fn stop(mut self) {
        group::terminate(&mut self.child).await;
    }
}

/// The package of the project.
fn package<'a>(metadata: &'a Metadata, root: &Path) -> Option<&'a Package> {
    let of_root = |it: &&Package| it.manifest_path.parent().is_some_and(|it| it == root);
    let package = metadata.packages.iter().find(of_root);
    package.or(metadata.root_package())
}

fn only_binary(package: &Package) -> Result<String, DevError> {
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

/// The cargo that runs this program, if there is one.
fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
