//! Random sequences of commands and of edits, compared with a model of what the project must contain.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use proptest::{prelude::*, test_runner::RngSeed};

use crate::support::{WIDGET, files, folder, ok, run};

/// A command, or an edit of a file.
#[derive(Clone, Debug)]
enum Act {
    /// Adds a kind, or changes its CRD, with `add-crd`.
    Define(usize, usize),
    /// Changes the CRD of a kind by hand, in its file.
    EditSpec(usize, usize),
    /// Removes a kind with `remove`.
    Remove(usize),
    /// Inserts a line into a file.
    Edit(usize, usize),
    /// Deletes a file.
    Delete(usize),
    /// Runs `regenerate`, and resolves all conflicts in the same way.
    Regenerate(Way),
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Plain,
    Adopt,
    Reset,
}

const KINDS: [&str; 3] = ["Widget", "Gadget", "Sprocket"];

/// Files of each owner; some exist only with their kind.
const FILES: [&str; 10] = [
    "Cargo.toml",
    "Dockerfile",
    "README.md",
    "src/lib.rs",
    "src/controllers/widget.rs",
    "src/controllers/gadget.rs",
    "src/api/widget/v1.rs",
    "src/controllers/mod.rs",
    "manifests/namespace.yaml",
    "manifests/rbac/service-account.yaml",
];

const FIELDS: [&str; 3] = [
    "",
    "              colour: {type: string, enum: [red, green]}\n",
    "              weight: {type: integer, minimum: 1}\n",
];

fn crd(kind: usize, fields: usize) -> String {
    let kind = KINDS[kind];
    let text = WIDGET
        .replace("Widget", kind)
        .replace("widget", &kind.to_lowercase());
    text.replace(
        "              size:\n",
        &format!("{}              size:\n", FIELDS[fields]),
    )
}

fn spec(kind: usize) -> String {
    format!("crds/{}s.example.com.yaml", KINDS[kind].to_lowercase())
}

fn is_tools(path: &str) -> bool {
    ["src/api/", "manifests/", "src/controllers/mod.rs"]
        .iter()
        .any(|start| path.starts_with(start))
}

#[derive(Default)]
struct Model {
    kinds: BTreeSet<usize>,
    /// The user's lines, by their files.
    lines: BTreeMap<&'static str, BTreeSet<String>>,
    deleted: BTreeSet<&'static str>,
    count: usize,
}

impl Model {
    /// Checks that all lines of the user are there, and that no deleted file is.
    fn check(&self, p: &Path, act: &Act) {
        for (path, lines) in &self.lines {
            let text = fs::read_to_string(p.join(path)).unwrap_or_default();
            for line in lines {
                assert!(
                    text.contains(line.as_str()),
                    "{act:?}: {line} of {path} is lost"
                );
            }
        }
        for path in &self.deleted {
            assert!(!p.join(path).exists(), "{act:?}: {path} is back");
        }
    }

    fn act(&mut self, p: &Path, act: &Act) {
        let command = |args: &str| {
            let before = files(p);
            let result = run(p, args);
            // an edit of a CRD that a conflict kept from being accepted, or a CRD that remained when its kind was removed
            let is_kept = |result: &str| {
                result.contains("was edited after") || result.contains("no [[kind]]")
            };
            match result.code {
                0 => {}
                1 => assert!(
                    result.stderr.contains("conflict["),
                    "{args}: {}",
                    result.stderr
                ),
                code => assert!(
                    code == 2 && is_kept(&result.stderr),
                    "{args}: {}",
                    result.stderr
                ),
            }
            if result.code != 0 {
                assert!(
                    files(p) == before,
                    "{args} wrote in spite of {}",
                    result.stderr
                );
            } else {
                let (code, text) = {
                    let again = run(p, "regenerate --check");
                    (again.code, again.stdout + &again.stderr)
                };
                let lacks_a_file = "a file that the generated code needs is missing";
                let only_lacks_one = !self.deleted.is_empty() && text.contains(lacks_a_file);
                assert_eq!(code, i32::from(only_lacks_one), "after {args}: {text}");
            }
            result
        };
        match act {
            Act::Define(kind, fields) => {
                fs::write(p.join("../new.yaml"), crd(*kind, *fields)).unwrap();
                if command("add-crd ../new.yaml --allow-breaking").code == 0 {
                    self.kinds.insert(*kind);
                }
            }
            Act::EditSpec(kind, fields) if self.kinds.contains(kind) => {
                fs::write(p.join(spec(*kind)), crd(*kind, *fields)).unwrap();
                command("regenerate --allow-breaking");
            }
            Act::Remove(kind)
                if self.kinds.contains(kind)
                    && command(&format!("remove {}", KINDS[*kind])).code == 0 =>
            {
                self.kinds.remove(kind);
                // if the kind is added again, its files are created again
                let module = KINDS[*kind].to_lowercase();
                self.deleted.retain(|path| !path.contains(&module));
            }
            Act::Edit(file, place) => {
                let path = FILES[*file];
                let Ok(text) = fs::read_to_string(p.join(path)) else {
                    return;
                };
                self.count += 1;
                let comment = if path.ends_with(".rs") { "//" } else { "#" };
                let line = format!("{comment} mine {}", self.count);
                let mut lines: Vec<&str> = text.lines().collect();
                // not within a value or a command of several lines
                let places: Vec<usize> = (0..lines.len())
                    .filter(|at| lines[*at].is_empty())
                    .collect();
                lines.insert(
                    places
                        .get(place % places.len().max(1))
                        .copied()
                        .unwrap_or_default(),
                    &line,
                );
                fs::write(p.join(path), lines.join("\n") + "\n").unwrap();
                self.lines.entry(path).or_default().insert(line.clone());
            }
            Act::Delete(file) => {
                let path = FILES[*file];
                // Cargo needs its manifest, and so does the user
                if path != "Cargo.toml" && fs::remove_file(p.join(path)).is_ok() {
                    self.lines.remove(path);
                    self.deleted.insert(path);
                }
            }
            Act::Regenerate(way) => {
                let result = command("regenerate --allow-breaking");
                let edited: Vec<&str> = FILES
                    .into_iter()
                    .filter(|path| is_tools(path) && self.lines.contains_key(path))
                    .collect();
                let args = |option: &str| {
                    edited
                        .iter()
                        .map(|path| format!(" {option} {path}"))
                        .collect::<String>()
                };
                match way {
                    Way::Plain => {}
                    _ if result.code == 0 => {}
                    Way::Adopt => {
                        ok(
                            p,
                            &format!("regenerate --allow-breaking{}", args("--adopt")),
                        );
                    }
                    Way::Reset => {
                        ok(
                            p,
                            &format!("regenerate --allow-breaking{}", args("--reset")),
                        );
                        for path in edited {
                            self.lines.remove(path);
                        }
                    }
                }
            }
            _ => {}
        }
        self.check(p, act);
    }
}

fn act() -> impl Strategy<Value = Act> {
    let kind = || 0..KINDS.len();
    let fields = || 0..FIELDS.len();
    prop_oneof![
        3 => (kind(), fields()).prop_map(|(kind, fields)| Act::Define(kind, fields)),
        2 => (kind(), fields()).prop_map(|(kind, fields)| Act::EditSpec(kind, fields)),
        1 => kind().prop_map(Act::Remove),
        4 => (0..FILES.len(), 0..40_usize).prop_map(|(file, place)| Act::Edit(file, place)),
        1 => (0..FILES.len()).prop_map(Act::Delete),
        3 => prop_oneof![Just(Way::Plain), Just(Way::Adopt), Just(Way::Reset)].prop_map(Act::Regenerate),
    ]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_of_the_user_is_lost(acts in prop::collection::vec(act(), 4..16)) {
        let folder = folder();
        ok(folder.path(), "init p --crd widget.yaml");
        let p = folder.path().join("p");
        let mut model = Model { kinds: [0].into(), ..Model::default() };
        for act in &acts {
            model.act(&p, act);
        }
    }
}

/// By default, a few cases, which are the same in each run; with `PROPTEST_CASES`, that number of random cases.
fn config() -> ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: wanted.unwrap_or(6),
        rng_seed: match wanted {
            Some(_) => RngSeed::Random,
            None => RngSeed::Fixed(5),
        },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
