//! The snapshots of children: the tool writes one with a controller, and then it is the user's.

use std::fs;

use super::support::{edit, files, ok, project};

const PATH: &str = "tests/snapshots/widget.snap";
const TEST: &str = "fn widget_has_the_children_of_its_snapshot()";
const RESET: &str = "regenerate --reset tests/snapshots/widget.snap";

#[test]
fn a_snapshot_follows_the_sample_until_it_is_edited() {
    let folder = project();
    let p = folder.path().join("p");
    assert!(files(&p)["tests/all/faults.rs"].contains(TEST));
    assert!(files(&p)[PATH].contains("\n  replicas: 1\n"));
    let change = |from: &str, to: &str| {
        let crd = p.join("crds/widgets.example.com.yaml");
        edit(&crd, |text| text.replace(from, to));
        ok(&p, "regenerate --allow-breaking");
    };
    let line = "description: How many there are.\n";
    let with_default = format!("{line}                default: 3\n");
    change(line, &with_default);
    assert!(files(&p)[PATH].contains("\n  replicas: 3\n"));
    edit(&p.join(PATH), |text| text.replace("ALL", "NET_RAW"));
    change("default: 3", "default: 4");
    let edited = files(&p)[PATH].clone();
    assert!(edited.contains("\n  replicas: 3\n") && edited.contains("NET_RAW"));
}

#[test]
fn a_deleted_snapshot_has_no_test_until_it_is_asked_for() {
    let folder = project();
    let p = folder.path().join("p");
    fs::remove_file(p.join(PATH)).unwrap();
    ok(&p, "regenerate");
    assert!(!files(&p)["tests/all/faults.rs"].contains("snapshot"));
    ok(&p, "regenerate --check");
    ok(&p, RESET);
    assert!(files(&p)["tests/all/faults.rs"].contains(TEST) && files(&p).contains_key(PATH));
}

#[test]
fn a_controller_that_was_generated_without_a_snapshot_gets_one_only_if_it_is_asked_for() {
    let folder = project();
    let p = folder.path().join("p");
    fs::remove_file(p.join(PATH)).unwrap();
    edit(&p.join("operator.lock"), |text| {
        let lines = text.lines().filter(|line| !line.contains(PATH));
        lines.map(|line| format!("{line}\n")).collect()
    });
    ok(&p, "regenerate");
    assert!(!files(&p)["tests/all/faults.rs"].contains("snapshot"));
    assert!(!files(&p).contains_key(PATH));
    ok(&p, "regenerate --check");
    ok(&p, RESET);
    assert!(files(&p)["tests/all/faults.rs"].contains(TEST) && files(&p).contains_key(PATH));
}
