//! The source of a project's runtime: the one that the user chose, or the one from which this program was installed.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use crate::{
    config::{Config, Runtime, installed_from},
    diagnostic::{Code, Diagnostic, Explain, Severity},
    disk,
    operator::Subject,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The value of `--runtime`. Without a version, revision or path, it means the one from which this program was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuntimeArg {
    Version(Option<String>),
    Git(Option<(String, String)>),
    Path(Option<PathBuf>),
}

impl FromStr for RuntimeArg {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (source, place) = match text.split_once('=') {
            Some((source, place)) => (source, Some(place)),
            None => (text, None),
        };
        match (source, place) {
            ("version", None) => Ok(Self::Version(None)),
            ("version", Some(version)) => {
                Runtime::version(version)?;
                Ok(Self::Version(Some(version.to_owned())))
            }
            ("path", path) => Ok(Self::Path(path.map(PathBuf::from))),
            ("git", None) => Ok(Self::Git(None)),
            ("git", Some(place)) => match place.rsplit_once('#') {
                Some((url, rev)) => {
                    Runtime::git(url, rev)?;
                    Ok(Self::Git(Some((url.to_owned(), rev.to_owned()))))
                }
                None => Err("a git repository needs a revision: git=URL#REV"),
            },
            _ => Err("write `version`, `git`, `git=URL#REV`, `path` or `path=FOLDER`"),
        }
    }
}

/// The reason why the source of the runtime is unknown or cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    #[error("it is unknown from which {0} this program was installed")]
    Unknown(&'static str),
    #[error("the folder `{0}` has no `crates/operator-runtime`")]
    NoRuntime(String),
    #[error(
        "the runtime in `{folder}` has the version {found}, but this tool has the version {VERSION}"
    )]
    OtherVersion { folder: String, found: String },
}

impl Explain for OriginError {
    fn help(&self) -> String {
        match self {
            Self::Unknown("repository") => "name it: `--runtime git=URL#REV`",
            Self::Unknown(_) => "name a checkout of the tool's repository: `--runtime path=FOLDER`",
            Self::NoRuntime(_) => "name a checkout of the tool's repository",
            Self::OtherVersion { .. } => {
                "install the tool from this folder again (`cargo install --path FOLDER`), or choose another source with `--runtime`"
            }
        }
        .into()
    }
}

/// The source from which this program was installed, or the checkout in which it was built, with an absolute path. `None` if unknown.
pub fn of_program() -> Option<Runtime> {
    let (program, record) = disk::install_record();
    record
        .and_then(|record| installed_from(&record, &program, VERSION))
        .or_else(|| disk::checkout_of_program().map(|path| Runtime::Path(slashed(&path))))
}

/// The source of the runtime for a new project in `root`, which need not exist yet.
pub fn runtime(arg: Option<RuntimeArg>, root: &Path) -> Result<Runtime, OriginError> {
    let chosen = match arg {
        Some(RuntimeArg::Version(version)) => {
            Runtime::Version(version.unwrap_or_else(|| VERSION.into()))
        }
        Some(RuntimeArg::Git(Some((url, rev)))) => Runtime::Git { url, rev },
        Some(RuntimeArg::Path(Some(path))) => Runtime::Path(slashed(&path)),
        Some(RuntimeArg::Git(None)) => of_program()
            .filter(|it| matches!(it, Runtime::Git { .. }))
            .ok_or(OriginError::Unknown("repository"))?,
        Some(RuntimeArg::Path(None)) => of_program()
            .filter(|it| matches!(it, Runtime::Path(_)))
            .ok_or(OriginError::Unknown("folder"))?,
        None => of_program().unwrap_or_else(|| Runtime::Version(VERSION.into())),
    };
    let Runtime::Path(path) = &chosen else {
        return Ok(chosen);
    };
    let folder = || disk::shown(Path::new(path));
    let found =
        disk::runtime_version(Path::new(path)).ok_or_else(|| OriginError::NoRuntime(folder()))?;
    if found != VERSION {
        let folder = folder();
        return Err(OriginError::OtherVersion { folder, found });
    }
    Ok(Runtime::Path(slashed(&disk::relative(
        root,
        Path::new(path),
    ))))
}

/// A path as manifests write it on all systems.
pub fn slashed(path: &Path) -> String {
    path.display().to_string().replace('\\', "/")
}

/// The note about a project that only this machine can build.
pub fn local_runtime(config: &Config) -> Option<(Subject, Diagnostic)> {
    let diagnostic = || {
        Diagnostic {
        code: Code::LocalRuntime,
        severity: Severity::Note,
        pointer: String::new(),
        message: "only this machine has the runtime that operator.toml names".into(),
        instead: Some("others, CI and `docker build` cannot build the project".into()),
        help: Some(
            "write `runtime = { git = \"...\", rev = \"...\" }` or `{ version = \"...\" }` in operator.toml, then `cargo operator regenerate`"
                .into(),
        ),
    }
    };
    config
        .runtime
        .is_local()
        .then(|| (Subject::Operator, diagnostic()))
}

/// Lets cargo add to the lock file what only a registry or a repository knows: the checksums of the runtime's crates.
pub fn complete_lock(root: &Path, runtime: &Runtime) -> Option<String> {
    if let Runtime::Path(_) = runtime {
        return None;
    }
    let error = disk::complete_lock(root).err()?;
    Some(format!(
        "note: Cargo.lock lacks the runtime, because cargo failed: {error}\n\
         help: run `cargo update --workspace` in the project, and commit Cargo.lock"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read() {
        let read = |text: &str| text.parse::<RuntimeArg>();
        assert_eq!(read("version"), Ok(RuntimeArg::Version(None)));
        let version = Some("0.1.2".to_owned());
        assert_eq!(read("version=0.1.2"), Ok(RuntimeArg::Version(version)));
        let path = Some(PathBuf::from("../a=b"));
        assert_eq!(read("path=../a=b"), Ok(RuntimeArg::Path(path)));
        let git = Some(("https://example.com/x".to_owned(), "v1".to_owned()));
        assert_eq!(
            read("git=https://example.com/x#v1"),
            Ok(RuntimeArg::Git(git))
        );
        for wrong in [
            "",
            "vendored",
            "version=banana",
            "git=https://example.com/x",
            "git=git@example.com:me/x.git#v1",
            "git=https://me:secret@example.com/x#v1",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
