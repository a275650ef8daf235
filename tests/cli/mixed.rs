//! One project with kinds of all scaffolds: each is added, the user's edits stay, and each can be removed again.

use std::{fs, path::Path};

use super::support::{WIDGET, edit, files, folder, ok};

/// The name of each module, with the trait that its controller implements.
const MODULES: [(&str, &str); 6] = [
    ("widget", "impl Reconciler for WidgetReconciler"),
    ("gadget", "impl Declarative for GadgetController"),
    ("sprocket", "impl External for SprocketProvider"),
    ("lever", "impl Handlers for LeverHandlers"),
    ("gear", "impl Reconciler for Gear"),
    ("pod_watch", "impl Reconciler for PodWatch"),
];

/// Creates a project with all scaffolds, in the folder `p`.
fn create(folder: &Path) {
    for kind in ["Gadget", "Sprocket", "Lever", "Gear"] {
        let lower = kind.to_lowercase();
        let text = WIDGET.replace("Widget", kind).replace("widget", &lower);
        fs::write(folder.join(format!("{lower}.yaml")), text).unwrap();
    }
    ok(folder, "init p --crd widget.yaml");
    let p = folder.join("p");
    ok(
        &p,
        "add-crd ../gadget.yaml --scaffold declarative --cleanup",
    );
    ok(&p, "add-crd ../sprocket.yaml --scaffold external");
    ok(&p, "add-crd ../lever.yaml --scaffold handlers --cleanup");
    ok(&p, "add-crd ../gear.yaml --scaffold controller");
    ok(&p, "add-controller v1/Pod --as pod-watch");
}

#[test]
fn all_scaffolds_are_in_one_project() {
    let folder = folder();
    create(folder.path());
    let p = folder.path().join("p");
    ok(&p, "regenerate --check");
    let made = files(&p);
    for (module, implements) in MODULES {
        let controller = &made[&format!("src/controllers/{module}.rs")];
        assert!(controller.contains(implements), "{module}: {controller}");
        let faults = &made["tests/all/faults.rs"];
        let trial = format!("fn {module}_survives_every_fault()");
        assert!(faults.contains(&trial), "{trial}: {faults}");
    }
    let registry = &made["src/controllers/mod.rs"];
    for call in [
        ".add(widget::setup",
        ".add_declarative(",
        ".add_external(",
        ".add_handlers(",
        ".add_named(\"gear\"",
        ".add_named(\"pod-watch\"",
    ] {
        assert!(registry.contains(call), "{call}: {registry}");
    }
    let shown = ok(&p, "inspect").stdout;
    for scaffold in [
        "reconciler",
        "declarative",
        "external",
        "handlers",
        "controller",
    ] {
        let line = format!("  scaffold  {scaffold}\n");
        assert!(shown.contains(&line), "{line}: {shown}");
    }
    // only kinds that are the operator's own are installed
    assert!(!made["crds/kustomization.yaml"].contains("gears"));
}

#[test]
fn edits_in_a_project_with_all_scaffolds_stay_and_each_kind_can_be_removed() {
    let folder = folder();
    create(folder.path());
    let p = folder.path().join("p");
    let mut edited: Vec<String> = ["src/lib.rs", "src/main.rs"].map(Into::into).into();
    for (module, _) in MODULES {
        edited.push(format!("src/controllers/{module}.rs"));
        edited.push(format!("tests/all/{module}.rs"));
    }
    for path in &edited {
        edit(&p.join(path), |text| format!("// mine\n{text}"));
    }
    edit(&p.join("Cargo.toml"), |text| text + "# mine\n");
    let before = files(&p);

    // each kind gets a field
    let specs: Vec<String> = before
        .keys()
        .filter(|path| path.starts_with("crds/") && !path.contains("kustomization"))
        .cloned()
        .collect();
    assert_eq!(specs.len(), 5);
    for path in &specs {
        edit(&p.join(path), |text| {
            let field = "              colour: {type: string}\n";
            let (head, tail) = text.split_once("            properties:\n").unwrap();
            format!("{head}            properties:\n{field}{tail}")
        });
    }
    ok(&p, "regenerate");
    ok(&p, "regenerate --check");
    let after = files(&p);
    for path in edited.iter().map(String::as_str).chain(["Cargo.toml"]) {
        assert_eq!(after[path], before[path], "{path}");
    }
    for (module, _) in &MODULES[..5] {
        assert!(
            after[&format!("src/api/{module}/v1.rs")].contains("pub colour:"),
            "{module}"
        );
    }

    let mut remaining = MODULES.to_vec();
    for name in ["Gadget", "pod-watch", "Sprocket", "Lever", "gear", "Widget"] {
        let module = name.to_lowercase().replace('-', "_");
        ok(&p, &format!("remove {name}"));
        ok(&p, "regenerate --check");
        remaining.retain(|(other, _)| *other != module);
        let now = files(&p);
        let registry = &now["src/controllers/mod.rs"];
        assert!(
            !registry.contains(&format!("{module}::setup")),
            "{registry}"
        );
        for (other, _) in &remaining {
            assert!(registry.contains(&format!("{other}::setup")), "{registry}");
            let path = format!("src/controllers/{other}.rs");
            assert_eq!(now[&path], before[&path], "{path}");
        }
        // a file that the user edited is not deleted
        let path = format!("src/controllers/{module}.rs");
        assert_eq!(now[&path], before[&path], "{path}");
    }
}
