//! Writes an image to the disk: all of it, or nothing.

#![allow(clippy::disallowed_methods, reason = "an image ends on the disk")]

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{Created, Image, Reference, layout};
use crate::diagnostic::Explain;

/// The form of an image on the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A tar file of an OCI image layout
    #[default]
    OciArchive,
    /// A folder with an OCI image layout
    OciLayout,
}

/// Where an image is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    path: PathBuf,
    format: Format,
}

/// Why an image could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    #[error("{} is a folder", .0.display())]
    Folder(PathBuf),
    /// Its content is not overwritten.
    #[error("{} exists already and is not an empty folder", .0.display())]
    Taken(PathBuf),
    #[error("{} can't be written: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl Explain for OutputError {
    fn help(&self) -> String {
        match self {
            Self::Folder(_) => "name a file, or use `--format oci-layout`",
            Self::Taken(_) => "delete it, or choose another folder",
            Self::Write { .. } => {
                "nothing was written; make the folder writable, or free some space"
            }
        }
        .into()
    }
}

impl Output {
    /// Checks the path. A file is overwritten by an archive, and a folder that has files is an error.
    pub fn new(path: PathBuf, format: Format) -> Result<Self, OutputError> {
        match format {
            Format::OciArchive if path.is_dir() => return Err(OutputError::Folder(path)),
            Format::OciLayout if !is_vacant(&path) => return Err(OutputError::Taken(path)),
            _ => {}
        }
        // tries to create a file in the nearest existing folder above the path, to find errors before the build
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let folder = absolute.ancestors().skip(1).find(|it| it.exists());
        match tempfile::tempfile_in(folder.unwrap_or(Path::new("."))) {
            Ok(_) => Ok(Self { path, format }),
            Err(source) => Err(OutputError::Write { path, source }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether nothing exists at the path, or an empty folder.
fn is_vacant(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Writes the image beside its path, and then moves it there.
pub fn write(
    image: &Image,
    name: &Reference,
    created: Created,
    output: &Output,
) -> Result<(), OutputError> {
    let path = &output.path;
    let failed = |source| OutputError::Write {
        path: path.clone(),
        source,
    };
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(failed)?;
    match output.format {
        Format::OciArchive => {
            let bytes = layout::archive(image, name, created);
            write_file(parent, path, &bytes).map_err(failed)
        }
        Format::OciLayout => {
            let files = layout(image, name);
            write_folder(parent, path, files).map_err(failed)
        }
    }
}

fn write_file(parent: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    let builder = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

fn write_folder(
    parent: &Path,
    path: &Path,
    files: impl IntoIterator<Item = (String, Vec<u8>)>,
) -> io::Result<()> {
    // the folder inside has the usual permissions, unlike the temporary one
    let temporary = tempfile::tempdir_in(parent)?;
    let folder = temporary.path().join("layout");
    for (name, bytes) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap_or(&folder))?;
        fs::write(file, bytes)?;
    }
    if path.exists() {
        fs::remove_dir(path)?;
    }
    fs::rename(folder, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_user_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let new = |name: &str, format| Output::new(folder.path().join(name), format);
        fs::create_dir(folder.path().join("full")).unwrap();
        fs::write(folder.path().join("full/a"), "").unwrap();
        fs::create_dir(folder.path().join("empty")).unwrap();
        use Format::{OciArchive, OciLayout};
        assert!(matches!(
            new("full", OciArchive),
            Err(OutputError::Folder(_))
        ));
        assert!(matches!(new("full", OciLayout), Err(OutputError::Taken(_))));
        assert!(matches!(
            new("full/a", OciLayout),
            Err(OutputError::Taken(_))
        ));
        for (name, format) in [
            ("empty", OciLayout),
            ("new", OciLayout),
            ("new/a.tar", OciArchive),
            ("full/a", OciArchive),
        ] {
            assert!(new(name, format).is_ok(), "{name}");
        }
    }
}
