//! The layout of generated Rust against rustfmt itself: modules and projects with names of every length, so that each construct crosses
//! each limit of a line. `LAYOUT=all` tries every length; without it some lengths are tried. Without rustfmt nothing is compared.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use cargo_operator::{
    crd,
    types::{self, SchemaMode},
};
use serde_json::{Value, json};

/// Of a DNS label: kinds, plurals, versions, parts of a group.
const LABEL: usize = 63;
/// Property names have no limit; these are longer than a line.
const PROPERTY: usize = 130;

fn lengths(most: usize, step: usize) -> Vec<usize> {
    let is_whole = std::env::var("LAYOUT").is_ok_and(|which| which == "all");
    let step = if is_whole { 1 } else { step };
    // both sides of the middle, so that odd and even lengths are tried
    (1..=most)
        .filter(|length| length % step == 1 % step)
        .collect()
}

fn word(first: char, length: usize) -> String {
    let letters = ('a'..='z').cycle().take(length.saturating_sub(1));
    std::iter::once(first).chain(letters).collect()
}

/// A CRD whose kind, plural, group and version have these lengths.
fn definition(kind: usize, group: usize, versions: &[String], properties: &Value) -> Value {
    // of words, so that the module has an underscore at every third letter
    let plural = word('p', kind);
    let kind = word('k', kind);
    let humps = kind.char_indices().map(|(at, letter)| match at % 3 {
        0 => letter.to_ascii_uppercase(),
        _ => letter,
    });
    let kind: String = humps.collect();
    let mut left = group.max(3) - 2;
    let mut labels = vec!["g".to_owned()];
    while left > 0 {
        let length = left.min(LABEL);
        labels.push(word('d', length));
        left = left.saturating_sub(length + 1);
    }
    let group = labels.join(".");
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, name)| {
            json!({
                "name": name, "served": true, "storage": at == 0,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": properties}},
            })
        })
        .collect();
    let mut names =
        json!({"kind": kind, "plural": plural, "shortNames": [word('s', 3), word('t', 9)]});
    if kind.len() + "List".len() > LABEL {
        names["listKind"] = word('L', LABEL).into();
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": names,
        },
    })
}

/// One field of each shape, with names of a length; `text` is the length of values.
fn properties(length: usize, text: usize) -> Value {
    let value = |first| word(first, text);
    let name = |first| word(first, length);
    let object = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    let fields = json!({
        name('a'): {"type": "string", "default": value('a'), "minLength": 1, "maxLength": 4000},
        name('b'): {"type": "string", "enum": [value('b'), value('c')], "default": value('b')},
        name('c'): {"type": "array", "items": object, "default": [], "maxItems": 30},
        name('d'): {"type": "object", "additionalProperties": object, "default": {}},
        name('e'): {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "pattern": format!("^{}$", value('p'))}}},
        name('f'): {"type": "string", "nullable": true, "pattern": format!("^{}$", value('p'))},
        name('g'): {"x-kubernetes-int-or-string": true, "default": value('g')},
        name('h'): {"x-kubernetes-int-or-string": true, "default": 8080},
        name('i'): {"type": "integer", "default": 3, "minimum": 1, "maximum": 65535},
        name('j'): {"type": "boolean", "default": true},
        name('k'): {"x-kubernetes-preserve-unknown-fields": true},
        name('l'): {"type": "object", "properties": {name('l'): object, name('m'): {"type": "array", "items": {"type": "array", "items": object}}}},
        name('n'): {"type": "array", "items": {"type": "string", "enum": [value('x'), value('y')]}, "x-kubernetes-list-type": "set"},
        name('o'): {"type": "integer", "format": "int64", "default": 5_000_000_000_i64, "description": value('o')},
        name('q'): {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"size": {"type": "integer"}}},
        name('r'): {"type": "number", "minimum": 0.5, "multipleOf": 0.25},
        name('s'): {"type": "string", "format": "date-time"},
        name('t'): {"type": "object", "properties": {name('t'): {"type": "string"}}, "x-kubernetes-validations": [{"rule": format!("self.{} != ''", name('t')), "message": value('m')}]},
        name('u'): {"type": "array", "items": {"type": "object", "nullable": true, "properties": {"size": {"type": "integer", "default": 1}}}},
    });
    json!({
        "spec": {"type": "object", "properties": fields},
        "status": {"type": "object", "properties": {name('a'): object, "conditions": {"type": "array", "items": object}}},
    })
}

/// The files that rustfmt would lay out otherwise; nothing where there is no rustfmt.
fn misplaced(files: &[PathBuf]) -> Vec<String> {
    let is_there = Command::new("rustfmt")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        return vec![];
    }
    let mut differences = vec![];
    for files in files.chunks(500) {
        let output = Command::new("rustfmt")
            .args(["--edition", "2024", "--check", "--color", "never"])
            .args(files)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        let found: Vec<&str> = text.split("Diff in ").skip(1).collect();
        assert!(output.status.success() || !found.is_empty(), "{text}");
        // rustfmt looks at the modules that a file declares as well
        let is_asked = |found: &&str| {
            let path = found.split(".rs:").next().unwrap_or_default();
            files.contains(&PathBuf::from(format!("{path}.rs")))
        };
        differences.extend(found.into_iter().filter(is_asked).map(str::to_owned));
    }
    differences
}

fn assert_laid_out(files: &[PathBuf]) {
    let differences = misplaced(files);
    if let Ok(path) = std::env::var("LAYOUT_DIFFERENCES") {
        fs::write(path, differences.concat()).unwrap();
    }
    let shown: String = differences.iter().take(12).map(String::as_str).collect();
    assert!(
        differences.is_empty(),
        "{} differences in {} files\n{shown}",
        differences.len(),
        files.len()
    );
}

/// Writes the modules of a definition, in both modes.
fn put_modules(folder: &Path, name: &str, definition: &Value, files: &mut Vec<PathBuf>) {
    let apis =
        crd::read(name, &definition.to_string()).unwrap_or_else(|errors| panic!("{errors:?}"));
    for api in &apis {
        for (mode, of_mode) in [(SchemaMode::Derive, "derive"), (SchemaMode::Embed, "embed")] {
            for (at, version) in api.versions.iter().enumerate() {
                let path = folder.join(format!("{name}_{of_mode}_{at}.rs"));
                fs::write(&path, types::module(api, version, mode).text).unwrap();
                files.push(path);
            }
        }
    }
}

#[test]
fn modules_are_laid_out_for_names_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    let versions = ["v1".to_owned()];
    for length in lengths(PROPERTY, 5) {
        for kind in [1, 12, 40, LABEL] {
            let definition = definition(kind, 11, &versions, &properties(length, 1 + length / 2));
            put_modules(
                folder.path(),
                &format!("p{length}_{kind}"),
                &definition,
                &mut files,
            );
        }
        let definition = definition(9, 11, &versions, &properties(6, length));
        put_modules(
            folder.path(),
            &format!("t{length}"),
            &definition,
            &mut files,
        );
    }
    for length in lengths(LABEL, 4) {
        for group in [3, 40, 120, 180] {
            let definition = definition(length, group, &[word('v', length)], &properties(4, 4));
            put_modules(
                folder.path(),
                &format!("k{length}_{group}"),
                &definition,
                &mut files,
            );
        }
    }
    assert_laid_out(&files);
}

fn run(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_cargo-operator"))
        .arg("operator")
        .args(arguments)
        .current_dir(folder)
        // without a rustfmt: the tool's own files depend on none
        .env_remove("CARGO")
        .env("PATH", "")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[test]
fn modules_in_modules_are_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for length in lengths(PROPERTY, 29) {
        let two = ["v1".to_owned(), "v2".to_owned()];
        let of = |kind| definition(kind, 11, &two, &properties(length, length)).to_string();
        fs::write(folder.path().join("one.json"), of(9)).unwrap();
        fs::write(folder.path().join("more.json"), of(40)).unwrap();
        for (name, specs) in [
            ("one", &["one.json"][..]),
            ("more", &["one.json", "more.json"]),
        ] {
            for mode in ["derive", "embed"] {
                let text = run(
                    folder.path(),
                    &[&["types", "--schema", mode], specs].concat(),
                );
                let path = folder.path().join(format!("{name}_{mode}_{length}.rs"));
                fs::write(&path, text).unwrap();
                files.push(path);
            }
        }
    }
    assert_laid_out(&files);
}

/// The tool's own files of Rust in a folder and below it; the others are the user's, and follow the user's rustfmt.
fn owned(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            owned(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            if text.starts_with("// Generated by `cargo operator regenerate`") {
                found.push(path);
            }
        }
    }
}

#[test]
fn projects_are_laid_out_for_names_of_any_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for length in lengths(LABEL, 31) {
        for (at, (kind, group, version, name)) in [
            (length, 11, 2, 3),
            (length, 90, length, length),
            (20, length * 3, 30, LABEL - length),
            (LABEL, 180, length, 8),
        ]
        .into_iter()
        .enumerate()
        {
            let own = folder.path().join(format!("{length}-{at}"));
            fs::create_dir(&own).unwrap();
            let versions = [word('v', version), "v10".into(), "v9".into()];
            let definition = definition(kind, group, &versions, &properties(5, 5));
            fs::write(own.join("crd.json"), definition.to_string()).unwrap();
            let name = word('n', name.clamp(1, 50));
            run(&own, &["init", &name, "--crd", "crd.json"]);
            for part in ["src", "tests"] {
                owned(&own.join(&name).join(part), &mut files);
            }
        }
    }
    assert!(!files.is_empty());
    assert_laid_out(&files);
}

/// `owns` and `watches` of a kind, in which kinds with a type and kinds without one alternate as the digits of a number do, and so do the
/// update strategies.
fn declared(mut number: usize) -> String {
    let length = number;
    let mut kinds = vec![];
    while number > 0 {
        kinds.push(match number % 5 {
            0 => "apps/v1/Deployment".to_owned(),
            1 => "v1/PersistentVolumeClaim".to_owned(),
            2 => "v1/Event".to_owned(),
            3 => "events.k8s.io/v1/Event".to_owned(),
            _ => format!("cert-manager.io/v1/Certificate:{}", word('c', length)),
        });
        number /= 5;
    }
    let half = kinds.len() / 2;
    let owns = kinds[half..].iter().enumerate();
    // a kind is owned once
    let owns = owns.filter(|(at, kind)| !kinds[half..half + at].contains(*kind));
    let owns = owns.map(|(at, kind)| {
        let update = ["apply", "replace", "recreate", "on-delete", "create-only"];
        let update = update[(length + at) % update.len()];
        format!("{{ kind = {kind:?}, update = {update:?} }}")
    });
    let owns: Vec<String> = owns.collect();
    format!(
        "owns = [{}]\nwatches = {:?}",
        owns.join(", "),
        &kinds[..half]
    )
}

#[test]
fn the_registry_is_laid_out_for_named_controllers() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for (at, lengths) in [1..=50, 20..=20, 40..=40].into_iter().enumerate() {
        let name = format!("n{at}");
        run(folder.path(), &["init", &name]);
        let own = folder.path().join(name);
        let mut toml = fs::read_to_string(own.join("operator.toml")).unwrap();
        for length in lengths {
            let name = word('p', length);
            let declared = declared(length * 3 + at);
            toml += &format!("\n[[controller]]\nname = {name:?}\nkind = \"v1/Pod\"\n{declared}\n");
        }
        fs::write(own.join("operator.toml"), toml).unwrap();
        run(&own, &["regenerate"]);
        owned(&own.join("src"), &mut files);
        owned(&own.join("tests"), &mut files);
    }
    assert!(!files.is_empty());
    assert_laid_out(&files);
}

#[test]
fn the_registry_is_laid_out_for_any_watches() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    let every: Vec<usize> = (2..=LABEL).collect();
    let one = lengths(LABEL, 20)
        .into_iter()
        .map(|length| vec![length + 1]);
    for (at, kinds) in one.chain([every]).enumerate() {
        let mut arguments = vec!["init".to_owned(), format!("n{at}")];
        if at % 2 == 1 {
            arguments.extend(["--scaffold", "declarative"].map(str::to_owned));
        }
        for length in &kinds {
            let name = format!("{length}.json");
            let definition = definition((*length).min(LABEL), 11, &["v1".into()], &json!({}));
            fs::write(folder.path().join(&name), definition.to_string()).unwrap();
            arguments.extend(["--crd".to_owned(), name]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(folder.path(), &arguments);
        let own = folder.path().join(format!("n{at}"));
        let toml = fs::read_to_string(own.join("operator.toml")).unwrap();
        let mut texts = toml.split("owns = [\"v1/ConfigMap\"]");
        let mut edited = texts.next().unwrap().to_owned();
        for (index, text) in texts.enumerate() {
            edited += &declared(at + index * 7);
            edited += text;
        }
        assert_ne!(edited, toml);
        fs::write(own.join("operator.toml"), edited).unwrap();
        run(&own, &["regenerate"]);
        files.push(own.join("src/controllers/mod.rs"));
    }
    assert_laid_out(&files);
}

#[test]
fn webhooks_and_conversions_are_laid_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![];
    for (at, length) in lengths(LABEL, 10).into_iter().enumerate() {
        let name = format!("n{at}");
        let kinds = [length, (length + 13) % LABEL + 1, (length + 37) % LABEL + 1];
        let mut arguments = vec!["init".to_owned(), name.clone()];
        for kind in kinds {
            let file = format!("{kind}.json");
            // two versions with different schemas are converted
            let versions = ["v1".to_owned(), "v2".to_owned()];
            let mut definition = definition(kind, 3 + length * 2, &versions, &json!({}));
            let field = json!({"type": "object", "properties": {"a": {"type": "string"}}});
            definition["spec"]["versions"][1]["schema"]["openAPIV3Schema"] = field;
            fs::write(folder.path().join(&file), definition.to_string()).unwrap();
            arguments.extend(["--crd".to_owned(), file]);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(folder.path(), &arguments);
        let own = folder.path().join(name);
        let toml = fs::read_to_string(own.join("operator.toml")).unwrap();
        let mut tables = toml.split("\n[[kind]]");
        let mut edited = tables.next().unwrap().to_owned();
        edited += ["", "certificates = \"cert-manager\"\n"][at % 2];
        edited += ["migrate-storage = true\n", "ensure-crds = true\n", ""][at % 3];
        for (index, table) in tables.enumerate() {
            let webhooks = match (index + at) % 4 {
                0 => "[\"validate\", \"mutate\"]",
                1 => "[\"mutate\"]",
                2 => "[{ webhook = \"validate\", operations = [\"delete\"] }]",
                _ => "[]",
            };
            let hub = ["hub = \"v1\"\n", ""][(at + index / 2) % 2];
            let table = table.replacen("versions = [\"v1\"]", "versions = [\"v1\", \"v2\"]", 1);
            edited += &format!(
                "\n[[kind]]{}\n{hub}webhooks = {webhooks}\n",
                table.trim_end()
            );
        }
        fs::write(own.join("operator.toml"), edited).unwrap();
        run(&own, &["regenerate"]);
        for part in ["src", "tests"] {
            owned(&own.join(part), &mut files);
        }
    }
    assert!(files.iter().any(|path| path.ends_with("webhooks/mod.rs")));
    assert_laid_out(&files);
}
