//! Formats Rust code that will belong to the user, with the user's rustfmt.
//!
//! Starting rustfmt takes longer than formatting a file, so one process formats all files: copies in a temporary folder, with copies of the
//! settings that apply to each.

use std::{
    collections::BTreeSet,
    env, fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// The settings files, in the order in which rustfmt looks for them in a folder.
const SETTINGS: [&str; 2] = [".rustfmt.toml", "rustfmt.toml"];

/// Formats texts, each with its path in the project `root`, with the installed rustfmt and the settings that apply to the path. A text that
/// rustfmt cannot format is not changed. Without rustfmt, no text is changed.
pub fn format_rust(root: &Path, files: &[(&str, &str)]) -> Vec<String> {
    let unformatted = || files.iter().map(|(_, text)| (*text).to_owned()).collect();
    if files.is_empty() {
        return vec![];
    }
    let Ok(copy) = staged(root, files) else {
        return unformatted();
    };
    let status = Command::new(rustfmt_program())
        .args(["--edition", "2024", "--quiet", "--emit", "files"])
        .args(files.iter().map(|(path, _)| path))
        .current_dir(copy.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    // if rustfmt fails, it has not changed the file that it failed on
    match status {
        Ok(_) => {
            let formatted = |(path, text): &(&str, &str)| {
                let read = fs::read_to_string(copy.path().join(path)).ok();
                read.filter(|text| !text.is_empty())
                    .unwrap_or_else(|| (*text).to_owned())
            };
            files.iter().map(formatted).collect()
        }
        Err(_) => unformatted(),
    }
}

/// A temporary folder with the files, their settings, and an empty file for each module that they declare, because rustfmt follows `mod`
/// and fails if the file does not exist.
fn staged(root: &Path, files: &[(&str, &str)]) -> io::Result<TempDir> {
    let copy = tempfile::Builder::new()
        .prefix("cargo-operator-")
        .tempdir()?;
    let folders: BTreeSet<&Path> = files
        .iter()
        .flat_map(|(path, _)| Path::new(path).ancestors().skip(1))
        .collect();
    for folder in folders {
        let to = copy.path().join(folder);
        fs::create_dir_all(&to)?;
        let settings = match folder.as_os_str().is_empty() {
            true => settings_around(root),
            false => settings_in(&root.join(folder)),
        };
        if let Some(settings) = settings {
            fs::copy(settings, to.join(SETTINGS[0]))?;
        }
    }
    for (path, text) in files {
        for module in modules(Path::new(path), text) {
            fs::write(copy.path().join(module), "")?;
        }
    }
    // written after the empty files, because one of these may have the path of a text
    for (path, text) in files {
        fs::write(copy.path().join(path), text)?;
    }
    Ok(copy)
}

/// The path at which rustfmt looks for a module that a file declares. The folder exists, because the file is the root of a crate or a
/// `mod.rs`.
fn modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let file = syn::parse_file(text).ok();
    let items = file.into_iter().flat_map(|file| file.items);
    let declared = items.filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() => Some(module.ident),
        _ => None,
    });
    declared
        .map(|name| path.with_file_name(format!("{name}.rs")))
        .collect()
}

/// The settings that apply in a project's folder, unless a folder inside has its own.
fn settings_around(root: &Path) -> Option<PathBuf> {
    let root = std::path::absolute(root).ok()?;
    root.ancestors().find_map(settings_in)
}

fn settings_in(folder: &Path) -> Option<PathBuf> {
    let paths = SETTINGS.iter().map(|name| folder.join(name));
    paths.into_iter().find(|path| path.is_file())
}

/// The rustfmt of the toolchain whose cargo started this program, which avoids rustup's search; otherwise the one in `PATH`.
fn rustfmt_program() -> PathBuf {
    let name = format!("rustfmt{}", env::consts::EXE_SUFFIX);
    env::var_os("CARGO")
        .map(|cargo| Path::new(&cargo).with_file_name(&name))
        .filter(|program| program.is_file())
        .unwrap_or_else(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "pub fn f() {\n    let x = 1;\n}\n";

    fn formatted(root: &Path, paths: &[&str], text: &str) -> Vec<String> {
        let files: Vec<_> = paths.iter().map(|path| (*path, text)).collect();
        format_rust(root, &files)
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
        let texts = format_rust(root.path(), &files);
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
        let texts = format_rust(root.path(), &files);
        let expected = [
            "pub mod a;\nmod b;\nmod c {\n    mod d {}\n}\n",
            "fn a() {}\n",
            "mod support;\n",
        ];
        assert_eq!(texts, expected);
    }
}
