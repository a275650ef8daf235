//! Merges of changed templates with edited files. `tests/merges/` has an older and a newer text of each template.
//!
//! The edits are random, but one in three is made where the template changes as well. If git is installed, the results are compared with
//! its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use cargo_operator::{
    plan::{Action, Ours, Plan, Resolution, Tree, plan},
    plan::{Lock, Owner},
};

/// A linear congruential generator, so that each run makes the same edits.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % end.max(1)
    }
}

/// A user's version of a text, with the lines that the user wrote, and those that the user deleted.
struct Edited {
    text: String,
    written: BTreeSet<String>,
    deleted: BTreeSet<String>,
    /// Whether one of the edits is where the template changes.
    meets: bool,
}

fn edited(older: &str, newer: &str, random: &mut Random) -> Edited {
    let mut lines: Vec<String> = older.lines().map(str::to_owned).collect();
    let kept: BTreeSet<&str> = newer.lines().collect();
    let mut found = Edited {
        text: String::new(),
        written: BTreeSet::new(),
        deleted: BTreeSet::new(),
        meets: false,
    };
    for number in 0..=random.below(3) {
        let changed: Vec<usize> = (0..lines.len())
            .filter(|at| !kept.contains(lines[*at].as_str()) && !lines[*at].contains("mine"))
            .collect();
        let aims = random.below(3) == 0 && !changed.is_empty();
        let at = if aims {
            changed[random.below(changed.len())]
        } else {
            random.below(lines.len())
        };
        found.meets |= !kept.contains(lines[at].as_str());
        let mine = format!("# mine {number}");
        match random.below(3) {
            0 => lines.insert(at, mine.clone()),
            1 => {
                let old = std::mem::replace(&mut lines[at], mine.clone());
                found.deleted.insert(old);
            }
            _ => {
                found.deleted.insert(lines.remove(at));
                continue;
            }
        }
        found.written.insert(mine);
    }
    found
        .deleted
        .retain(|line| !lines.contains(line) && !line.trim().is_empty());
    found.written.retain(|line| lines.contains(line));
    found.text = lines.join("\n") + "\n";
    found
}

fn tree(path: &str, owner: Owner, text: &str) -> Tree {
    let mut tree = Tree::default();
    tree.insert(path, owner, text);
    tree
}

fn planned(disk: &Ours, theirs: Tree) -> Plan {
    let lock = disk
        .get("operator.lock")
        .map(|text| Lock::read(text).unwrap())
        .unwrap_or_default();
    plan(&lock, disk, theirs, |_| true, &Resolution::default())
}

fn apply(disk: &mut Ours, plan: &Plan) {
    for change in &plan.changes {
        match &change.after {
            Some(text) => disk.0.insert(change.path.clone(), text.clone()),
            None => disk.0.remove(&change.path),
        };
    }
}

/// The merge by git; `None` without git, and an error for a conflict.
fn git(older: &str, ours: &str, newer: &str) -> Option<Result<String, ()>> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("older", older), ("ours", ours), ("newer", newer)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let output = Command::new("git")
        .args(["merge-file", "-p", "ours", "older", "newer"])
        .current_dir(folder.path())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).unwrap();
    Some(if output.status.success() {
        Ok(text)
    } else {
        Err(())
    })
}

#[test]
fn edits_survive_template_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/merges");
    let mut random = Random(7);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for folder in fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        let path = folder.file_name().unwrap().to_str().unwrap();
        let owner = if path == "Cargo.toml" {
            Owner::Keys
        } else {
            Owner::Merged
        };
        let [older, newer] =
            ["older", "newer"].map(|name| fs::read_to_string(folder.join(name)).unwrap());
        for case in 0..200 {
            let edit = edited(&older, &newer, &mut random);
            // no user leaves a manifest that cargo cannot read
            if owner == Owner::Keys && edit.text.parse::<toml_edit::DocumentMut>().is_err() {
                continue;
            }
            *counts.entry("cases").or_default() += 1;
            *counts.entry("where both changed").or_default() += usize::from(edit.meets);
            let mut disk = Ours::default();
            let first = planned(&disk, tree(path, owner, &older));
            apply(&mut disk, &first);
            disk.0.insert(path.into(), edit.text.clone());
            let plan = planned(&disk, tree(path, owner, &newer));
            let name = format!("{path} {case}\n{}", edit.text);
            if !plan.conflicts.is_empty() {
                *counts.entry("conflicts").or_default() += 1;
                // a conflict must be one for git, too
                if owner == Owner::Merged
                    && let Some(theirs) = git(&older, &edit.text, &newer)
                {
                    assert!(theirs.is_err(), "{name}");
                }
                assert!(
                    plan.changes.is_empty()
                        || plan.changes.iter().all(|change| change.path != path),
                    "{name}"
                );
                continue;
            }
            apply(&mut disk, &plan);
            let merged = disk.get(path).unwrap().to_owned();
            let lines: BTreeSet<&str> = merged.lines().collect();
            assert!(
                edit.written
                    .iter()
                    .all(|line| lines.contains(line.as_str())),
                "{name}\n{merged}"
            );
            assert_eq!(
                planned(&disk, tree(path, owner, &newer)),
                Plan::default(),
                "{name}"
            );
            if owner == Owner::Merged {
                let back = edit.deleted.iter().find(|line| {
                    lines.contains(line.as_str()) && !newer.lines().any(|new| new == *line)
                });
                assert_eq!(back, None, "{name}\n{merged}");
                if let Some(theirs) = git(&older, &edit.text, &newer) {
                    *counts.entry("as git has it").or_default() += 1;
                    assert_eq!(theirs, Ok(merged), "{name}");
                }
            }
            let is_merge = plan
                .changes
                .iter()
                .any(|change| change.action == Action::Merge);
            *counts.entry("merged").or_default() += usize::from(is_merge);
        }
    }
    eprintln!("{counts:?}");
    assert!(counts["merged"] * 10 >= counts["cases"], "{counts:?}");
    assert!(
        counts["where both changed"] * 10 >= counts["cases"] * 3,
        "{counts:?}"
    );
}
