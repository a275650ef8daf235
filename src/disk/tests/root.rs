//! What a [`Root`] reads and writes, and what it refuses.

use std::{fs, path::Path};

use crate::{
    diagnostic::Explain,
    disk::{DiskError, Root},
};

use super::case::write;

#[test]
fn a_path_that_leads_out_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("p/a/b"), "inside\n");
    write(&folder.path().join("x"), "outside\n");
    let root = Root::open(&folder.path().join("p")).unwrap();
    assert_eq!(root.read("a/../a/b").unwrap().as_deref(), Some("inside\n"));
    assert_eq!(root.read("b").unwrap(), None);
    let absolute = folder.path().join("x").display().to_string();
    for path in ["../x", "a/../../x", "../p/a/b", &absolute] {
        for result in [
            root.read(path).map(drop),
            root.target(Path::new(path)).map(drop),
            root.metadata(Path::new(path)).map(drop),
            root.entries(Path::new(path)).map(drop),
        ] {
            let is_outside = matches!(&result, Err(DiskError::Outside(of)) if of == path);
            assert!(is_outside, "{path}: {result:?}");
        }
    }
    assert!(matches!(root.read("a"), Err(DiskError::NotFile(_))));
    let file = Root::open(&folder.path().join("x"));
    assert!(matches!(file, Err(DiskError::NotFolder(_))), "{file:?}");
}

#[cfg(unix)]
#[test]
fn only_relative_links_that_stay_inside_are_followed() {
    let folder = tempfile::tempdir().unwrap();
    let p = folder.path().join("p");
    write(&p.join("a/b"), "inside\n");
    let absolute = p.join("a").display().to_string();
    for (link, target) in [
        ("to_folder", "a"),
        ("a/around", "../a"),
        ("twice", "to_folder"),
        ("out", ".."),
        ("back", "../p/a"),
        ("far", &absolute),
        ("through", "a/around/../out/p/a"),
        ("loop", "loop"),
    ] {
        std::os::unix::fs::symlink(target, p.join(link)).unwrap();
    }
    let root = Root::open(&p).unwrap();
    for path in ["to_folder/b", "a/around/b", "twice/b"] {
        assert_eq!(root.read(path).unwrap().as_deref(), Some("inside\n"));
        assert_eq!(root.target(Path::new(path)).unwrap(), Path::new("a/b"));
    }
    for (path, expected) in [
        ("out/p/a/b", "because out is a link to .."),
        ("back/b", "because back is a link to ../p/a"),
        ("far/b", &format!("because far is a link to {absolute}")),
        ("through/new", "because a/around/../out is a link to .."),
    ] {
        for error in [
            root.read(path).unwrap_err().to_string(),
            root.target(Path::new(path)).unwrap_err().to_string(),
        ] {
            assert_eq!(error, format!("{path} can't be used, {expected}"));
        }
    }
    assert!(matches!(root.read("loop"), Err(DiskError::Read { .. })));
}

#[cfg(unix)]
#[test]
fn of_the_tools_files_only_one_that_a_command_moved_may_be_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let p = folder.path();
    let link = |path: &str| std::os::unix::fs::symlink("file", p.join(path));
    fs::create_dir_all(p.join(".operator/new")).unwrap();
    fs::create_dir_all(p.join(".operator/base")).unwrap();
    link(".operator/new/0.old").unwrap();
    Root::open(p).unwrap();
    for path in [".operator/journal", ".operator/base/b", "operator.lock"] {
        link(path).unwrap();
        let error = Root::open(p).unwrap_err();
        let expected = format!("{path} can't be used, because {path} is a link to file");
        assert_eq!(error.to_string(), expected);
        assert!(error.help().contains("only this tool writes it"));
        fs::remove_file(p.join(path)).unwrap();
    }
    fs::create_dir(p.join(".operator/new/0")).unwrap();
    assert!(matches!(Root::open(p), Err(DiskError::NotFile(_))));
}
