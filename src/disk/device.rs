//! The operations that change a disk. Nothing else in `disk` changes anything in a project, so a test that stops after each operation, or
//! lets each fail, covers every state that a command can leave behind.

use std::{
    io,
    path::{Path, PathBuf},
};

use cap_std::fs::Permissions;

use super::root::Root;

/// A folder on a disk, and the operations that change it. All paths are relative to the folder.
pub trait Device {
    /// The folder, for reading.
    fn root(&self) -> &Root;
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    /// Creates a file, which must not exist, with these permissions.
    fn write(&self, path: &Path, text: &[u8], permissions: Option<&Permissions>) -> io::Result<()>;
    /// Syncs the contents of these files, and the entries of these folders, so that they survive a power failure. An error comes with the
    /// index of its path.
    fn sync(&self, paths: &[PathBuf]) -> Result<(), (usize, io::Error)>;
    /// Moves a file, and replaces the file or link at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
}
