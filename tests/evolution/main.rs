//! Whether the verdicts on a changed CRD are true: objects of the old schema are validated by the new one, as manifests of clients and as
//! stored objects. The changes are small edits of small schemas, and real histories if `$HISTORIES` names them.

mod judge;
mod small;

use std::{collections::BTreeMap, fs, path::Path};

use cargo_operator::{
    crd::{self, Api},
    evolution::{Change, ChangeKind, Difference, Party, Verdict, differences},
    types,
    types::SchemaMode,
};
use judge::Witnesses;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_differs_from_itself(schema in small::schema()) {
        let api = small::api(&schema);
        prop_assert_eq!(differences(&api, &api), []);
    }

    #[test]
    fn every_broken_party_was_reported(steps in small::evolution(), seed in any::<u64>()) {
        let [before, after] = steps.map(|schema| small::api(&schema));
        let found = differences(&before, &after);
        let schemas = [&before.versions[0].schema, &after.versions[0].schema];
        if let Err(unseen) = Witnesses::of(schemas, 20, seed).check_reported(&found) {
            prop_assert!(false, "{}\n{:#?}", unseen, found);
        }
    }

    #[test]
    fn reversed_changes_have_opposite_kinds(steps in small::evolution()) {
        let [before, after] = steps.map(|schema| small::api(&schema));
        let (there, back) = (differences(&before, &after), differences(&after, &before));
        prop_assert_eq!(sides(&there, opposite), sides(&back, |what| what));
    }
}

fn opposite(what: ChangeKind) -> ChangeKind {
    match what {
        ChangeKind::Added => ChangeKind::Removed,
        ChangeKind::Removed => ChangeKind::Added,
        ChangeKind::Tightened => ChangeKind::Loosened,
        ChangeKind::Loosened => ChangeKind::Tightened,
        ChangeKind::Retyped | ChangeKind::Changed => what,
    }
}

/// The field and the kind of each difference, except those below a changed type: they are reported only if one of the types has all values
/// of the other.
fn sides(
    found: &[Difference],
    as_: impl Fn(ChangeKind) -> ChangeKind,
) -> Vec<(String, ChangeKind)> {
    let is_retyped =
        |it: &&Difference| matches!(it.change, Change::TypeChanged | Change::TypeWidened);
    let is_under = |it: &Difference, above: &Difference| {
        let node = above.pointer.trim_end_matches("/type");
        let rest = it.pointer.strip_prefix(node);
        above != it && rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let retyped: Vec<&Difference> = found.iter().filter(is_retyped).collect();
    let mut sides: Vec<_> = found
        .iter()
        .filter(|it| !retyped.iter().any(|above| is_under(it, above)))
        .map(|it| (it.field_path(), as_(it.kind())))
        .collect();
    sides.sort();
    sides
}

/// Whether a path equals another one, or is below it.
fn is_at(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || above.is_empty())
}

#[derive(Default)]
struct Tally {
    reported: usize,
    broken: [usize; 3],
    /// How many should break stored objects or clients.
    judged: usize,
    /// How many of these break one of the objects.
    witnessed: usize,
}

#[test]
fn the_verdicts_on_real_histories_are_correct() {
    let Some(folder) = std::env::var_os("HISTORIES") else {
        return;
    };
    let (mut steps, mut objects, mut retypes) = (0, 0, 0);
    let (mut calm, mut breaking) = (0, 0);
    let mut tallies: BTreeMap<Change, Tally> = BTreeMap::new();
    let mut unseen = vec![];
    for folder in sorted(Path::new(&folder))
        .iter()
        .filter(|path| path.is_dir())
    {
        let paths = sorted(folder);
        let apis: Vec<Api> = paths.iter().map(|path| read(path)).collect();
        for (index, pair) in apis.windows(2).enumerate() {
            let [before, after] = pair else { continue };
            let at = paths[index + 1].display();
            steps += 1;
            let found = differences(before, after);
            if found.iter().any(Difference::is_breaking) {
                breaking += 1;
            } else {
                calm += 1;
            }
            for was in before.versions.iter().filter(|version| version.served) {
                let Some(is) = after.version(&was.name).filter(|version| version.served) else {
                    continue;
                };
                let of_version: Vec<Difference> = found
                    .iter()
                    .filter(|it| it.version.as_ref() == Some(&is.name))
                    .cloned()
                    .collect();
                let witnesses = Witnesses::of([&was.schema, &is.schema], 12, 7);
                objects += witnesses.objects;
                if let Err(what) = witnesses.check_reported(&of_version) {
                    unseen.push(format!("{at} {}: {what}", is.name));
                }
                for difference in &of_version {
                    let tally = tallies.entry(difference.change).or_default();
                    let is_of_schema = difference.pointer.starts_with(&is.schema_pointer())
                        || difference.pointer.starts_with(&was.schema_pointer());
                    let verdict = difference.impact.stored.max(difference.impact.clients);
                    if is_of_schema && verdict == Verdict::Breaking {
                        tally.judged += 1;
                        tally.witnessed += usize::from(witnesses.has(difference));
                    }
                }
                let record = |api: &Api, version| {
                    types::module(api, version, SchemaMode::Embed)
                        .facts
                        .record()
                };
                for retype in types::retyped(&record(before, was), &record(after, is)) {
                    let path = retype.path.join(".");
                    let is_reported = of_version.iter().any(|it| {
                        it.impact.readers == Verdict::Breaking && is_at(&it.field_path(), &path)
                    });
                    // a type that is only renamed, because it is shared or replaced by one of k8s-openapi, is no difference
                    let is_renamed = unnamed(&retype.before) == unnamed(&retype.after);
                    retypes += usize::from(!is_renamed);
                    if !is_reported && !is_renamed {
                        unseen.push(format!(
                            "{at}: {path}: {} -> {}",
                            retype.before, retype.after
                        ));
                    }
                }
            }
            for difference in &found {
                let tally = tallies.entry(difference.change).or_default();
                tally.reported += 1;
                for party in difference.broken() {
                    tally.broken[party as usize] += 1;
                }
            }
        }
    }
    eprintln!(
        "{steps} steps, {breaking} breaking and {calm} not; {objects} objects; {retypes} retypes"
    );
    let parties = Party::ALL.map(Party::as_str).join(", ");
    eprintln!("change: reported, breaking for {parties}; of the last two, seen in an object");
    let (mut judged, mut witnessed) = (0, 0);
    for (change, tally) in &tallies {
        let [readers, stored, clients] = tally.broken;
        eprintln!(
            "{}: {}, {readers} {stored} {clients}; {} of {}",
            change.as_str(),
            tally.reported,
            tally.witnessed,
            tally.judged
        );
        judged += tally.judged;
        witnessed += tally.witnessed;
    }
    eprintln!("{witnessed} of {judged} verdicts seen in an object");
    assert_eq!(unseen, [""; 0]);
}

/// A type with `_` for all names that a module defines or imports.
fn unnamed(type_: &str) -> String {
    const KEPT: [&str; 10] = [
        "Option",
        "Vec",
        "BTreeMap",
        "String",
        "bool",
        "i32",
        "i64",
        "IntOrString",
        "Quantity",
        "Value",
    ];
    let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut unnamed = String::new();
    for part in type_.split_inclusive(|letter| !is_letter(letter)) {
        let name = part.trim_end_matches(|letter| !is_letter(letter));
        let is_kept = name.is_empty() || KEPT.contains(&name);
        unnamed += if is_kept { name } else { "_" };
        unnamed += &part[name.len()..];
    }
    unnamed
}

fn sorted(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Api {
    let text = fs::read_to_string(path).unwrap();
    crd::read(&path.to_string_lossy(), &text).unwrap().remove(0)
}
