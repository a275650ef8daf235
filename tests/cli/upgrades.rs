//! Projects that earlier versions of the tool made, with edits of their owners: `tests/upgrades/` has one of each format.

use std::{fs, path::Path};

use crate::support::{files, ok};

fn copy(from: &Path, to: &Path) {
    for (path, text) in files(from) {
        let path = to.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

#[test]
fn an_older_project_is_brought_up_to_date_with_all_edits_kept() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upgrades");
    let projects = fs::read_dir(old).unwrap();
    let projects: Vec<_> = projects.map(|entry| entry.unwrap().path()).collect();
    assert!(!projects.is_empty());
    for old in projects {
        let folder = tempfile::tempdir().unwrap();
        let p = folder.path();
        copy(&old, p);
        let before = files(p);
        ok(p, "regenerate");
        let after = files(p);
        for (path, mark) in [
            (
                "Dockerfile",
                "# ours: the base image is that of the platform team\n",
            ),
            ("README.md", "Ask in the channel of the platform team.\n"),
            ("Cargo.toml", "# for the bill\nitoa = \"1\"\n"),
            ("operator.toml", "# the limits are read from it\n"),
        ] {
            assert!(before[path].contains(mark), "{path}");
            assert!(after[path].contains(mark), "{path}");
        }
        for path in [
            "src/controllers/cache_policy.rs",
            "src/main.rs",
            "src/lib.rs",
            "Cargo.lock",
            "crds/cachepolicies.cache.example.com.yaml",
        ] {
            assert!(before[path] == after[path], "{path}");
        }
        for path in ["deny.toml", "tests/cache_policy.rs"] {
            assert!(!after.contains_key(path), "{path}");
        }
        ok(p, "regenerate --check");
        assert!(after["operator.lock"].contains("format = 2"));
    }
}
