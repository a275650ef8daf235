use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

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

/// A project in which `base` was generated, with `ours` on disk now (`None`: removed).
fn project(owner: Owner, base: &str, ours: Option<&str>) -> Ours {
    let first = plan(&Lock::default(), &Ours::default(), tree(owner, base), all);
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
    // owner, ours, theirs → on disk afterwards, conflict?
    let cases: [Case<'_>; 12] = [
        (Tool, Some(lines), &moved, Some(&moved), false),
        (Tool, Some(&edited), lines, Some(&edited), true),
        (Tool, Some(&edited), &moved, Some(&edited), true),
        (Tool, Some(&edited), &edited, Some(&edited), false),
        (Tool, None, &moved, Some(&moved), false),
        (Merged, Some(lines), &moved, Some(&moved), false),
        (Merged, Some(&edited), lines, Some(&edited), false),
        (Merged, Some(&edited), &moved, Some(&both), false),
        (Merged, Some(&edited), &clash, Some(&edited), false),
        (Merged, None, &moved, None, false),
        (User, Some(&edited), &moved, Some(&edited), false),
        (User, None, &moved, None, false),
    ];
    for (owner, ours, theirs, expected, conflict) in cases {
        let disk = project(owner, lines, ours);
        let made = plan(&lock(&disk), &disk, tree(owner, theirs), all);
        let case = format!("{owner:?} {ours:?} {theirs:?}");
        assert_eq!(!made.conflicts.is_empty(), conflict, "{case}");
        assert_eq!(applied(disk, &made).get(PATH), expected, "{case}");
    }
}

#[test]
fn what_is_no_longer_generated_goes_only_if_nobody_edited_it() {
    for (owner, ours, stays, conflict) in [
        (Owner::Tool, "a\n", false, false),
        (Owner::Tool, "b\n", true, true),
        (Owner::Merged, "a\n", false, false),
        (Owner::Merged, "b\n", true, false),
        (Owner::User, "a\n", true, false),
    ] {
        let disk = project(owner, "a\n", Some(ours));
        let made = plan(&lock(&disk), &disk, Tree::default(), all);
        assert_eq!(!made.conflicts.is_empty(), conflict, "{owner:?} {ours}");
        assert_eq!(
            applied(disk, &made).get(PATH).is_some(),
            stays,
            "{owner:?} {ours}"
        );
    }
}

#[test]
fn other_line_endings_are_no_edit() {
    let disk = project(Owner::Tool, "a\nb\n", Some("a\r\nb\r\n"));
    assert_eq!(
        plan(&lock(&disk), &disk, tree(Owner::Tool, "a\nb\n"), all),
        Plan::default()
    );
    let made = plan(&lock(&disk), &disk, tree(Owner::Tool, "c\n"), all);
    assert_eq!(
        (made.conflicts.len(), made.changes[0].act),
        (0, Act::Update)
    );
}

#[test]
fn a_kept_file_is_told_once() {
    let disk = project(Owner::Merged, "a\n", Some("b\n"));
    let made = plan(&lock(&disk), &disk, tree(Owner::Merged, "c\n"), all);
    assert!(matches!(&made.notes[..], [Note::Kept { diff, .. }] if diff.contains("-a\n+c\n")));
    let disk = applied(disk, &made);
    assert_eq!(
        plan(&lock(&disk), &disk, tree(Owner::Merged, "c\n"), all),
        Plan::default()
    );
}

#[test]
fn files_outside_the_part_that_was_asked_for_stay_as_they_are() {
    let disk = project(Owner::Tool, "a\n", Some("a\n"));
    let made = plan(&lock(&disk), &disk, tree(Owner::Tool, "b\n"), |path| {
        path.starts_with("manifests/")
    });
    assert_eq!(made, Plan::default());
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
        let made = plan(&lock(&disk), &disk, tree(owner, &theirs), all);
        prop_assume!(made.conflicts.is_empty());
        let disk = applied(disk, &made);
        prop_assert_eq!(plan(&lock(&disk), &disk, tree(owner, &theirs), all), Plan::default());
    }

    #[test]
    fn an_edit_is_never_overwritten(owner in owner(), base in text(), edit in "[xyz]", theirs in text()) {
        let disk = project(owner, &base, Some(&format!("{base}{edit}\n")));
        let made = plan(&lock(&disk), &disk, tree(owner, &theirs), all);
        let disk = applied(disk, &made);
        let kept = disk.get(PATH).is_some_and(|text| text.lines().any(|line| line == edit));
        prop_assert!(kept);
    }

    #[test]
    fn a_key_of_the_user_survives_any_change_of_ours(base in "[a-c]{0,3}", theirs in "[a-c]{0,3}") {
        let toml = |keys: &str| {
            let keys: BTreeMap<char, usize> = keys.chars().enumerate().map(|(i, c)| (c, i)).collect();
            keys.iter().map(|(key, i)| format!("{key} = {i}\n")).collect::<String>()
        };
        let ours = toml(&base) + "mine = true # yes\n";
        let Merged::Clean(merged) = keys::merge(&toml(&base), &ours, &toml(&theirs)) else {
            return Err(TestCaseError::fail("a conflict"));
        };
        let mut lines: Vec<&str> = merged.lines().collect();
        lines.sort_unstable();
        let expected = toml(&theirs) + "mine = true # yes";
        prop_assert_eq!(lines, expected.lines().collect::<Vec<_>>());
    }
}
