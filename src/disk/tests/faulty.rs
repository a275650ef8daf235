//! A disk that fails, stops or loses power after a number of operations.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    fs::{self, Permissions},
    io,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::disk::{Root, device::Device};

/// What goes wrong, and at which operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// This operation fails, and with `lasting` all after it.
    pub error: Option<(usize, io::ErrorKind)>,
    pub lasting: bool,
    /// The process is killed at this operation.
    pub kill: Option<usize>,
}

pub struct Faulty {
    root: Root,
    fault: Cell<Fault>,
    acts: Cell<usize>,
    /// The files whose content would be lost in a power cut.
    unsynced: RefCell<BTreeSet<PathBuf>>,
    /// The changes of folders that were not synced, so that a power cut may undo them.
    unlisted: RefCell<Vec<Unlisted>>,
    /// A folder that stands for another file system.
    elsewhere: PathBuf,
    /// Contains the removed folders, because a power cut must bring back the same folder, with its identity.
    removed: TempDir,
}

struct Unlisted {
    /// The changed folders. A sync of one of them is enough, because a rename is atomic on a file system with a journal.
    folders: Vec<PathBuf>,
    /// What was at these paths.
    was: Vec<(PathBuf, Was)>,
}

impl Unlisted {
    fn is_in(&self, name: &str) -> bool {
        self.folders.iter().any(|folder| folder.ends_with(name))
    }
}

enum Was {
    Nothing,
    /// A folder, with the path to which it is moved if it is removed.
    Folder(PathBuf),
    Link(PathBuf),
    File(Vec<u8>, Permissions),
}

/// Whether a power cut undoes the changes of folders since their last sync, which depends on the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Kept,
    Lost,
    /// Lost, except for changes of the journal's folder.
    LostElsewhere,
}

impl Was {
    fn at(path: &Path, removed: PathBuf) -> Self {
        match fs::symlink_metadata(path) {
            Err(_) => Self::Nothing,
            Ok(metadata) if metadata.is_dir() => Self::Folder(removed),
            Ok(metadata) if metadata.is_symlink() => Self::Link(fs::read_link(path).unwrap()),
            Ok(metadata) => Self::File(fs::read(path).unwrap(), metadata.permissions()),
        }
    }

    fn restore(&self, path: &Path) {
        // without its folder, nothing is restored
        if !path.parent().is_some_and(Path::exists) {
            return;
        }
        if !matches!(self, Self::Folder(_)) && fs::remove_file(path).is_err() {
            fs::remove_dir_all(path).ok();
        }
        match self {
            Self::Nothing => {}
            Self::Folder(removed) => fs::rename(removed, path).unwrap(),
            #[cfg(unix)]
            Self::Link(to) => std::os::unix::fs::symlink(to, path).unwrap(),
            #[cfg(not(unix))]
            Self::Link(_) => unreachable!("no case has links here"),
            Self::File(text, permissions) => {
                fs::write(path, text).unwrap();
                fs::set_permissions(path, permissions.clone()).unwrap();
            }
        }
    }
}

impl Faulty {
    pub fn new(root: Root, fault: Fault, elsewhere: PathBuf) -> Self {
        Self {
            root,
            fault: Cell::new(fault),
            acts: Cell::new(0),
            unsynced: RefCell::default(),
            unlisted: RefCell::default(),
            elsewhere,
            removed: super::case::folder(),
        }
    }

    pub fn acts(&self) -> usize {
        self.acts.get()
    }

    /// Ends the fault.
    pub fn heal(&self) {
        self.fault.take();
    }

    /// Simulates a power cut: files that were not synced become empty, and changes of folders are undone as `listed` says.
    pub fn lose_power(&self, listed: Listed) {
        for unlisted in self.unlisted.borrow().iter().rev() {
            let is_lost = match listed {
                Listed::Kept => false,
                Listed::Lost => true,
                Listed::LostElsewhere => !unlisted.is_in(".operator"),
            };
            if is_lost {
                unlisted
                    .was
                    .iter()
                    .for_each(|(path, was)| was.restore(path));
            }
        }
        for path in self.unsynced.borrow().iter().filter(|path| path.exists()) {
            fs::write(path, "").unwrap();
        }
    }

    /// Performs an operation that changes the entries of folders at these paths.
    fn list(&self, paths: &[&Path], act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.root.join(path)).collect();
        let removed = || self.removed.path().join(self.acts().to_string());
        let was = paths
            .iter()
            .map(|path| (path.clone(), Was::at(path, removed())));
        let unlisted = Unlisted {
            folders: paths.iter().map(|path| folder(path)).collect(),
            was: was.collect(),
        };
        self.act(act)?;
        self.unlisted.borrow_mut().push(unlisted);
        Ok(())
    }

    fn act(&self, act: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let number = self.acts.replace(self.acts.get() + 1);
        let fault = self.fault.get();
        if fault.kill.is_some_and(|kill| number >= kill) {
            return Err(io::Error::other("the process is dead"));
        }
        match fault.error {
            Some((at, kind)) if number == at || fault.lasting && number > at => Err(kind.into()),
            _ => act(),
        }
    }

    fn is_elsewhere(&self, path: &Path) -> bool {
        folder(&self.root.join(path)).starts_with(&self.elsewhere)
    }
}

fn folder(path: &Path) -> PathBuf {
    fs::canonicalize(path.parent().unwrap()).unwrap()
}

impl Device for Faulty {
    fn root(&self) -> &Root {
        &self.root
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.list(&[path], || self.root.create_folder(path))
    }

    fn write(
        &self,
        path: &Path,
        text: &[u8],
        permissions: Option<&cap_std::fs::Permissions>,
    ) -> io::Result<()> {
        self.unsynced.borrow_mut().insert(self.root.join(path));
        let half = &text[..text.len() / 2];
        self.list(&[path], || self.root.write(path, half, None))?;
        self.act(|| {
            self.root.remove_file(path)?;
            self.root.write(path, text, permissions)
        })
    }

    fn sync(&self, paths: &[PathBuf]) -> Result<(), (usize, io::Error)> {
        for (index, path) in paths.iter().enumerate() {
            let sync = || {
                let path = self.root.join(path);
                self.unsynced.borrow_mut().remove(&path);
                let path = fs::canonicalize(path)?;
                self.unlisted
                    .borrow_mut()
                    .retain(|unlisted| !unlisted.folders.contains(&path));
                Ok(())
            };
            self.act(sync).map_err(|error| (index, error))?;
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.list(&[to, from], || {
            if self.is_elsewhere(from) != self.is_elsewhere(to) {
                return Err(io::ErrorKind::CrossesDevices.into());
            }
            self.root.rename(from, to)?;
            let mut unsynced = self.unsynced.borrow_mut();
            if unsynced.remove(&self.root.join(from)) {
                unsynced.insert(self.root.join(to));
            }
            Ok(())
        })
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.list(&[path], || self.root.remove_file(path))
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        let removed = self.removed.path().join(self.acts().to_string());
        self.list(&[path], || {
            if self.root.is_empty(path) {
                fs::rename(self.root.join(path), removed)
            } else {
                Err(io::ErrorKind::DirectoryNotEmpty.into())
            }
        })
    }
}
