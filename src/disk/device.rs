//! The operations that change a disk. Nothing else in `disk` changes anything, so a test that stops after each operation, or lets each
//! fail, covers every state that a command can leave behind.

use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    path::{Path, PathBuf},
    thread,
};

pub trait Device {
    fn create_folder(&self, path: &Path) -> io::Result<()>;
    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()>;
    fn set_permissions(&self, path: &Path, permissions: Permissions) -> io::Result<()>;
    /// Syncs the contents of these files, and the entries of these folders, so that they survive a power failure. An error comes with its
    /// index.
    fn sync(&self, paths: &[PathBuf]) -> Result<(), (usize, io::Error)>;
    /// Moves a file, and replaces the file at `to`.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes an empty folder.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
}

/// The disk itself.
pub struct Disk;

/// Syncs in parallel, because the disk completes syncs that arrive together in a fraction of the time.
const SYNCS_AT_ONCE: usize = 16;

impl Device for Disk {
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn write(&self, path: &Path, text: &[u8]) -> io::Result<()> {
        fs::write(path, text)
    }

    fn set_permissions(&self, path: &Path, permissions: Permissions) -> io::Result<()> {
        fs::set_permissions(path, permissions)
    }

    fn sync(&self, paths: &[PathBuf]) -> Result<(), (usize, io::Error)> {
        let size = paths.len().div_ceil(SYNCS_AT_ONCE).max(1);
        let each = |(part, paths): (usize, &[PathBuf])| {
            for (index, path) in paths.iter().enumerate() {
                sync(path).map_err(|error| (part * size + index, error))?;
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
        fs::rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }
}

fn sync(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        // Windows can sync only files that are open for writing
        let file = OpenOptions::new()
            .read(true)
            .write(cfg!(windows))
            .open(path)?;
        return file.sync_all();
    }
    if cfg!(windows) {
        // a folder can't be opened there
        return Ok(());
    }
    match fs::File::open(path)?.sync_all() {
        // a file system that knows no such sync
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}
