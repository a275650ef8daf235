use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::plan::cargo_toml;

const PATH: &str = "some/file";

fn tree(owner: Owner, text: &str) -> Tree {
    let mut tree = Tree::default();
    tree.insert(PATH, owner, text);
    tree
}

/// The disk after a plan.
fn applied(mut ours: Ours, plan: &Plan) -> Ours {
    for change in &plan.changes {
        match &change.after {
            Some(text) => ours.0.insert(change.path.clone(), text.clone()),
            None => ours.0.remove(&change.path),
        };
    }
    ours
}

fn lock(ours: &Ours) -> Lock {
    ours.get(LOCK)
        .map(|text| Lock::read(text).unwrap())
        .unwrap_or_default()
}

fn all(_: &str) -> bool {
    true
}

fn planned(disk: &Ours, theirs: Tree) -> Plan {
    resolved(disk, theirs, &Resolution::default())
}

fn resolved(disk: &Ours, theirs: Tree, resolution: &Resolution) -> Plan {
    plan(&lock(disk), disk, theirs, all, resolution)
}

/// A project in which `base` was generated, with `ours` on disk now (`None`: removed).
fn project(owner: Owner, base: &str, ours: Option<&str>) -> Ours {
    let first = planned(&Ours::default(), tree(owner, base));
    let mut disk = applied(Ours::default(), &first);
    match ours {
        Some(text) => disk.0.insert(PATH.into(), text.into()),
        None => disk.0.remove(PATH),
    };
    disk
}

#[test]
fn each_owner_has_its_rule() {
    use Owner::{Merged, Tool, User};
    type Case<'a> = (Owner, Option<&'a str>, &'a str, Option<&'a str>, bool);
    let lines = "1\n2\n3\n4\n5\n";
    let (edited, moved) = (lines.replace('5', "five"), lines.replace('1', "one"));
    let both = moved.replace('5', "five");
    let clash = lines.replace('5', "fifth");
    // owner, ours, theirs, on disk afterwards, whether there is a conflict
    let cases: [Case<'_>; 12] = [
        (Tool, Some(lines), &moved, Some(&moved), false),
        (Tool, Some(&edited), lines, Some(&edited), true),
        (Tool, Some(&edited), &moved, Some(&edited), true),
        (Tool, Some(&edited), &edited, Some(&edited), false),
        (Tool, None, &moved, None, false),
        (Merged, Some(lines), &moved, Some(&moved), false),
        (Merged, Some(&edited), lines, Some(&edited), false),
        (Merged, Some(&edited), &moved, Some(&both), false),
        (Merged, Some(&edited), &clash, Some(&edited), true),
        (Merged, None, &moved, None, false),
        (User, Some(&edited), &moved, Some(&edited), false),
        (User, None, &moved, None, false),
    ];
    for (owner, ours, theirs, expected, conflict) in cases {
        let disk = project(owner, lines, ours);
        let plan = planned(&disk, tree(owner, theirs));
        let case = format!("{owner:?} {ours:?} {theirs:?}");
        assert_eq!(!plan.conflicts.is_empty(), conflict, "{case}");
        assert_eq!(applied(disk, &plan).get(PATH), expected, "{case}");
    }
}

#[test]
fn a_skeleton_is_replaced_until_it_is_edited() {
    let skeleton = |text: &str| {
        let mut tree = Tree::default();
        tree.insert_skeleton(PATH, text);
        tree
    };
    for (ours, expected) in [
        (Some("a\n"), Some("c\n")),
        (Some("b\n"), Some("b\n")),
        (None, None),
    ] {
        let disk = project(Owner::User, "a\n", ours);
        let plan = planned(&disk, skeleton("c\n"));
        let disk = applied(disk, &plan);
        assert_eq!(disk.get(PATH), expected, "{ours:?}");
        assert_eq!(planned(&disk, skeleton("c\n")), Plan::default(), "{ours:?}");
    }
    let mut adopted = project(Owner::User, "a\n", Some("a\n"));
    adopted.0.remove(LOCK);
    let plan = planned(&adopted, skeleton("c\n"));
    assert_eq!(applied(adopted, &plan).get(PATH), Some("a\n"));
}

#[test]
fn a_file_that_is_no_longer_generated_is_removed_unless_edited() {
    for (owner, ours, stays, conflict) in [
        (Owner::Tool, "a\n", false, false),
        (Owner::Tool, "b\n", true, true),
        (Owner::Merged, "a\n", false, false),
        (Owner::Merged, "b\n", true, false),
        (Owner::User, "a\n", false, false),
        (Owner::User, "b\n", true, false),
    ] {
        let disk = project(owner, "a\n", Some(ours));
        let plan = planned(&disk, Tree::default());
        assert_eq!(!plan.conflicts.is_empty(), conflict, "{owner:?} {ours}");
        assert_eq!(
            applied(disk, &plan).get(PATH).is_some(),
            stays,
            "{owner:?} {ours}"
        );
    }
}

#[test]
fn a_file_that_is_deleted_while_it_is_not_generated_is_created_again() {
    for owner in [Owner::Merged, Owner::Keys] {
        let disk = project(owner, "a = 1\n", Some("a = 2\n"));
        let mut disk = applied(disk.clone(), &planned(&disk, Tree::default()));
        disk.0.remove(PATH);
        let plan = planned(&disk, tree(owner, "a = 3\n"));
        assert_eq!((&plan.conflicts, &plan.notes), (&vec![], &vec![]));
        let disk = applied(disk, &plan);
        assert_eq!(disk.get(PATH), Some("a = 3\n"), "{owner:?}");
        assert_eq!(planned(&disk, tree(owner, "a = 3\n")), Plan::default());
    }
}

#[test]
fn an_edited_file_that_is_no_longer_generated_is_removed_only_if_its_path_is_reset() {
    for owner in [Owner::Merged, Owner::Keys] {
        let disk = project(owner, "a = 1\n", Some("a = 2\n"));
        let orphan = applied(disk.clone(), &planned(&disk, Tree::default()));
        for (disk, case) in [(&disk, "edited"), (&orphan, "orphan")] {
            for (reset, kept) in [(".", true), ("some", true), (PATH, false)] {
                let resolution = Resolution {
                    reset: vec![reset.into()],
                    ..Resolution::default()
                };
                let after = applied(disk.clone(), &resolved(disk, Tree::default(), &resolution));
                assert_eq!(after.get(PATH).is_some(), kept, "{owner:?} {case} {reset}");
            }
            let adopt = Resolution {
                adopt: vec!["some".into()],
                ..Resolution::default()
            };
            let plan = resolved(disk, Tree::default(), &adopt);
            assert_eq!(plan.notes, [Note::Orphan(PATH.into())], "{owner:?} {case}");
            let after = applied(disk.clone(), &plan);
            assert_eq!((after.get(PATH), after.base(PATH)), (Some("a = 2\n"), None));
            assert_eq!(planned(&after, Tree::default()), Plan::default());
            let again = planned(&after, tree(owner, "a = 3\n"));
            assert_eq!(again.conflicts, []);
            assert_eq!(again.notes, [Note::GeneratedChanged(PATH.into())]);
            let after = applied(after, &again);
            assert_eq!(after.get(PATH), Some("a = 2\n"), "it is the user's");
        }
    }
}

#[test]
fn an_adopted_file_stays_the_users_while_it_is_not_generated() {
    for owner in [Owner::Tool, Owner::Merged, Owner::Keys] {
        let disk = project(owner, "a = 1\n", Some("a = 2\n"));
        let adopt = Resolution {
            adopt: vec![PATH.into()],
            ..Resolution::default()
        };
        let adopted = resolved(&disk, tree(owner, "a = 1\n"), &adopt);
        // the same holds if it is adopted when it is no longer generated
        for plan in [adopted, resolved(&disk, Tree::default(), &adopt)] {
            let disk = applied(disk.clone(), &plan);
            let away = applied(disk.clone(), &planned(&disk, Tree::default()));
            assert_eq!(planned(&away, Tree::default()), Plan::default());
            let folder = Resolution {
                reset: vec!["some".into()],
                ..Resolution::default()
            };
            let back = resolved(&away, tree(owner, "a = 1\n"), &folder);
            assert_eq!(back.conflicts, [], "{owner:?}");
            let back = applied(away.clone(), &back);
            assert_eq!(back.get(PATH), Some("a = 2\n"), "{owner:?}");
            assert_eq!(planned(&back, tree(owner, "a = 1\n")), Plan::default());
            // if the user deletes it meanwhile, it is generated again as a new file
            let mut deleted = away;
            deleted.0.remove(PATH);
            let created = planned(&deleted, tree(owner, "a = 1\n"));
            let created = applied(deleted, &created);
            assert_eq!(created.get(PATH), Some("a = 1\n"), "{owner:?}");
            assert_eq!(planned(&created, tree(owner, "a = 1\n")), Plan::default());
        }
    }
}

#[test]
fn a_file_of_the_user_is_forgotten_when_it_is_no_longer_generated() {
    let written = project(Owner::User, "a\n", Some("b\n"));
    // a file that existed before it was generated
    let mut used = project(Owner::Tool, "a\n", Some("a\n"));
    used.0.insert("other".into(), "mine\n".into());
    let mut both = tree(Owner::Tool, "a\n");
    both.insert("other", Owner::User, "generated\n");
    let used = applied(used.clone(), &planned(&used, both));
    assert!(lock(&used).files.contains_key("other"));
    for (disk, theirs) in [(written, Tree::default()), (used, tree(Owner::Tool, "a\n"))] {
        let after = applied(disk.clone(), &planned(&disk, theirs));
        let owners: Vec<Owner> = lock(&after).files.values().map(|it| it.owner).collect();
        assert!(!owners.contains(&Owner::User), "{owners:?}");
    }
}

#[test]
fn a_file_with_the_edits_of_its_base_is_not_removed() {
    for owner in [Owner::Merged, Owner::Keys] {
        let mut disk = project(owner, "a = 1\n", Some("a = 2\n"));
        // a search and replace in all files also edits the base
        disk.0.insert(format!("{BASE}{PATH}"), "a = 2\n".into());
        let disk = applied(disk.clone(), &planned(&disk, Tree::default()));
        assert_eq!(disk.get(PATH), Some("a = 2\n"), "{owner:?}");
    }
}

#[test]
fn a_file_that_existed_before_is_kept_and_noted_once() {
    let mut disk = project(Owner::Tool, "a\n", Some("a\n"));
    disk.0.insert("other".into(), "mine\n".into());
    let theirs = || {
        let mut theirs = tree(Owner::Tool, "a\n");
        theirs.insert("other", Owner::Merged, "generated\n");
        theirs
    };
    let plan = planned(&disk, theirs());
    assert_eq!(plan.conflicts, []);
    assert_eq!(plan.notes, [Note::Present("other".into())]);
    let disk = applied(disk, &plan);
    assert_eq!(disk.get("other"), Some("mine\n"));
    assert_eq!(planned(&disk, theirs()), Plan::default());
}

#[test]
fn other_line_endings_are_not_an_edit() {
    let disk = project(Owner::Tool, "a\nb\n", Some("a\r\nb\r\n"));
    assert_eq!(planned(&disk, tree(Owner::Tool, "a\nb\n")), Plan::default());
    let plan = planned(&disk, tree(Owner::Tool, "c\n"));
    assert_eq!(
        (plan.conflicts.len(), plan.changes[0].action),
        (0, Action::Update)
    );
}

#[test]
fn a_deleted_file_is_not_restored_without_reset() {
    for owner in [Owner::Tool, Owner::Merged, Owner::User] {
        let disk = project(owner, "a\n", None);
        let plan = planned(&disk, tree(owner, "b\n"));
        assert_eq!(plan.notes.len(), usize::from(owner != Owner::User));
        let disk = applied(disk, &plan);
        assert_eq!(planned(&disk, tree(owner, "b\n")), Plan::default());
        let reset = Resolution {
            reset: vec!["some".into()],
            ..Resolution::default()
        };
        let disk = applied(disk.clone(), &resolved(&disk, tree(owner, "b\n"), &reset));
        assert_eq!(disk.get(PATH), Some("b\n"), "{owner:?}");
        assert_eq!(planned(&disk, tree(owner, "b\n")), Plan::default());
    }
}

#[test]
fn an_adopted_file_belongs_to_the_user_until_reset() {
    for owner in [Owner::Tool, Owner::Merged, Owner::Keys] {
        let disk = project(owner, "a = 1\n", Some("a = 2\n"));
        let adopt = Resolution {
            adopt: vec![PATH.into()],
            ..Resolution::default()
        };
        let plan = resolved(&disk, tree(owner, "a = 3\n"), &adopt);
        assert_eq!(
            (plan.conflicts.len(), plan.notes.len()),
            (0, 1),
            "{owner:?}"
        );
        let disk = applied(disk, &plan);
        assert_eq!(disk.get(PATH), Some("a = 2\n"));
        assert_eq!(disk.base(PATH), None);
        assert_eq!(planned(&disk, tree(owner, "a = 3\n")), Plan::default());
        // a change of the generated text is reported once
        let behind = planned(&disk, tree(owner, "a = 4\n"));
        assert_eq!(behind.notes, [Note::GeneratedChanged(PATH.into())]);
        let disk = applied(disk, &behind);
        assert_eq!(disk.get(PATH), Some("a = 2\n"));
        assert_eq!(planned(&disk, tree(owner, "a = 4\n")), Plan::default());
        let reset = Resolution {
            reset: vec![PATH.into()],
            ..Resolution::default()
        };
        let disk = applied(
            disk.clone(),
            &resolved(&disk, tree(owner, "a = 4\n"), &reset),
        );
        assert_eq!(disk.get(PATH), Some("a = 4\n"));
        assert_eq!(planned(&disk, tree(owner, "a = 4\n")), Plan::default());
    }
}

#[test]
fn conflict_markers_of_git_are_not_adopted() {
    let marked = "<<<<<<< HEAD\na = 2\n=======\na = 3\n>>>>>>> other\n";
    let adopt = Resolution {
        adopt: vec![PATH.into()],
        ..Resolution::default()
    };
    for owner in [Owner::Tool, Owner::Merged, Owner::Keys] {
        let disk = project(owner, "a = 1\n", Some(marked));
        for resolution in [Resolution::default(), adopt.clone()] {
            let plan = resolved(&disk, tree(owner, "a = 4\n"), &resolution);
            assert_eq!(plan.conflicts[0].cause, Cause::Unresolved, "{owner:?}");
        }
    }
}

#[test]
fn a_missing_base_is_a_conflict_of_its_own() {
    let mut disk = project(Owner::Merged, "1\n2\n3\n", Some("1\n2\nthree\n"));
    disk.0.remove(&format!("{BASE}{PATH}"));
    let plan = planned(&disk, tree(Owner::Merged, "1\n2\n3\n"));
    assert_eq!(plan.conflicts[0].cause, Cause::Baseless);
}

#[test]
fn a_failed_merge_writes_markers_only_on_request() {
    let disk = project(Owner::Merged, "1\n2\n3\n", Some("1\r\ntwo\r\n3\r\n"));
    let theirs = || tree(Owner::Merged, "1\nzwei\n3\n");
    let plan = planned(&disk, theirs());
    assert!(plan.changes.is_empty(), "{plan:?}");
    assert_eq!(plan.conflicts[0].cause, Cause::Both);
    let markers = Resolution {
        write_conflicts: true,
        ..Resolution::default()
    };
    let disk = applied(disk.clone(), &resolved(&disk, theirs(), &markers));
    let expected = "1\r\n<<<<<<< ours\r\ntwo\r\n||||||| original\r\n2\r\n=======\r\nzwei\r\n>>>>>>> theirs\r\n3\r\n";
    assert_eq!(disk.get(PATH), Some(expected));
    assert_eq!(
        planned(&disk, theirs()).conflicts[0].cause,
        Cause::Unresolved
    );
    let mut disk = disk;
    disk.0.insert(PATH.into(), "1\r\nboth\r\n3\r\n".into());
    assert_eq!(planned(&disk, theirs()), Plan::default());
}

#[test]
fn a_merge_keeps_the_users_line_endings_and_final_newline() {
    let disk = project(
        Owner::Merged,
        "1\n2\n3\n4\n5\n",
        Some("1\r\n2\r\n3\r\n4\r\nfive"),
    );
    let plan = planned(&disk, tree(Owner::Merged, "one\n2\n3\n4\n5\n"));
    let disk = applied(disk, &plan);
    assert_eq!(disk.get(PATH), Some("one\r\n2\r\n3\r\n4\r\nfive"));
}

#[test]
fn files_outside_the_requested_part_are_not_changed() {
    let disk = project(Owner::Tool, "a\n", Some("a\n"));
    let only = |path: &str| path.starts_with("manifests/");
    let theirs = tree(Owner::Tool, "b\n");
    let planned = plan(&lock(&disk), &disk, theirs, only, &Resolution::default());
    assert_eq!(planned, Plan::default());
}

fn owner() -> impl Strategy<Value = Owner> {
    prop_oneof![Just(Owner::Tool), Just(Owner::Merged), Just(Owner::User)]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec("[abc]", 0..6)
        .prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
}

proptest! {
    #[test]
    fn a_plan_after_apply_is_empty(owner in owner(), base in text(), ours in prop::option::of(text()), theirs in text()) {
        let disk = project(owner, &base, ours.as_deref());
        let plan = planned(&disk, tree(owner, &theirs));
        prop_assume!(plan.conflicts.is_empty());
        let disk = applied(disk, &plan);
        prop_assert_eq!(planned(&disk, tree(owner, &theirs)), Plan::default());
    }

    #[test]
    fn an_edit_is_never_overwritten(owner in owner(), base in text(), edit in "[xyz]", theirs in text()) {
        let disk = project(owner, &base, Some(&format!("{base}{edit}\n")));
        let plan = planned(&disk, tree(owner, &theirs));
        let disk = applied(disk, &plan);
        let kept = disk.get(PATH).is_some_and(|text| text.lines().any(|line| line == edit));
        prop_assert!(kept);
    }

    #[test]
    fn an_edit_is_merged_as_well_after_a_time_without_the_file(base in text(), edit in "[xyz]", theirs in text()) {
        let disk = project(Owner::Merged, &base, Some(&format!("{base}{edit}\n")));
        let without = planned(&disk, Tree::default());
        prop_assert_eq!(&without.notes, &[Note::Orphan(PATH.into())]);
        let away = applied(disk.clone(), &without);
        prop_assert_eq!(planned(&away, Tree::default()), Plan::default());
        let (direct, back) = (planned(&disk, tree(Owner::Merged, &theirs)), planned(&away, tree(Owner::Merged, &theirs)));
        prop_assert_eq!(&back.conflicts, &direct.conflicts);
        prop_assert_eq!(&back.notes, &direct.notes);
        if back.conflicts.is_empty() {
            prop_assert_eq!(applied(away, &back), applied(disk, &direct));
        }
    }

    #[test]
    fn a_users_key_survives_any_change_of_ours(base in "[a-c]{0,3}", theirs in "[a-c]{0,3}") {
        let toml = |keys: &str| {
            let keys: BTreeMap<char, usize> = keys.chars().enumerate().map(|(i, c)| (c, i)).collect();
            keys.iter().map(|(key, i)| format!("{key} = {i}\n")).collect::<String>()
        };
        let ours = toml(&base) + "mine = true # yes\n";
        let Ok(merged) = cargo_toml::merge(&toml(&base), &ours, &toml(&theirs)) else {
            return Err(TestCaseError::fail("a conflict"));
        };
        let mut lines: Vec<&str> = merged.lines().collect();
        lines.sort_unstable();
        let expected = toml(&theirs) + "mine = true # yes";
        prop_assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    }

    #[test]
    fn a_merge_has_all_added_and_no_removed_lines(
        base in prop::collection::vec("[a-f]", 0..12),
        edits in prop::collection::vec((0..12_usize, any::<bool>(), any::<bool>()), 0..6),
    ) {
        // all lines are distinct, so that each line of a result has one origin
        let base: Vec<String> = base.iter().enumerate().map(|(i, line)| format!("{line}{i}")).collect();
        let (mut ours, mut theirs) = (base.clone(), base.clone());
        for (count, (at, is_ours, is_insert)) in edits.iter().enumerate() {
            let side = if *is_ours { &mut ours } else { &mut theirs };
            let at = (*at).min(side.len());
            if *is_insert {
                side.insert(at, format!("new{count}"));
            } else if at < side.len() {
                side.remove(at);
            }
        }
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        if let Ok(merged) = Merge::Lines.merge(&text(&base), &text(&ours), &text(&theirs)) {
            let merged: Vec<&str> = merged.lines().collect();
            for line in ours.iter().chain(&theirs).filter(|line| line.starts_with("new")) {
                let count = merged.iter().filter(|merged_line| *merged_line == line).count();
                prop_assert_eq!(count, 1, "{} {:?}", line, merged);
            }
            for line in &base {
                let stays = ours.contains(line) && theirs.contains(line);
                prop_assert_eq!(merged.contains(&line.as_str()), stays, "{} {:?}", line, merged);
            }
        }
    }
}
