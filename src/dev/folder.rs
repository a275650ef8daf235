//! The folder for the files of a session, in cargo's target folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use super::DevError;

/// The folder of the session's files, which no other session uses until the lock is dropped.
pub fn alone(folder: &Path) -> Result<File, DevError> {
    let failed = |source| DevError::File {
        path: folder.to_owned(),
        source,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    // it stays empty, and what a link leads to keeps its text
    let lock = File::options()
        .append(true)
        .create(true)
        .open(folder.join("lock"));
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(DevError::Busy(folder.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}
