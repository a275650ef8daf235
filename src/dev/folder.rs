//! The folder for the files of a session, in cargo's target folder.

use std::{
    fs::{File, TryLockError},
    path::Path,
};

use super::DevError;

/// Locks the folder of the session's files, which no other session can use until the lock is dropped.
pub fn lock(folder: &Path) -> Result<File, DevError> {
    let failed = |source| DevError::File {
        path: folder.to_owned(),
        source,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    // opened to append, so that a file that a link leads to is not truncated
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
