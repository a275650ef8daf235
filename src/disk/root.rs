//! The only file in `disk` that opens files. A [`Root`] is a folder that no path and no link leads out of: all that a command reads,
//! writes, creates or removes in a project, or in a folder of types, goes through one.
//!
//! A relative link that stays below the root is followed; any other is an error that names it. `operator.lock` and the files in
//! `.operator/`, which only this tool writes, must not be links at all. Nothing in a folder `.git` is read or written.
//!
//! A read refuses what is not a regular file, and does not wait for a pipe. A write creates a new file and moves it to its place; no file
//! is opened to be changed.

#![allow(
    clippy::disallowed_methods,
    reason = "nothing else in `disk` opens a file"
)]

use std::{
    ffi::OsString,
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::{Duration, UNIX_EPOCH},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, FileType, Metadata, OpenOptions, Permissions},
};

use super::{
    device::Device,
    error::{DiskError, not_utf8},
    own::{STAGING, TOOL_FOLDER},
};
use crate::plan::LOCK;

/// The most bytes of a text that are read; larger than a file with all CRDs of a cluster.
const MOST_BYTES: u64 = 256 << 20;

/// The number of parallel syncs: a disk completes syncs that arrive together in a fraction of the time.
const SYNCS_AT_ONCE: usize = 16;

/// How often a rename is tried again, and the time between: a second in all.
const RENAMES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A folder, which need not exist yet. Paths in it are relative.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    dir: OnceLock<Dir>,
}

impl Root {
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        let root = Self {
            path: path.to_owned(),
            dir: OnceLock::new(),
        };
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => root.dir.set(dir).expect("it is set once"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(root),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(DiskError::NotFolder(path.display().to_string()));
            }
            Err(error) => return Err(root.failed(path, error)),
        }
        root.check_tool_files(Path::new(LOCK))?;
        root.check_tool_files(Path::new(TOOL_FOLDER))?;
        Ok(root)
    }

    /// Creates the folder if it is missing. Returns the folders that were created, outermost first.
    pub fn create(&self) -> Result<Vec<PathBuf>, DiskError> {
        let mut made = vec![];
        if self.dir.get().is_none() {
            let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
            let missing: Vec<&Path> = self.path.ancestors().take_while(is_missing).collect();
            let create = |path: &Path| {
                fs::create_dir(path)?;
                let parent = current(path.parent().unwrap_or(path));
                let parent = Dir::open_ambient_dir(parent, ambient_authority())?;
                sync(&parent, Path::new(""))
            };
            for path in missing.into_iter().rev() {
                create(path).map_err(DiskError::at(path))?;
                made.push(path.to_owned());
            }
            let dir = Dir::open_ambient_dir(&self.path, ambient_authority());
            let dir = dir.map_err(DiskError::at(&self.path))?;
            self.dir.set(dir).expect("it was missing");
        }
        Ok(made)
    }

    /// Removes folders that [`Root::create`] created, as far as they are empty.
    pub fn remove_created(created: &[PathBuf]) {
        for path in created.iter().rev() {
            let _ = fs::remove_dir(path);
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file for messages and other programs.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// The text of a file, if it exists.
    pub fn read(&self, path: &str) -> Result<Option<String>, DiskError> {
        match self.bytes_up_to(MOST_BYTES, Path::new(path))? {
            Some(bytes) => String::from_utf8(bytes)
                .map(Some)
                .map_err(|error| not_utf8(path.into(), &error)),
            None if self.has(path) => Err(DiskError::Dangling(path.into())),
            None => Ok(None),
        }
    }

    /// The content of a file, if it exists.
    pub fn bytes(&self, path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
        self.bytes_up_to(u64::MAX, path)
    }

    /// The content of a regular file, if it exists. Fails if it has more than `most` bytes.
    fn bytes_up_to(&self, most: u64, path: &Path) -> Result<Option<Vec<u8>>, DiskError> {
        let mut options = OpenOptions::new();
        options.read(true);
        // opening a pipe does not wait for its writer
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::custom_flags(
            &mut options,
            rustix::fs::OFlags::NONBLOCK.bits() as i32,
        );
        let read = || -> io::Result<_> {
            let mut file = self.dir()?.open_with(path, &options)?.into_std();
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            read_up_to(most, &mut file).map(Some)
        };
        let not_file = || DiskError::NotFile(path.display().to_string());
        self.check_git(path)?;
        match read() {
            Ok(bytes) => bytes.ok_or_else(not_file).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(_) if self.is_folder(path) => Err(not_file()),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    /// The content and the permissions of a file that this tool wrote.
    pub fn copy_of(&self, path: &Path) -> io::Result<(Vec<u8>, Permissions)> {
        let mut file = self.dir()?.open(path)?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes)?;
        Ok((bytes, file.metadata()?.permissions()))
    }

    /// Whether something exists at this path, even a broken link.
    pub fn has(&self, path: impl AsRef<Path>) -> bool {
        let metadata = |dir: &Dir| dir.symlink_metadata(path.as_ref()).is_ok();
        self.dir.get().is_some_and(metadata)
    }

    /// The metadata of the file or folder at a path, after links; `None` if there is none.
    pub fn metadata(&self, path: &Path) -> Result<Option<Metadata>, DiskError> {
        match self.dir().and_then(|dir| dir.metadata(current(path))) {
            Ok(metadata) => Ok(Some(metadata)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed(path, error)),
        }
    }

    pub fn is_folder(&self, path: &Path) -> bool {
        matches!(self.metadata(path), Ok(Some(metadata)) if metadata.is_dir())
    }

    /// Whether a path is an empty folder, and not a link to one.
    pub fn is_empty(&self, folder: &Path) -> bool {
        let metadata = self.dir().and_then(|dir| dir.symlink_metadata(folder));
        metadata.is_ok_and(|metadata| metadata.is_dir())
            && self.entries(folder).is_ok_and(|entries| entries.is_empty())
    }

    /// The names in a folder; none if it does not exist.
    pub fn entries(&self, folder: &Path) -> Result<Vec<(OsString, FileType)>, DiskError> {
        let list = || -> io::Result<_> {
            let entries = self.dir()?.read_dir(current(folder))?;
            let entry = |entry: io::Result<cap_std::fs::DirEntry>| {
                let entry = entry?;
                Ok((entry.file_name(), entry.file_type()?))
            };
            entries.map(entry).collect()
        };
        self.check_git(folder)?;
        match list() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
            entries => entries.map_err(|error| self.failed(folder, error)),
        }
    }

    /// The path to write to: that of the file itself, if links lead to it.
    pub fn target(&self, path: &Path) -> Result<PathBuf, DiskError> {
        let target = match self.dir().and_then(|dir| dir.canonicalize(current(path))) {
            Ok(target) => target,
            Err(error) if !is_missing(&error) => return Err(self.failed(path, error)),
            Err(_) if self.has(path) => {
                return Err(DiskError::Dangling(path.display().to_string()));
            }
            Err(_) => match (path.parent(), path.file_name()) {
                (Some(folder), Some(name)) => self.target(folder)?.join(name),
                _ => path.to_owned(),
            },
        };
        if is_of_git(&target) {
            Err(DiskError::Outside(path.display().to_string()))
        } else {
            Ok(target)
        }
    }

    /// Refuses links into a folder `.git`, which may have secrets, such as the token of a clone in CI.
    fn check_git(&self, path: &Path) -> Result<(), DiskError> {
        let target = self.dir().and_then(|dir| dir.canonicalize(current(path)));
        if target.is_ok_and(|target| is_of_git(&target)) {
            Err(DiskError::Outside(path.display().to_string()))
        } else {
            Ok(())
        }
    }

    /// Opens a file of this tool and locks it, so that no other command takes a journal for that of an interrupted command.
    pub fn open_locked(&self, path: &Path) -> io::Result<fs::File> {
        let file = self.dir()?.open(path)?.into_std();
        file.lock()?;
        Ok(file)
    }

    /// Creates a folder and those above it, unless they exist.
    pub fn create_folders(&self, path: &Path) -> io::Result<()> {
        self.dir()?.create_dir_all(current(path))
    }

    /// The identity of a folder, which is different in another clone of the repository: the time of its creation.
    pub fn identity(&self, folder: &Path) -> io::Result<String> {
        let metadata = self.dir()?.symlink_metadata(folder)?;
        let created = metadata
            .created()
            .map(cap_std::time::SystemTime::into_std)
            .map(|it| it.duration_since(UNIX_EPOCH));
        match created {
            Ok(Ok(created)) => Ok(created.as_nanos().to_string()),
            // the file system does not record the time
            #[cfg(unix)]
            _ => Ok(cap_std::fs::MetadataExt::ino(&metadata).to_string()),
            #[cfg(not(unix))]
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn dir(&self) -> io::Result<&Dir> {
        let missing = || io::ErrorKind::NotFound.into();
        self.dir.get().ok_or_else(missing)
    }

    /// The error of an access: it names the link that leads out of the root, if there is one.
    fn failed(&self, path: &Path, source: io::Error) -> DiskError {
        // errors of cap-std, unlike those of the system, have no code
        let is_escape =
            source.kind() == io::ErrorKind::PermissionDenied && source.raw_os_error().is_none();
        let shown = if path.as_os_str().is_empty() {
            self.path.display().to_string()
        } else {
            path.display().to_string()
        };
        if is_escape {
            match self.escape(path) {
                Some((link, target)) => DiskError::link(path, &link, &target),
                None => DiskError::Outside(shown),
            }
        } else {
            DiskError::Read {
                path: shown,
                source,
            }
        }
    }

    /// The link on a path that leads out of the root, and its target.
    fn escape(&self, path: &Path) -> Option<(PathBuf, PathBuf)> {
        let dir = self.dir.get()?;
        let mut parts: Vec<&Path> = path.ancestors().collect();
        parts.reverse();
        let leads_out = |part: &&Path| dir.metadata(part).is_err();
        let target = |part| Some((part, dir.read_link_contents(part).ok()?));
        let mut links = parts.into_iter().filter(leads_out).filter_map(target);
        let (link, target) = links.next()?;
        // the target may itself be a link that leads out
        let next = link.parent()?.join(&target);
        Some(self.escape(&next).unwrap_or((link.to_owned(), target)))
    }

    /// Refuses what only this tool writes, if it is or has anything but files and folders.
    fn check_tool_files(&self, path: &Path) -> Result<(), DiskError> {
        let dir = self.dir().map_err(|error| self.failed(path, error))?;
        match dir.symlink_metadata(path) {
            Ok(metadata) => self.check_entry(path, metadata.file_type()),
            Err(_) => Ok(()),
        }
    }

    /// Refuses anything but files, and folders that contain only those.
    fn check_entry(&self, path: &Path, kind: FileType) -> Result<(), DiskError> {
        // a link that a command removes is moved to the staging folder, where nothing follows it
        let is_staged = path.parent() == Some(Path::new(STAGING));
        if kind.is_file() || is_staged && kind.is_symlink() {
            Ok(())
        } else if kind.is_symlink() {
            let target = self.dir().and_then(|dir| dir.read_link_contents(path));
            Err(DiskError::link(path, path, &target.unwrap_or_default()))
        } else if kind.is_dir() && !is_staged {
            self.entries(path)?
                .into_iter()
                .try_for_each(|(name, kind)| self.check_entry(&path.join(name), kind))
        } else {
            Err(DiskError::NotFile(path.display().to_string()))
        }
    }
}

impl Device for Root {
    fn root(&self) -> &Root {
        self
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.dir()?.create_dir(path)
    }

    fn write(&self, path: &Path, text: &[u8], permissions: Option<&Permissions>) -> io::Result<()> {
        let new = OpenOptions::new().write(true).create_new(true).clone();
        let mut file = self.dir()?.open_with(path, &new)?;
        file.write_all(text)?;
        match permissions {
            Some(permissions) => file.set_permissions(permissions.clone()),
            None => Ok(()),
        }
    }

    fn sync(&self, paths: &[PathBuf]) -> Result<(), (usize, io::Error)> {
        let dir = self.dir().map_err(|error| (0, error))?;
        let size = paths.len().div_ceil(SYNCS_AT_ONCE).max(1);
        let each = |(part, paths): (usize, &[PathBuf])| {
            for (index, path) in paths.iter().enumerate() {
                sync(dir, path).map_err(|error| (part * size + index, error))?;
            }
            Ok(())
        };
        let mut parts = paths.chunks(size).enumerate();
        let first = parts.next();
        thread::scope(|scope| {
            let waiting: Vec<_> = parts.map(|part| scope.spawn(move || each(part))).collect();
            let mut result = first.map_or(Ok(()), each);
            for thread in waiting {
                result = result.and(thread.join().expect("syncing does not panic"));
            }
            result
        })
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let dir = self.dir()?;
        let mut renamed = dir.rename(from, dir, to);
        // on Windows, a rename fails while another program, such as a virus scanner, has the file open
        for _ in 0..RENAMES {
            match &renamed {
                Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => {
                    thread::sleep(PAUSE);
                    renamed = dir.rename(from, dir, to);
                }
                _ => break,
            }
        }
        renamed
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.dir()?.remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        self.dir()?.remove_dir(path)
    }
}

/// Syncs the content of a file, or the entries of a folder.
fn sync(dir: &Dir, path: &Path) -> io::Result<()> {
    let path = current(path);
    if !dir.metadata(path)?.is_dir() {
        // Windows can sync only files that are open for writing
        let options = OpenOptions::new().read(true).write(cfg!(windows)).clone();
        return dir.open_with(path, &options)?.sync_all();
    }
    if cfg!(windows) {
        // a folder cannot be opened there
        return Ok(());
    }
    match dir.open(path)?.sync_all() {
        // the file system cannot sync folders
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

/// Whether a part of a path is `.git`, or a name that means `.git` on Windows.
fn is_of_git(path: &Path) -> bool {
    path.iter().any(|part| {
        let name = part.to_string_lossy().to_ascii_lowercase();
        name == "git~1" || name.trim_end_matches(['.', ' ']) == ".git"
    })
}

/// Replaces an empty path with `.`, which the system requires.
fn current(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// Whether an error means that nothing exists at the path, or that a parent of it is a file.
fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Reads a file that the command line names, which may be a link, or a pipe that the shell made.
pub fn read_named(path: &Path) -> Result<Vec<u8>, DiskError> {
    let is_pipe_of_shell = path.starts_with("/dev") || path.starts_with("/proc");
    if !path.is_file() && path.exists() && !is_pipe_of_shell {
        return Err(DiskError::NotFile(path.display().to_string()));
    }
    fs::File::open(path)
        .and_then(|mut file| read_up_to(MOST_BYTES, &mut file))
        .map_err(|source| DiskError::Read {
            path: path.display().to_string(),
            source,
        })
}

/// Reads standard input.
pub fn read_standard_input() -> Result<Vec<u8>, DiskError> {
    read_up_to(MOST_BYTES, &mut io::stdin().lock()).map_err(|source| DiskError::Read {
        path: "standard input".into(),
        source,
    })
}

/// Reads a file to its end. Fails if it has more than `most` bytes.
fn read_up_to(most: u64, file: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut bytes = vec![];
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {} MiB", most >> 20),
        ))
    } else {
        Ok(bytes)
    }
}

/// A project that no other command works on until this is dropped.
#[derive(Debug)]
pub struct Guard {
    _folder: Option<fs::File>,
}

/// Locks the folder `root` of a project, or of folders that will be created. If another command has locked it, calls `waiting` and waits.
pub fn guard(root: &Path, waiting: impl FnOnce()) -> Result<Guard, DiskError> {
    // some systems cannot open a folder as a file; there, only the comparison before writing finds concurrent changes
    let mut options = fs::OpenOptions::new();
    options.read(true);
    // opening a pipe fails instead of waiting for its writer
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::DIRECTORY.bits() as i32,
    );
    let folder = options.open(root).ok();
    if let Some(folder) = &folder {
        let locked = match folder.try_lock() {
            Err(fs::TryLockError::WouldBlock) => {
                waiting();
                folder.lock()
            }
            Err(fs::TryLockError::Error(source)) => Err(source),
            Ok(()) => Ok(()),
        };
        locked.map_err(|source| DiskError::Read {
            path: root.display().to_string(),
            source,
        })?;
    }
    Ok(Guard { _folder: folder })
}
