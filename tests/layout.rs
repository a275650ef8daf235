//! The layout of generated Rust: rustfmt leaves it alone, and a line is longer than 140 columns only where nothing can be broken. The
//! modules are those of `$CORPUS`, if it names a folder of CRDs, and of a CRD with long names.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use cargo_operator::{
    crd::{self, Api},
    rust::code::untouched,
    types::{self, SchemaMode},
};
use serde_json::{Value, json};

const WIDTH: usize = 140;
/// A line may be longer if it consists of one name, path or literal, and of no more than this besides.
const REST: usize = 60;

fn word(first: &str, length: usize) -> String {
    let letters = ('a'..='z').cycle().take(length.saturating_sub(first.len()));
    format!("{first}{}", letters.collect::<String>())
}

/// A CRD with two versions, whose fields have all shapes, and names and values of this length.
fn long_crd(length: usize) -> Value {
    let (kind, plural) = (word("K", length.min(59)), word("p", length.min(63)));
    let name = |first| word(first, length);
    let object = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let fields = json!({
        name("a"): {"type": "string", "default": name("a"), "minLength": 1, "maxLength": 4000},
        name("b"): {"type": "string", "enum": [name("b"), name("c")], "default": name("b")},
        name("c"): {"type": "array", "items": object, "default": [], "maxItems": 30},
        name("d"): {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "pattern": name("^")}}},
        name("e"): {"type": "string", "nullable": true, "pattern": name("^"), "description": name("e")},
        name("f"): {"x-kubernetes-int-or-string": true, "default": name("f")},
        name("g"): {"type": "object", "properties": {name("g"): object, name("h"): {"type": "array", "items": {"type": "array", "items": object}}}},
        name("i"): {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"size": {"type": "integer"}}},
        name("j"): {"type": "object", "properties": {name("j"): {"type": "string"}}, "x-kubernetes-validations": [{"rule": format!("self.{} != ''", name("j")), "message": name("m")}]},
    });
    let schema = |field: &'static str| {
        json!({"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": {
            "spec": {"type": "object", "properties": fields},
            "status": {"type": "object", "properties": {name(field): object}},
        }}})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "shortNames": [word("s", 3), word("t", 9)]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": schema("a")},
                {"name": "v2", "served": true, "storage": false, "subresources": {"status": {}}, "schema": schema("b")},
            ],
        },
    })
}

fn yaml(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            yaml(&path, files);
        } else if path.extension().is_some_and(|it| it == "yaml") {
            files.push(path);
        }
    }
}

/// The longest name, path, literal or comment of a line.
fn longest(line: &str) -> usize {
    let mut longest = 0;
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        let is_name = |char: char| char.is_alphanumeric() || "_:/.".contains(char);
        let quoted = || {
            let mut is_escaped = true;
            let end = rest.find(|char| {
                let is_end = char == '"' && !is_escaped;
                is_escaped = char == '\\' && !is_escaped;
                is_end
            });
            end.map_or(rest.len(), |end| end + 1)
        };
        let length = match char {
            _ if rest.starts_with("//") => rest.len(),
            '"' => quoted(),
            'r' if rest.starts_with("r#\"") => rest.find("\"#").map_or(rest.len(), |end| end + 2),
            _ => rest.find(|char| !is_name(char)).unwrap_or(rest.len()),
        };
        longest = longest.max(rest[..length].chars().count());
        rest = &rest[length.max(char.len_utf8())..];
    }
    longest
}

/// The lines that are too long, without those of the JSON in raw literals.
fn too_long(text: &str) -> Vec<&str> {
    let is_json = |line: &str| line.trim_start().starts_with('"') && line.contains("\": ");
    let is_long = |line: &&str| {
        let length = line.chars().count();
        length > WIDTH && length - longest(line) > REST && !is_json(line)
    };
    text.lines().filter(is_long).collect()
}

/// Asserts that rustfmt changes none of the files, even with the settings of another workspace.
fn assert_left_alone(files: &[PathBuf]) {
    for settings in [
        "max_width=100",
        "max_width=60,hard_tabs=true,reorder_imports=false",
    ] {
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.args(["--edition", "2024", "--check", "--config", settings]);
        let output = match rustfmt.args(files).output() {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => panic!("{error}"),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{settings}: {text}{errors}");
    }
}

#[test]
fn modules_have_short_lines_and_are_left_alone_by_rustfmt() {
    let folder = tempfile::tempdir().unwrap();
    let mut apis: Vec<Api> = vec![];
    for length in [1, 20, 40, 63, 100, 130] {
        apis.extend(crd::read("long.json", &long_crd(length).to_string()).unwrap());
    }
    if let Some(corpus) = std::env::var_os("CORPUS") {
        let mut paths = vec![];
        yaml(Path::new(&corpus), &mut paths);
        for path in paths {
            let text = fs::read_to_string(&path).unwrap();
            apis.extend(crd::read(&path.to_string_lossy(), &text).unwrap());
        }
    }
    let mut files = vec![];
    for (index, api) in apis.iter().enumerate() {
        for mode in [SchemaMode::Derive, SchemaMode::Embed] {
            for version in &api.versions {
                let module = types::module_with_file(api, version, mode, "schema.json");
                let text = untouched(&module.text);
                assert_eq!(too_long(&text), [""; 0], "{} {mode:?}", api.name());
                let name = format!("{index}_{mode:?}_{}.rs", version.name);
                let path = folder.path().join(name);
                fs::write(&path, text).unwrap();
                files.push(path);
            }
        }
    }
    for files in files.chunks(500) {
        assert_left_alone(files);
    }
}

fn run(folder: &Path, arguments: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .arg("operator")
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
}

/// The tool's own files of Rust in a folder and below it.
fn owned(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            owned(&path, found);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            if text.starts_with("// Generated by `cargo operator regenerate`") {
                found.push(path);
            }
        }
    }
}

/// The projects have webhooks, conversions, named controllers and children, and kinds with names of any length.
#[test]
fn projects_have_short_lines_and_are_formatted() {
    let folder = tempfile::tempdir().unwrap();
    for length in [1, 30, 59] {
        let name = word("n", length.min(50));
        let text = long_crd(length).to_string();
        fs::write(folder.path().join("crd.json"), text).unwrap();
        run(folder.path(), &["init", &name, "--crd", "crd.json"]);
        let project = folder.path().join(&name);
        let path = project.join("operator.toml");
        let toml = fs::read_to_string(&path).unwrap();
        let owns = r#"owns = [{ kind = "v1/ConfigMap", update = "recreate" }, "v1/Service", "apps/v1/Deployment"]"#;
        let kind = format!("{owns}\nhub = \"v1\"\nwebhooks = [\"validate\", \"mutate\"]");
        let toml = toml.replacen("owns = [\"v1/ConfigMap\"]", &kind, 1);
        let toml = toml.replacen("versions = [\"v1\"]", "versions = [\"v1\", \"v2\"]", 1);
        let top = "ensure-crds = true\nmigrate-storage = true\n\n[[kind]]";
        let toml = toml.replacen("\n[[kind]]", top, 1);
        let named = format!(
            "\n[[controller]]\nname = \"{}\"\nkind = \"v1/Pod\"\n",
            word("c", length.min(50))
        );
        fs::write(&path, toml + &named).unwrap();
        run(&project, &["regenerate"]);
        let mut files = vec![];
        owned(&project.join("src"), &mut files);
        owned(&project.join("tests"), &mut files);
        for file in [
            "src/controllers/mod.rs",
            "src/webhooks/mod.rs",
            "tests/all/conversions.rs",
        ] {
            assert!(files.contains(&project.join(file)), "{file}: {files:?}");
        }
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            assert_eq!(too_long(&text), [""; 0], "{}", file.display());
        }
        // from the roots, rustfmt reaches all files
        let mut roots = vec![project.join("src/lib.rs"), project.join("src/main.rs")];
        for entry in fs::read_dir(project.join("tests/all")).unwrap() {
            roots.push(entry.unwrap().path());
        }
        roots.retain(|path| path.extension().is_some_and(|it| it == "rs"));
        let output = Command::new("rustfmt")
            .args(["--edition", "2024", "--check"])
            .args(&roots)
            .output();
        let Ok(output) = output else { return };
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
