//! The generated skeleton of the answers about two versions, while the questions change.

use std::fs;

use super::{
    conversions::{COUNT, CRD, SIZE, converted, edit_v2},
    support::{edit, files, ok},
};

const PATH: &str = "src/api/widget/conversion.rs";
const MESSAGE: (&str, &str) = (
    "                    message:\n",
    "                    text:\n",
);
const RENAME: &str = "{ version = \"v2\", from = \"spec.count\", to = \"spec.replicas\" }";

#[test]
fn a_skeleton_that_nobody_edited_follows_its_questions() {
    let folder = converted(&[SIZE, COUNT]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    assert!(files(&p)[PATH].contains(&format!("Then add `renames = [{RENAME}]` to the kind")));
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "hub = \"v1\"",
            &format!("hub = \"v1\"\nrenames = [{RENAME}]"),
        )
    });
    let run = ok(&p, "regenerate");
    assert!(run.stdout.contains(&format!("update {PATH}")));
    assert!(!run.stderr.contains("no longer exists"), "{}", run.stderr);
    assert!(!run.stderr.contains("touched-code"), "{}", run.stderr);
    let skeleton = files(&p)[PATH].clone();
    assert!(!skeleton.contains("is_not"), "{skeleton}");
    assert!(skeleton.contains("spec_size: Both {"), "{skeleton}");
    ok(&p, "regenerate --check");
    // the questions contain line numbers of the CRD, which change here
    edit(&p.join(CRD), |text| format!("# mine\n{text}"));
    ok(&p, "regenerate");
    assert_ne!(files(&p)[PATH], skeleton);
    ok(&p, "regenerate --check");
    // an answer is never replaced
    edit(&p.join(PATH), |text| {
        text.replace("declared: vec![]", "declared: Vec::new()")
    });
    let answered = files(&p)[PATH].clone();
    edit_v2(&p, &[MESSAGE]);
    let run = ok(&p, "regenerate --allow-breaking");
    assert!(run.stderr.contains("a new question about v2 and v1"));
    assert_eq!(files(&p)[PATH], answered);
}

#[test]
fn renames_are_suggested_as_entries_where_there_are_several() {
    let folder = converted(&[COUNT, MESSAGE]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    let entry = "` to the list `renames` of the kind in operator.toml";
    assert_eq!(files(&p)[PATH].matches(entry).count(), 2);
    assert!(!files(&p)[PATH].contains("renames = ["));
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "hub = \"v1\"",
            &format!("hub = \"v1\"\nrenames = [{RENAME}]"),
        )
    });
    ok(&p, "regenerate");
    assert_eq!(files(&p)[PATH].matches(entry).count(), 1);
}

#[test]
fn an_answer_that_is_no_longer_asked_is_reported_once() {
    let folder = converted(&[SIZE, COUNT]);
    let p = folder.path().join("p");
    ok(&p, "regenerate");
    edit(&p.join(PATH), |text| text.replace("vec![]", "Vec::new()"));
    edit(&p.join("operator.toml"), |text| {
        text.replace(
            "hub = \"v1\"",
            &format!("hub = \"v1\"\nrenames = [{RENAME}]"),
        )
    });
    let text = fs::read_to_string(p.join(PATH)).unwrap();
    let is_obsolete = |line: &str| line.contains("spec_count_is_not_spec_replicas:");
    let line = 1 + text.lines().position(is_obsolete).unwrap();
    let run = ok(&p, "regenerate");
    let place = format!("--> {PATH}:{line}:");
    assert_eq!(run.stderr.matches(&place).count(), 1, "{}", run.stderr);
    assert!(
        run.stderr.contains(
            "`spec_count_is_not_spec_replicas` answers a question about v2 and v1 that no longer exists"
        ),
        "{}",
        run.stderr
    );
}
