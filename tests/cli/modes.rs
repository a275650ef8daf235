//! The schema mode of a kind: set when it is added, by `--schema` or by the size of the schema, and kept afterwards.

use std::fs;

use crate::support::{WIDGET, folder, ok};

/// The widget with this number of additional fields.
fn grown(fields: usize) -> String {
    let size = "              size:\n";
    let fields = (0..fields).map(|field| format!("              f{field}: {{type: string}}\n"));
    WIDGET.replace(size, &(fields.collect::<String>() + size))
}

#[test]
fn a_kind_keeps_the_mode_that_it_was_added_with() {
    let folder = folder();
    let embeds = |project: &str| {
        let state = folder.path().join(project).join("operator.toml");
        let state = fs::read_to_string(state).unwrap();
        state.contains("schema = \"embed\"")
    };
    let (small, large) = (
        folder.path().join("small.yaml"),
        folder.path().join("large.yaml"),
    );
    fs::write(&small, WIDGET).unwrap();
    fs::write(&large, grown(1000)).unwrap();
    for (project, spec, flags, expected) in [
        ("a", "small.yaml", "", false),
        ("b", "large.yaml", "", true),
        ("c", "large.yaml", "--schema derive", false),
        ("d", "small.yaml", "--schema embed", true),
    ] {
        ok(
            folder.path(),
            &format!("init {project} --crd {spec} {flags}"),
        );
        assert_eq!(embeds(project), expected, "{project}");
        for later in ["large.yaml", "small.yaml"] {
            let add = format!("add-crd ../{later} --allow-breaking");
            ok(&folder.path().join(project), &add);
            assert_eq!(embeds(project), expected, "{project} with {later}");
        }
    }
}
