//! Files, folders and standard input: the only module that reads or writes them. It decides nothing.

#![allow(clippy::disallowed_methods, reason = "io has its place here")]

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, Read, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    string::FromUtf8Error,
    thread,
};

mod scratch;

pub use scratch::Scratch;

use crate::plan::{Ours, Plan};

/// A failed read or write.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("{path} can't be read: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} can't be written: {source}")]
    Write { path: String, source: io::Error },
    #[error("standard output can't be written: {0}")]
    Output(io::Error),
    #[error("{0} is a symbolic link to nothing")]
    Dangling(String),
    #[error("{0} does not exist")]
    Missing(String),
    #[error("{0}:{1}: this is not UTF-8 text")]
    Text(String, usize),
    #[error("there is no file *.yaml, *.yml or *.json in {0}")]
    Empty(String),
    #[error("{0} changed while the command was at work")]
    Changed(String),
    #[error("{0} exists already and is not empty")]
    Taken(String),
    #[error("there is no project here: no operator.toml in {0} or above it")]
    NoProject(String),
}

impl DiskError {
    /// What the user can do.
    pub fn help(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the path and its permissions",
            Self::Write { .. } => {
                "nothing was changed; make the folder writable, or free some space, and try again"
            }
            Self::Output(_) => {
                "free some space, or name a folder with --out where the command has it"
            }
            Self::Dangling(_) => "remove the link, or make what it points to",
            Self::Missing(_) => "check the path",
            Self::Text(..) => "convert the file to UTF-8",
            Self::Empty(_) => "name a folder with CustomResourceDefinitions, or a file",
            Self::Changed(_) => "nothing was written; try again",
            Self::Taken(_) => {
                "choose another folder, or add to that project with `cargo operator add-crd`"
            }
            Self::NoProject(_) => {
                "make one with `cargo operator init DIR`, or name it with --manifest-path"
            }
        }
    }
}

/// A file to read definitions from.
pub struct Input {
    /// As the user named it, `-` for standard input.
    pub path: String,
    /// Whether a definition must be in it; not so for a file that was found in a folder.
    pub named: bool,
}

/// Files, the YAML and JSON files of folders and those below them, and `-`, in the order given; in folders by name.
pub fn inputs(paths: &[String]) -> Result<Vec<Input>, DiskError> {
    let mut found = vec![];
    for path in paths {
        if path != "-" && Path::new(path).is_dir() {
            let mut files = vec![];
            folder(Path::new(path), &mut files)?;
            if files.is_empty() {
                return Err(DiskError::Empty(path.clone()));
            }
            let input = |file: PathBuf| Input {
                path: file.display().to_string(),
                named: false,
            };
            found.extend(files.into_iter().map(input));
        } else if path == "-" || Path::new(path).exists() {
            found.push(Input {
                path: path.clone(),
                named: true,
            });
        } else {
            return Err(DiskError::Missing(path.clone()));
        }
    }
    Ok(found)
}

/// The text of an input.
pub fn input(input: &Input) -> Result<String, DiskError> {
    if input.path != "-" {
        return text(Path::new(&input.path));
    }
    let mut bytes = vec![];
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|source| DiskError::Read {
        path: "standard input".into(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| not_utf8("standard input".into(), &error))
}

fn folder(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), DiskError> {
    let failed = |source| DiskError::Read {
        path: path.display().to_string(),
        source,
    };
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(path)
        .map_err(failed)?
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        // symbolic links to folders are not followed: they can lead back
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if kind.is_dir() {
            folder(&path, files)?;
        } else if matches!(extension, Some("yaml" | "yml" | "json")) && path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, DiskError> {
    let name = || path.display().to_string();
    let bytes = fs::read(path).map_err(|source| DiskError::Read {
        path: name(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| not_utf8(name(), &error))
}

fn not_utf8(path: String, error: &FromUtf8Error) -> DiskError {
    let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
    let line = valid.iter().filter(|&&byte| byte == b'\n').count() + 1;
    DiskError::Text(path, line)
}

/// The folder of the project that `manifest` names (its Cargo.toml), or that is found upwards from the current folder.
pub fn find_project(manifest: Option<&Path>) -> Result<PathBuf, DiskError> {
    let start = match manifest {
        Some(path) if path.is_dir() => path.to_owned(),
        Some(path) => path
            .parent()
            .filter(|parent| *parent != "")
            .unwrap_or(Path::new("."))
            .to_owned(),
        None => std::env::current_dir().map_err(|source| DiskError::Read {
            path: ".".into(),
            source,
        })?,
    };
    let mut folders = start
        .ancestors()
        .take(if manifest.is_some() { 1 } else { usize::MAX });
    folders
        .find(|folder| is_project(folder))
        .map(Path::to_owned)
        .ok_or_else(|| DiskError::NoProject(start.display().to_string()))
}

/// The folder that `path` is in or will be in.
pub fn parent(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    path.parent().map_or_else(|| path.clone(), Path::to_owned)
}

/// The name of a folder, also of `.`.
pub fn name(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether the folder is that of a project.
pub fn is_project(path: &Path) -> bool {
    path.join("operator.toml").is_file()
}

/// Refuses a folder that holds something other than a git repository without files.
pub fn check_vacant(path: &Path) -> Result<(), DiskError> {
    match fs::read_dir(path) {
        Ok(entries) => {
            // a folder `.operator` alone is what an interrupted command left
            let ours = |name: &OsStr| name == ".git" || name == ".operator";
            let vacant = entries.flatten().all(|entry| ours(&entry.file_name()));
            if vacant {
                Ok(())
            } else {
                Err(DiskError::Taken(path.display().to_string()))
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(DiskError::Taken(path.display().to_string()))
        }
        Err(source) => Err(DiskError::Read {
            path: path.display().to_string(),
            source,
        }),
    }
}

/// The texts of `paths` below `root`, of those that exist.
pub fn read_tree(root: &Path, paths: impl Iterator<Item = String>) -> Result<Ours, DiskError> {
    let mut ours = Ours::default();
    for path in paths {
        if let Some(text) = read(root, &path)? {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

/// The Rust files of a package, by their paths below `root`; those that are not UTF-8 are left out.
pub fn rust_files(root: &Path) -> Result<Ours, DiskError> {
    let mut found = vec![];
    for folder in ["src", "tests", "examples", "benches"] {
        rust_below(root, folder, &mut found)?;
    }
    found.push("build.rs".into());
    let mut ours = Ours::default();
    for path in found {
        if let Ok(text) = fs::read_to_string(root.join(&path)) {
            ours.0.insert(path, text);
        }
    }
    Ok(ours)
}

fn rust_below(root: &Path, folder: &str, found: &mut Vec<String>) -> Result<(), DiskError> {
    let failed = |source| DiskError::Read {
        path: folder.into(),
        source,
    };
    let entries = match fs::read_dir(root.join(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type().map_err(failed)?.is_dir() {
            rust_below(root, &path, found)?;
        } else if path.ends_with(".rs") {
            found.push(path);
        }
    }
    Ok(())
}

/// The text of a file below `root`, if there is one.
pub fn read(root: &Path, path: &str) -> Result<Option<String>, DiskError> {
    match fs::read(root.join(path)) {
        Ok(bytes) => String::from_utf8(bytes)
            .map(Some)
            .map_err(|error| not_utf8(path.into(), &error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match root.join(path).is_symlink() {
                true => Err(DiskError::Dangling(path.into())),
                false => Ok(None),
            }
        }
        Err(source) => Err(DiskError::Read {
            path: path.into(),
            source,
        }),
    }
}

/// Whether a file is there.
pub fn exists(root: &Path, path: &str) -> bool {
    root.join(path).exists()
}

/// A project that no other command works on until this is dropped.
#[derive(Debug)]
pub struct Guard {
    _folder: Option<fs::File>,
}

/// Waits until no other command works on the project at `root`, or on a folder that is to be made in `root`.
pub fn guard(root: &Path) -> Result<Guard, DiskError> {
    // a folder can't be opened as a file everywhere; where it can't, the comparison before writing remains
    let folder = fs::File::open(root).ok();
    if let Some(folder) = &folder {
        folder.lock().map_err(|source| DiskError::Read {
            path: root.display().to_string(),
            source,
        })?;
    }
    Ok(Guard { _folder: folder })
}

/// Writes a plan. All new texts are on the disk before the first file is replaced; if a step fails, what was done is taken back.
pub fn apply(root: &Path, plan: &Plan) -> Result<(), DiskError> {
    for change in &plan.changes {
        if read(root, &change.path)? != change.before {
            return Err(DiskError::Changed(change.path.clone()));
        }
    }
    // what an interrupted command left
    let _ = fs::remove_dir_all(root.join(STAGING));
    let mut done = Undo::default();
    match write_all(root, plan, &mut done) {
        Ok(()) => Ok(()),
        Err(error) => {
            done.undo();
            Err(error)
        }
    }
}

#[derive(Default)]
struct Undo {
    folders: Vec<PathBuf>,
    temporary: Vec<PathBuf>,
    /// Replaced or removed files with the text they had.
    replaced: Vec<(PathBuf, Option<String>)>,
}

impl Undo {
    /// As far as the disk allows; the first error is the one that is told.
    fn undo(self) {
        for (path, before) in self.replaced.into_iter().rev() {
            let _ = match before {
                Some(text) => {
                    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
                    folder.and_then(|()| fs::write(&path, text))
                }
                None => fs::remove_file(path),
            };
        }
        for path in self.temporary {
            let _ = fs::remove_file(path);
        }
        for path in self.folders.into_iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }
}

fn write_all(root: &Path, plan: &Plan, done: &mut Undo) -> Result<(), DiskError> {
    let mut renames = vec![];
    let staging = root.join(STAGING);
    for (index, change) in plan.changes.iter().enumerate() {
        let failed = |source| DiskError::Write {
            path: root.join(&change.path).display().to_string(),
            source,
        };
        let Some(text) = &change.after else { continue };
        // a symbolic link keeps being one: what it points to is replaced
        let path = root.join(&change.path);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        let path = match fs::canonicalize(&path) {
            Ok(path) => path,
            Err(_) if is_link => return Err(DiskError::Dangling(path.display().to_string())),
            Err(_) => path,
        };
        let folder = path.parent().unwrap_or(root).to_owned();
        create_folders(&folder, &mut done.folders).map_err(failed)?;
        // a link may lead to another file system, which nothing can be moved to
        let temporary = if is_link {
            folder.join(format!(".cargo-operator-{}-{index}", std::process::id()))
        } else {
            create_folders(&staging, &mut done.folders).map_err(failed)?;
            staging.join(index.to_string())
        };
        done.temporary.push(temporary.clone());
        fs::write(&temporary, text).map_err(failed)?;
        if let Ok(metadata) = fs::metadata(&path) {
            if metadata.permissions().readonly() {
                return Err(failed(io::ErrorKind::PermissionDenied.into()));
            }
            fs::set_permissions(&temporary, metadata.permissions()).map_err(failed)?;
        }
        renames.push((temporary, path, change.before.clone(), order(&change.path)));
    }
    renames.sort_by_key(|rename| rename.3);
    for (temporary, path, before, _) in renames {
        let name = path.display().to_string();
        fs::rename(temporary, &path).map_err(|source| DiskError::Write { path: name, source })?;
        done.replaced.push((path, before));
    }
    for change in plan.changes.iter().filter(|change| change.after.is_none()) {
        let path = root.join(&change.path);
        fs::remove_file(&path).map_err(|source| DiskError::Write {
            path: path.display().to_string(),
            source,
        })?;
        done.replaced.push((path, change.before.clone()));
        remove_empty(root, &change.path);
    }
    remove_empty(root, &format!("{STAGING}/x"));
    Ok(())
}

/// Where new texts wait until all of them are on the disk.
const STAGING: &str = ".operator/new";

/// What the rest follows from goes first and what tells of it last, so that `regenerate` ends what was interrupted.
fn order(path: &str) -> u8 {
    match path {
        "operator.toml" => 0,
        "operator.lock" => 2,
        _ if path.starts_with("crds/") => 0,
        _ => 1,
    }
}

/// Removes the folders above a removed file that nothing is left in.
fn remove_empty(root: &Path, path: &str) {
    let parents = Path::new(path)
        .ancestors()
        .skip(1)
        .filter(|parent| *parent != "");
    for folder in parents {
        if fs::remove_dir(root.join(folder)).is_err() {
            break;
        }
    }
}

fn create_folders(path: &Path, created: &mut Vec<PathBuf>) -> io::Result<()> {
    let missing: Vec<&Path> = path
        .ancestors()
        .take_while(|folder| !folder.exists())
        .collect();
    for folder in missing.into_iter().rev().filter(|folder| *folder != "") {
        fs::create_dir(folder)?;
        created.push(folder.to_owned());
    }
    Ok(())
}

/// Passes seeded Rust through the user's own rustfmt, whose settings in `root` then hold; as it is where there is none.
pub fn format_rust(root: &Path, texts: Vec<String>) -> Vec<String> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let size = texts.len().div_ceil(workers).max(1);
    thread::scope(|scope| {
        let format = |texts: &[String]| -> Vec<String> {
            let format = |text: &String| rustfmt(root, text).unwrap_or_else(|| text.clone());
            texts.iter().map(format).collect()
        };
        let workers: Vec<_> = texts
            .chunks(size)
            .map(|texts| scope.spawn(move || format(texts)))
            .collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("formatting does not panic"))
            .collect()
    })
}

/// That of the toolchain whose cargo called us, which spares rustup's search for it; else the one on the path.
fn rustfmt_program() -> PathBuf {
    let name = format!("rustfmt{}", env::consts::EXE_SUFFIX);
    env::var_os("CARGO")
        .map(|cargo| Path::new(&cargo).with_file_name(&name))
        .filter(|program| program.is_file())
        .unwrap_or_else(|| name.into())
}

fn rustfmt(root: &Path, text: &str) -> Option<String> {
    let folder = if root.is_dir() { root } else { Path::new(".") };
    let mut child = Command::new(rustfmt_program())
        .args(["--edition", "2024", "--quiet"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(text.as_bytes()).ok()?;
    let output = child.wait_with_output().ok()?;
    let text = output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())??;
    (!text.is_empty()).then_some(text)
}
