//! Projects on a disk, and plans for them.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    disk::{
        DiskError, RecoveryMode, Root,
        apply::apply_on,
        recover::{Recovery, recover_on},
        tests::faulty::{Fault, Faulty},
    },
    plan::{Action, Change, Plan},
};

/// A file with its old and its new text.
pub type Row = (&'static str, Option<&'static str>, Option<&'static str>);

pub struct Case {
    pub name: &'static str,
    pub rows: &'static [Row],
    /// Creates what the project has besides the rows.
    pub setup: fn(&Path),
}

/// A folder of a test: `p` is the project's, and `p/mounted` stands for another file system.
pub struct Place(TempDir);

/// The content of a folder: a line for each file, link and folder in it, by path.
pub type Tree = BTreeMap<String, String>;

impl Case {
    pub fn plan(&self) -> Plan {
        let change = |&(path, before, after): &Row| Change {
            path: path.into(),
            action: match (before, after) {
                (None, _) => Action::Create,
                (_, None) => Action::Remove,
                _ => Action::Update,
            },
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
            owner: None,
        };
        Plan {
            changes: self.rows.iter().map(change).collect(),
            ..Plan::default()
        }
    }

    /// The case on a disk, before anything happens.
    pub fn place(&self) -> Place {
        let place = Place(folder());
        (self.setup)(place.0.path());
        for (path, before, _) in self.rows {
            if let Some(text) = before {
                write(&place.0.path().join("p").join(path), text);
            }
        }
        place
    }

    pub fn before(&self) -> Tree {
        self.place().tree()
    }

    pub fn after(&self) -> Tree {
        let place = self.place();
        place.apply(self, Fault::default()).0.unwrap();
        place.tree()
    }

    /// The number of operations that the plan makes with such a fault.
    pub fn acts(&self, fault: Fault) -> usize {
        self.place().apply(self, fault).1.acts()
    }
}

/// A temporary folder: in memory if possible, because thousands of projects take minutes on a disk.
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

impl Place {
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn root(&self) -> PathBuf {
        self.0.path().join("p")
    }

    fn device(&self, fault: Fault) -> Faulty {
        let mounted = fs::canonicalize(self.path()).unwrap().join("p/mounted");
        Faulty::new(Root::open(&self.root()).unwrap(), fault, mounted)
    }

    pub fn apply(&self, case: &Case, fault: Fault) -> (Result<(), DiskError>, Faulty) {
        let device = self.device(fault);
        let result = apply_on(&device, &case.plan());
        (result, device)
    }

    pub fn recover(
        &self,
        mode: RecoveryMode,
        fault: Fault,
    ) -> (Result<Option<Recovery>, DiskError>, Faulty) {
        let device = self.device(fault);
        let result = recover_on(&device, mode);
        (result, device)
    }

    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(self.0.path(), self.0.path(), &mut tree);
        // an empty folder without a project makes no difference
        if !tree.keys().any(|path| path.starts_with("p/")) {
            tree.remove("p");
        }
        tree
    }
}

fn walk(root: &Path, folder: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let line = if metadata.is_symlink() {
            format!("link to {}", fs::read_link(&path).unwrap().display())
        } else if metadata.is_dir() {
            walk(root, &path, tree);
            "folder".to_owned()
        } else {
            let permissions = metadata.permissions();
            format!("{permissions:?} {}", fs::read_to_string(&path).unwrap())
        };
        tree.insert(name, line);
    }
}

pub fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub const INIT: Case = Case {
    name: "init into nothing",
    rows: &[
        ("Cargo.toml", None, Some("[package]\n")),
        ("crds/a.yaml", None, Some("kind: A\n")),
        ("operator.toml", None, Some("format = 1\n")),
        ("src/api/a/v1.rs", None, Some("struct A;\n")),
        ("src/api/mod.rs", None, Some("mod a;\n")),
        (".operator/base/Cargo.toml", None, Some("[package]\n")),
        ("operator.lock", None, Some("files\n")),
    ],
    setup: |_| {},
};

pub const UPDATE: Case = Case {
    name: "an update with creates, merges and removals",
    rows: &[
        ("Cargo.toml", Some("a = 1\nb = 1\n"), Some("a = 2\nb = 1\n")),
        ("docs/old/gone.md", Some("gone\n"), None),
        ("examples/a/b.rs", None, Some("fn b() {}\n")),
        ("operator.toml", Some("kinds = 1\n"), Some("kinds = 2\n")),
        ("run.sh", Some("echo old\n"), Some("echo new\n")),
        ("src/api/fresh/v1.rs", None, Some("struct Fresh;\n")),
        ("src/api/gone/v1.rs", Some("struct Gone;\n"), None),
        ("src/api/mod.rs", Some("mod gone;\n"), Some("mod fresh;\n")),
        (
            ".operator/base/Cargo.toml",
            Some("a = 1\n"),
            Some("a = 2\n"),
        ),
        (".operator/base/gone.md", Some("gone\n"), None),
        ("operator.lock", Some("old files\n"), Some("new files\n")),
    ],
    setup: |place| {
        write(&place.join("p/docs/mine.md"), "mine\n");
        write(&place.join("p/src/mine.rs"), "fn mine() {}\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let script = place.join("p/run.sh");
            write(&script, "");
            fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
        }
    },
};

/// A project with links to files and to a folder, some of them on another file system that is mounted in the project.
#[cfg(unix)]
pub const LINKS: Case = Case {
    name: "links",
    rows: &[
        ("docs/new.md", None, Some("new\n")),
        ("docs/old.md", Some("old\n"), None),
        ("docs/other.md", Some("other\n"), Some("an other\n")),
        ("gone.md", Some("linked and gone\n"), None),
        ("operator.toml", Some("kinds = 1\n"), Some("kinds = 2\n")),
        (
            "src/main.rs",
            Some("fn main() {}\n"),
            Some("fn main() { run() }\n"),
        ),
    ],
    setup: |place| {
        use std::os::unix::fs::symlink;
        fs::create_dir_all(place.join("p/src")).unwrap();
        fs::create_dir_all(place.join("p/mounted/docs")).unwrap();
        write(&place.join("p/mounted/main.rs"), "");
        write(&place.join("p/kept.md"), "linked and gone\n");
        symlink("mounted/docs", place.join("p/docs")).unwrap();
        symlink("../mounted/main.rs", place.join("p/src/main.rs")).unwrap();
        symlink("kept.md", place.join("p/gone.md")).unwrap();
    },
};
