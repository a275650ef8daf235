//! A CRD as a cluster returns it, and CRDs with fields that the API server does not know.

use std::fs;

use super::support::{WIDGET, folder, ok, run, run_with};

const NOTE: &str = "left out what a cluster has set: metadata.annotations[kubectl.kubernetes.io/last-applied-configuration], metadata.generation, metadata.resourceVersion, metadata.uid, status; objects there may be stored as v1alpha1, too";

/// The CRD as `kubectl get -o yaml` prints it.
fn live() -> String {
    let name = "  name: widgets.example.com\n";
    let set = format!(
        "  annotations:\n    kubectl.kubernetes.io/last-applied-configuration: |\n      {{\"kind\":\"CustomResourceDefinition\"}}\n  generation: 2\n{name}  resourceVersion: \"12\"\n  uid: 0b1c2d3e-0000-4000-8000-000000000001\n"
    );
    let text = WIDGET.replace(name, &set);
    assert_ne!(text, WIDGET);
    text + "status:\n  acceptedNames: {kind: Widget, plural: widgets}\n  storedVersions:\n  - v1alpha1\n  - v1\n"
}

#[test]
fn a_crd_of_a_cluster_works_in_every_command() {
    let folder = folder();
    for command in ["types -", "sample -", "types - --schema embed"] {
        let plain = run_with(folder.path(), command, WIDGET);
        let run = run_with(folder.path(), command, &live());
        assert_eq!(run.code, 0, "{command}: {}", run.stderr);
        assert_eq!((run.stdout, run.stderr), (plain.stdout, plain.stderr));
    }
    fs::write(folder.path().join("live.yaml"), live()).unwrap();
    let run = ok(folder.path(), "init p --crd live.yaml");
    assert_eq!(run.stderr.matches(NOTE).count(), 1, "{}", run.stderr);
    assert!(run.stderr.contains("--> live.yaml:5:"), "{}", run.stderr);
    let spec = folder.path().join("p/crds/widgets.example.com.yaml");
    assert_eq!(fs::read_to_string(&spec).unwrap(), WIDGET);
    let p = folder.path().join("p");
    assert!(
        ok(&p, "regenerate --check")
            .stderr
            .ends_with("up to date\n")
    );
    ok(&p, "add-crd ../live.yaml");
    let text = fs::read_to_string(&spec).unwrap();
    assert_eq!(text, WIDGET);
    // a command does not edit a file that the user copied
    fs::write(&spec, live()).unwrap();
    let run = super::support::run(&p, "regenerate");
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("remove `resourceVersion`"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_crd_of_a_cluster_is_read_from_a_list_and_from_json() {
    let value: serde_json::Value = serde_yaml::from_str(&live()).unwrap();
    let list = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [value]});
    let yaml = serde_yaml::to_string(&list).unwrap();
    for (at, text) in [value.to_string(), list.to_string(), yaml]
        .iter()
        .enumerate()
    {
        let folder = folder();
        let run = run_with(folder.path(), "init p --crd -", text);
        assert_eq!(run.code, 0, "{at}: {}", run.stderr);
        assert_eq!(run.stderr.matches(NOTE).count(), 1, "{at}: {}", run.stderr);
        let spec = folder.path().join("p/crds/widgets.example.com.yaml");
        let spec: serde_json::Value =
            serde_yaml::from_str(&fs::read_to_string(spec).unwrap()).unwrap();
        let plain: serde_json::Value = serde_yaml::from_str(WIDGET).unwrap();
        assert_eq!(spec, plain);
    }
}

#[test]
fn unknown_fields_and_odd_metadata_stop_only_an_installation() {
    let odd = WIDGET
        .replace("metadata:\n", "metadata:\n  annotations: {a: 1}\n")
        .replacen("spec:\n", "spec:\n  subresources: {status: {}}\n", 1);
    let folder = folder();
    fs::write(folder.path().join("odd.yaml"), &odd).unwrap();
    let check_report = |level: &str, stderr: &str| {
        for (code, line) in [("not-a-definition", 4), ("unknown-field", 7)] {
            let (code, place) = (format!("{level}[{code}]"), format!("--> odd.yaml:{line}:"));
            assert!(
                stderr.contains(&code) && stderr.contains(&place),
                "{stderr}"
            );
        }
    };
    check_report("warning", &ok(folder.path(), "types odd.yaml").stderr);
    ok(folder.path(), "sample odd.yaml");
    check_report(
        "warning",
        &ok(folder.path(), "init types --crd odd.yaml --types-only").stderr,
    );
    let run = run(folder.path(), "init p --crd odd.yaml");
    assert_eq!(run.code, 2);
    check_report("error", &run.stderr);
    assert!(!folder.path().join("p").exists());
}
