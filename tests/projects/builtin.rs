//! A project with controllers of built-in kinds, in all forms of the example: each compiles, and its test passes.

use std::{collections::BTreeSet, path::Path};

use cargo_operator::{
    config::ConfigFile,
    operator::{builtin_kinds, resolve},
    plan::Tree,
    render::{self, UserFiles},
};
use heck::ToKebabCase;

use crate::project::{test, write};

/// The files of a project with these tables.
fn tree(tables: &str) -> Tree {
    let config = format!(
        "format = 1\nname = \"builtin\"\nruntime = {{ path = {:?} }}\ntool = \"0.1.0\"\nnamespaces = \"all\"\n{tables}",
        env!("CARGO_MANIFEST_DIR")
    );
    let config = ConfigFile::read(&config).unwrap().config;
    let operator = resolve(&config, &[], |_| false).unwrap();
    render::render(&operator, &UserFiles::default()).tree
}

/// The number of controllers with a test, whose name ends with `name`.
fn tests(tree: &Tree, name: &str) -> usize {
    let files = tree.0.iter();
    files
        .filter(|(path, file)| path.starts_with("tests/") && file.text.contains(name))
        .count()
}

const RECORDS: &str = "_records_an_event()";
const HANDLES: &str = "_calls_its_handlers()";

#[test]
fn every_built_in_kind_may_have_a_controller_with_a_test() {
    let kinds: Vec<String> = builtin_kinds().collect();
    // Certificate signing requests have no sample, because somebody has to sign them. A reconciler records no event about both kinds of
    // events.
    for (scaffold, name, untested) in [("controller", RECORDS, 3), ("handlers", HANDLES, 1)] {
        let mut tables = String::new();
        for kind in &kinds {
            let mut name = kind.rsplit('/').next().unwrap().to_kebab_case();
            if tables.contains(&format!("{name:?}")) {
                name = kind.to_kebab_case();
            }
            tables += &format!(
                "\n[[controller]]\nname = {name:?}\nkind = {kind:?}\nscaffold = {scaffold:?}\n"
            );
        }
        let tree = tree(&tables);
        assert_eq!(tests(&tree, name), kinds.len() - untested, "{scaffold}");
        let all_parse = tree
            .0
            .iter()
            .all(|(path, file)| !path.ends_with(".rs") || syn::parse_file(&file.text).is_ok());
        assert!(all_parse, "{scaffold}");
    }
}

#[test]
fn controllers_of_built_in_kinds_pass_their_tests() {
    let tree = tree(
        r#"
[[controller]]
name = "pod"
kind = "v1/Pod"

[[controller]]
name = "deployment"
kind = "apps/v1/Deployment"
cleanup = true

[[controller]]
name = "node"
kind = "v1/Node"
cache = "metadata"

[[controller]]
name = "secret"
kind = "v1/Secret"
cache = "metadata"
cleanup = true

[[controller]]
name = "job"
kind = "batch/v1/Job"

# its struct would have the name of the type
[[controller]]
name = "replication"
kind = "v1/ReplicationController"

[[controller]]
name = "match"
kind = "v1/Event"
cleanup = true

[[controller]]
name = "pod-hooks"
kind = "v1/Pod"
scaffold = "handlers"
cleanup = true

[[controller]]
name = "secret-hooks"
kind = "v1/Secret"
scaffold = "handlers"

[[controller]]
name = "namespace"
kind = "v1/Namespace"
scaffold = "handlers"
cleanup = true

[[controller]]
name = "deployment-hooks"
kind = "apps/v1/Deployment"
scaffold = "handlers"
cache = "metadata"

[[controller]]
name = "event-hooks"
kind = "events.k8s.io/v1/Event"
scaffold = "handlers"
"#,
    );
    assert_eq!((tests(&tree, RECORDS), tests(&tree, HANDLES)), (6, 5));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("builtin");
    write(&folder, &tree, &[]);
    test(&folder);
}

/// The third-party crates in a tree of dependencies, each with its version and features.
fn dependencies(folder: &Path, packages: &[&str]) -> BTreeSet<String> {
    let tree = crate::cargo::command()
        .args(["tree", "--offline", "--edges", "normal,dev"])
        .args(["--prefix", "none", "--format", "{p} {f}"])
        .args(packages)
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(tree.status.success(), "{tree:?}");
    let lines = String::from_utf8(tree.stdout).unwrap();
    // the crates of this repository have a path
    lines
        .lines()
        .filter(|line| !line.contains(" (/"))
        .map(|line| line.trim_end_matches(" (*)").to_owned())
        .collect()
}

#[test]
fn what_the_workspace_has_compiled_is_not_compiled_again() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dependencies");
    let tree = tree("\n[[controller]]\nname = \"pod\"\nkind = \"v1/Pod\"\n");
    write(&folder, &tree, &[]);
    let ours = dependencies(Path::new(env!("CARGO_MANIFEST_DIR")), &["--workspace"]);
    let others = dependencies(&folder, &[]);
    let again: Vec<&String> = others
        .difference(&ours)
        // without `wrap_help`, which changes what programs print
        .filter(|line| !line.starts_with("clap"))
        .collect();
    let help = "a feature is missing in tests/cargo/workspace-features/Cargo.toml";
    assert_eq!(again, [""; 0], "{help}");
}
