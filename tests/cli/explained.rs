//! The lines that `docs/diagnostics.md` shows are those that the program prints.

use std::fs;

use super::support::{folder, run};

const TEXT: &str = include_str!("../../docs/diagnostics.md");

/// The codes that need a second run, with another CRD, `operator.toml`, template or file.
const NEED_A_SECOND_RUN: [&str; 18] = [
    "retyped",
    "breaking-change",
    "not-compared",
    "touched-code",
    "controller-differs",
    "missing-file",
    "without-effect",
    "olm-limit",
    "helm-limit",
    "abandoned-children",
    "abandoned-finalizers",
    "stale-objects",
    "conversion-removed",
    "unknown-resource",
    "edited-file",
    "merge-conflict",
    "open-conversion",
    "kept-fields",
];

/// The keys of a CRD. A key that an example has as well is taken from the example.
const TOP: [&str; 3] = [
    "apiVersion: apiextensions.k8s.io/v1\n",
    "kind: CustomResourceDefinition\n",
    "metadata: {name: widgets.example.com}\n",
];
const SPEC: [&str; 5] = [
    "group: example.com\n",
    "names: {kind: Widget, plural: widgets}\n",
    "scope: Namespaced\n",
    "conversion: {strategy: None}\n",
    "versions:
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
          required: [size]
          properties:
",
];
const PROPERTIES: [&str; 1] = ["size: {type: integer}\n"];

/// A CRD with the keys of an example.
fn crd(example: &str) -> String {
    let key = |text: &str| text.split_inclusive(':').next().map(str::to_owned);
    let is_in = |keys: &[&str]| keys.iter().any(|own| key(own) == key(example));
    let all = |keys: &[&str], has_example: bool| {
        let others = keys.iter().filter(|own| {
            let is_own = |line: &str| key(line) == key(own);
            !example.lines().any(is_own)
        });
        let others: String = others.copied().collect();
        others + if has_example { example } else { "" }
    };
    let (is_top, is_spec) = (is_in(&TOP), is_in(&SPEC));
    let mut spec = all(&SPEC, is_spec);
    if !example.starts_with("versions:") {
        // moved to the end, where the properties follow
        let versions = SPEC[4];
        spec = spec.replace(versions, "") + versions;
        spec += &indented(12, &all(&PROPERTIES, !is_top && !is_spec));
    }
    all(&TOP, is_top) + "spec:\n" + &indented(2, &spec)
}

fn indented(by: usize, text: &str) -> String {
    let line = |line: &str| format!("{:by$}{line}\n", "");
    text.lines().map(line).collect()
}

/// The code block of a section that is in this language.
fn block<'a>(section: &'a str, language: &str) -> &'a str {
    let (_, block) = section.split_once(&format!("```{language}\n")).unwrap();
    block.split_once("```").unwrap().0
}

#[test]
fn each_documented_example_prints_its_documented_line() {
    let folder = folder();
    let mut wrong = vec![];
    for section in TEXT.split("\n## ").skip(1) {
        let code = section.lines().next().unwrap();
        if NEED_A_SECOND_RUN.contains(&code) {
            continue;
        }
        let text = match code {
            // the page shows only the beginning of these examples
            "too-deep" => "[".repeat(200),
            "too-large" => block(section, "yaml").to_owned() + "#" + &"m".repeat(16 << 20),
            _ => crd(block(section, "yaml")),
        };
        fs::write(folder.path().join("spec.yaml"), &text).unwrap();
        let run = run(
            folder.path(),
            "init widget-operator --crd spec.yaml --dry-run",
        );
        let line = block(section, "text").trim_end();
        if !run.stderr.lines().any(|printed| printed == line) {
            wrong.push(format!(
                "`{code}`:\n{line}\nis not printed, but\n{}\nfor\n{text}",
                run.stderr
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/diagnostics.md differs from what the program reports (src/types/feature.rs, src/crd/api.rs); codes that need a second run are in \
         NEED_A_SECOND_RUN in tests/cli/explained.rs: {}",
        wrong.join("\n")
    );
}
