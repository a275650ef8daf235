//! `sample` as a user runs it: what it prints is read back unchanged, and the schema accepts it.

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use operator_schema::{apply_defaults, violations};
use serde::Deserialize;
use serde_json::{Value, json};

const WIDGET: &str = include_str!("crds/widget.yaml");

/// A kind whose strings YAML 1.1 would read as something else.
const ODD: &str = r##"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: odds.example.com}
spec:
  group: example.com
  names: {kind: Odd, plural: odds}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [mode, time, text]
            properties:
              mode: {type: string, enum: ["on", "y", "1e3", "0x1F", "null", "012", "1_000", "="]}
              time: {type: string, enum: ["12:30:00", "2024-01-01"]}
              text: {type: string, enum: [" a", "a: b", "# a", "two\nlines\n", "é😀", "-"]}
              number: {type: number}
              integer: {type: integer}
"##;

fn sample(args: &str, input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .args(["operator", "sample"])
        .args(args.split_whitespace())
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

fn printed(args: &str, input: &str) -> String {
    let output = sample(args, input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{args}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn documents(yaml: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(yaml);
    documents
        .map(|it| Value::deserialize(it).unwrap())
        .collect()
}

#[test]
fn the_sample_equals_that_of_a_project() {
    assert_eq!(
        printed("widget.yaml", ""),
        "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: widget-sample\nspec:\n  size: 1\n"
    );
    assert_eq!(
        printed("- --version v1", WIDGET),
        printed("widget.yaml", "")
    );
    assert_eq!(
        documents(&printed("clusters.yaml", "")).len(),
        2,
        "one of each kind"
    );
    let one = printed("clusters.yaml --kind Cluster.postgresql.example.com", "");
    assert_eq!(documents(&one).len(), 1);
}

#[test]
fn arbitrary_objects_are_valid_and_the_same_in_both_formats() {
    let api = &cargo_operator::crd::read("odd.yaml", ODD).unwrap()[0];
    let schema = &api.versions[0].schema;
    let yaml = printed("- --count 40 --seed 3", ODD);
    let list: Value =
        serde_json::from_str(&printed("- --count 40 --seed 3 --format json", ODD)).unwrap();
    assert_eq!(list["kind"], "List");
    assert_eq!(documents(&yaml), *list["items"].as_array().unwrap());
    for (index, mut object) in documents(&yaml).into_iter().enumerate() {
        assert_eq!(
            object["metadata"],
            json!({"name": format!("odd-{}", index + 1)})
        );
        apply_defaults(schema, &mut object);
        assert_eq!(violations(schema, &object), [], "{object:#}");
    }
    for plain in [
        "mode: on\n",
        "mode: y\n",
        "mode: 1e3\n",
        "mode: 0x1F\n",
        "mode: 012\n",
        "mode: 1_000\n",
        "mode: =\n",
        "time: 12:30:00\n",
        "time: 2024-01-01\n",
    ] {
        assert!(
            !yaml.contains(plain),
            "{plain} is something else in YAML 1.1"
        );
    }
    assert_ne!(yaml, printed("- --count 40 --seed 4", ODD));
}

#[test]
fn an_impossible_sample_is_an_error_with_help() {
    let impossible = WIDGET.replace("minimum: 1", "minimum: 1\n                maximum: 0");
    for (args, input, expected, cure) in [
        (
            "widget.yaml --version v2",
            "",
            "Widget has no version `v2`; it has v1",
            "choose one of these",
        ),
        (
            "widget.yaml --kind Gadget",
            "",
            "the kind Gadget is not in the input",
            "KIND.GROUP",
        ),
        (
            "missing.yaml",
            "",
            "missing.yaml does not exist",
            "check the path",
        ),
        (
            "- --count 3",
            &impossible,
            "-:1: widgets.example.com v1: no sample that its schema accepts could be generated",
            "or edit the closest one:\n           apiVersion: example.com/v1",
        ),
        ("widget.yaml --seed 3", "", "--count", "--help"),
        ("widget.yaml --count 0", "", "0 is not in 1..", "--help"),
    ] {
        let output = sample(args, input);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args}: {stderr}");
        assert!(
            stderr.contains(expected) && stderr.contains(cure),
            "{args}: {stderr}"
        );
        assert!(output.stdout.is_empty(), "{args}");
    }
}
