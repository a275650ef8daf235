//! Formats Rust code that will belong to the user, with the user's rustfmt.
//!
//! Starting rustfmt takes longer than formatting a file, so one process formats all files: copies in a temporary folder, with copies of the
//! settings that apply to each.

use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use tempfile::TempDir;

use super::{device::Device, program::rustfmt, root::Root};

/// The settings files, in the order in which rustfmt looks for them in a folder.
const SETTINGS: [&str; 2] = [".rustfmt.toml", "rustfmt.toml"];

/// Formats texts, each with its path in the project `root`, with the installed rustfmt and the settings that apply to the path. A text that
/// rustfmt cannot format is not changed. Without rustfmt, no text is changed.
pub fn format_rust(root: &Root, files: &[(&str, &str)]) -> Vec<String> {
    let unformatted = || files.iter().map(|(_, text)| (*text).to_owned()).collect();
    if files.is_empty() {
        return vec![];
    }
    let Ok((folder, copy)) = staged(root, files) else {
        return unformatted();
    };
    let status = rustfmt()
        .args(["--edition", "2024", "--quiet", "--emit", "files"])
        .args(files.iter().map(|(path, _)| path))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // if rustfmt fails, it has not changed the file that it failed on
    match status {
        Ok(_) => {
            let formatted = |(path, text): &(&str, &str)| {
                copy.read(path)
                    .ok()
                    .flatten()
                    .filter(|text| !text.is_empty())
                    .unwrap_or_else(|| (*text).to_owned())
            };
            files.iter().map(formatted).collect()
        }
        Err(_) => unformatted(),
    }
}

/// A temporary folder with the files, their settings, and an empty file for each module that they declare, because rustfmt follows `mod`
/// and fails if the file does not exist.
fn staged(root: &Root, files: &[(&str, &str)]) -> io::Result<(TempDir, Root)> {
    let temporary = tempfile::Builder::new()
        .prefix("cargo-operator-")
        .tempdir()?;
    let copy = Root::open(temporary.path()).map_err(io::Error::other)?;
    let folders: BTreeSet<&Path> = files
        .iter()
        .flat_map(|(path, _)| Path::new(path).ancestors().skip(1))
        .collect();
    for folder in folders {
        copy.create_folders(folder)?;
        let settings = if folder.as_os_str().is_empty() {
            settings_around(root.path())
        } else {
            settings_in(root, folder)
        };
        if let Some(settings) = settings {
            copy.write(&folder.join(SETTINGS[0]), settings.as_bytes(), None)?;
        }
    }
    for (path, text) in files {
        copy.write(Path::new(path), text.as_bytes(), None)?;
    }
    for (path, text) in files {
        for module in modules(Path::new(path), text)
            .into_iter()
            .filter(|module| !copy.has(module))
        {
            copy.write(&module, b"", None)?;
        }
    }
    Ok((temporary, copy))
}

/// The path at which rustfmt looks for a module that a file declares. The folder exists, because the file is the root of a crate or a
/// `mod.rs`.
fn modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let file = syn::parse_file(text).ok();
    file.into_iter()
        .flat_map(|file| file.items)
        .filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() => Some(module.ident),
            _ => None,
        })
        .map(|name| path.with_file_name(format!("{name}.rs")))
        .collect()
}

/// The settings that apply in a project's folder, unless a folder inside has its own.
fn settings_around(root: &Path) -> Option<String> {
    let root = std::path::absolute(root).ok()?;
    let settings = |folder: &Path| settings_in(&Root::open(folder).ok()?, Path::new(""));
    root.ancestors().find_map(settings)
}

fn settings_in(root: &Root, folder: &Path) -> Option<String> {
    let paths = SETTINGS.map(|name| folder.join(name));
    let text = |path: PathBuf| root.read(path.to_str()?).ok().flatten();
    paths.into_iter().find_map(text)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CODE: &str = "pub fn f() {\n    let x = 1;\n}\n";

    fn formatted(root: &Path, paths: &[&str], text: &str) -> Vec<String> {
        let files: Vec<_> = paths.iter().map(|path| (*path, text)).collect();
        format_rust(&Root::open(root).unwrap(), &files)
    }

    #[test]
    fn the_settings_of_the_nearest_folder_hold_for_each_file() {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        for (path, spaces) in [
            ("rustfmt.toml", 2),
            ("project/src/rustfmt.toml", 3),
            ("project/src/.rustfmt.toml", 5),
            ("project/tests/unit/rustfmt.toml", 1),
        ] {
            let path = outer.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("tab_spaces = {spaces}\n")).unwrap();
        }
        let paths = [
            "build.rs",
            "src/lib.rs",
            "src/controllers/x.rs",
            "tests/x.rs",
            "tests/unit/x.rs",
        ];
        let texts = formatted(&root, &paths, CODE);
        let spaces = |text: &String| text.find("let").unwrap() - text.find('\n').unwrap() - 1;
        let spaces: Vec<_> = texts.iter().map(spaces).collect();
        assert_eq!(spaces, [2, 5, 5, 2, 1]);
    }

    #[test]
    fn a_file_that_cannot_be_formatted_stays_and_the_others_are_formatted() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("a.rs", "fn  a() {}\n"),
            ("b.rs", "fn  b( {}\n"),
            ("c.rs", "fn  c() {}\n"),
        ];
        let texts = format_rust(&Root::open(root.path()).unwrap(), &files);
        assert_eq!(texts, ["fn a() {}\n", files[1].1, "fn c() {}\n"]);
    }

    #[test]
    fn modules_of_other_files_are_neither_missed_nor_formatted_twice() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("src/lib.rs", "pub  mod a;\nmod b ;\nmod c { mod d {} }\n"),
            ("src/a.rs", "fn  a() {}\n"),
            ("tests/x.rs", "mod  support;\n"),
        ];
        let texts = format_rust(&Root::open(root.path()).unwrap(), &files);
        let expected = [
            "pub mod a;\nmod b;\nmod c {\n    mod d {}\n}\n",
            "fn a() {}\n",
            "mod support;\n",
        ];
        assert_eq!(texts, expected);
    }
}
