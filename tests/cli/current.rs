//! `regenerate` with nothing to do, and what `--check` finds when any file of a project changes.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::support::{edit, files, folder, ok, run};

#[test]
fn persistent_warnings_are_counted() {
    let folder = folder();
    let project = folder.path().join("p");
    ok(folder.path(), "init p --crd widget.yaml");
    edit(&project.join("crds/widgets.example.com.yaml"), |text| {
        let bounds = "type: integer\n                minLenght: 1";
        text.replacen("type: integer", bounds, 1)
    });
    let warning = "warning[unknown-keyword]";
    let first = run(&project, "regenerate");
    assert!(first.stderr.contains(warning), "{}", first.stderr);
    for (args, expected) in [
        ("regenerate", "nothing to do"),
        ("regenerate --check", "up to date"),
    ] {
        let run = run(&project, args);
        let line = "note: the CRDs have warnings (1); `cargo operator inspect` shows them";
        let expected = format!("{line}\n{expected}\n");
        assert_eq!(run.code, 0, "{args}");
        assert!(run.stderr.ends_with(&expected), "{args}: {}", run.stderr);
    }
    assert!(run(&project, "inspect").stderr.contains(warning));
}

#[test]
fn a_check_finds_every_change() {
    let folder = folder();
    let project = folder.path().join("p");
    ok(folder.path(), "init p --crd widget.yaml");
    assert_eq!(run(&project, "regenerate --check").code, 0);
    let before = files(&project);
    let of_tool = |path: &str| {
        let entry = format!("\"{path}\" = {{ owner = \"tool\"");
        before["operator.lock"].contains(&entry)
    };
    let paths = before.keys().map(String::as_str);
    let generated: BTreeSet<&str> = paths.filter(|path| of_tool(path)).collect();
    assert!(generated.len() > 15, "{generated:?}");
    for path in &generated {
        fs::write(project.join(path), format!("{}x", before[*path])).unwrap();
    }
    let check = run(&project, "regenerate --check --format json");
    let found: Value = serde_json::from_str(&check.stdout).unwrap();
    let conflicts = found["conflicts"].as_array().unwrap().iter();
    let conflicts: BTreeSet<&str> = conflicts.filter_map(|it| it["path"].as_str()).collect();
    assert_eq!((check.code, conflicts), (1, generated.clone()));
    for path in &generated {
        fs::write(project.join(path), &before[*path]).unwrap();
    }
    for path in generated {
        fs::remove_file(project.join(path)).unwrap();
        assert_eq!(run(&project, "regenerate --check").code, 1, "{path}");
        fs::write(project.join(path), &before[path]).unwrap();
    }
    for (path, from, to) in [
        ("operator.toml", "\"Widget\"", "\"Gadget\""),
        ("operator.lock", "format = 1", "format = 9"),
        (
            "crds/widgets.example.com.yaml",
            "kind: Widget",
            "kind: Gadget",
        ),
        ("operator.toml", "\"v1\"", "\"v2\""),
    ] {
        let text = &before[path];
        assert!(text.contains(from), "{path}: {text}");
        fs::write(project.join(path), text.replace(from, to)).unwrap();
        assert_ne!(run(&project, "regenerate --check").code, 0, "{path}: {to}");
        fs::write(project.join(path), text).unwrap();
    }
    assert!(files(&project) == before, "a command that reads writes");
    assert_eq!(run(&project, "regenerate --check").code, 0);
}
