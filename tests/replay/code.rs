//! User code that uses every field of the types, one line for each, and the errors of the compiler in it.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{Fields, Item};

pub struct Compiler {
    root: PathBuf,
    target: OsString,
}

const USES: &str = "src/uses.rs";

impl Compiler {
    pub fn new(root: &Path, target: OsString) -> Self {
        let lib = root.join("src/lib.rs");
        let text = fs::read_to_string(&lib).unwrap();
        fs::write(&lib, text + "\npub mod uses;\n").unwrap();
        Self {
            root: root.to_owned(),
            target,
        }
    }

    /// Writes code that compiles with the current types.
    pub fn write_uses(&self) {
        let mut text = String::from("//! Uses of all fields.\n");
        let api = self.root.join("src/api");
        let mut count = 0;
        for (path, _) in crate::files(&api)
            .iter()
            .filter(|(path, _)| path.ends_with(".rs") && *path != "mod.rs")
        {
            let module = path.trim_end_matches(".rs").replace('/', "::");
            let source = fs::read_to_string(api.join(path)).unwrap();
            let file = syn::parse_file(&source).unwrap();
            for item in &file.items {
                let Item::Struct(item) = item else { continue };
                let Fields::Named(fields) = &item.fields else {
                    continue;
                };
                for field in &fields.named {
                    count += 1;
                    let (name, field) =
                        (&item.ident, field.ident.as_ref().unwrap().to_token_stream());
                    text += &format!(
                        "pub fn use_{count}(it: &crate::api::{module}::{name}) -> String {{ format!(\"{{:?}}\", it.{field}) }}\n"
                    );
                }
                // a user may write this to get an error for each new field
                if fields.named.len() < 4 {
                    count += 1;
                    let names: Vec<String> = fields
                        .named
                        .iter()
                        .map(|field| format!("{}: _", field.ident.to_token_stream()))
                        .collect();
                    let names = names.join(", ");
                    let name = &item.ident;
                    text += &format!(
                        "pub fn use_{count}(it: crate::api::{module}::{name}) {{ let crate::api::{module}::{name} {{ {names} }} = it; }}\n"
                    );
                }
            }
        }
        fs::write(self.root.join(USES), text).unwrap();
    }

    /// The lines of the user's code with errors.
    pub fn broken(&self) -> BTreeSet<(String, u64)> {
        let output = crate::cargo::command()
            .args([
                "check",
                "--all-targets",
                "--offline",
                "--keep-going",
                "--message-format=json",
            ])
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .unwrap();
        let mut found = BTreeSet::new();
        for line in output.stdout.split(|byte| *byte == b'\n') {
            let Ok(message) = serde_json::from_slice::<serde_json::Value>(line) else {
                continue;
            };
            let message = &message["message"];
            if message["level"] != "error" {
                continue;
            }
            for span in message["spans"].as_array().into_iter().flatten() {
                if span["is_primary"] == true {
                    let path = span["file_name"].as_str().unwrap().to_owned();
                    found.insert((path, span["line_start"].as_u64().unwrap()));
                }
            }
        }
        assert!(
            output.status.success() || !found.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        found
    }

    /// Removes broken lines until the rest compiles, and returns them. Lines of the controller and of its test get the version `stored`
    /// instead.
    pub fn failing(&self, stored: &str) -> BTreeSet<(String, u64)> {
        let mut failing = BTreeSet::new();
        loop {
            let broken = self.broken();
            if broken.is_empty() {
                return failing;
            }
            for (path, line) in &broken {
                let at = self.root.join(path);
                let text = fs::read_to_string(&at).unwrap();
                let mut lines: Vec<&str> = text.lines().collect();
                let wrong = lines[*line as usize - 1];
                let fixed = match path.as_str() {
                    USES => String::new(),
                    _ => with_version(wrong, stored),
                };
                assert_ne!(fixed, wrong, "line {line} of {path}");
                lines[*line as usize - 1] = &fixed;
                fs::write(&at, lines.join("\n") + "\n").unwrap();
            }
            failing.extend(broken);
        }
    }
}

/// A line such as `use crate::api::widget::v1alpha1::Widget;` with another version.
fn with_version(line: &str, version: &str) -> String {
    let fixed = || {
        let (start, path) = line.split_once("api::")?;
        let mut parts = path.splitn(3, "::");
        let (module, _, rest) = (parts.next()?, parts.next()?, parts.next()?);
        Some(format!("{start}api::{module}::{version}::{rest}"))
    };
    fixed().unwrap_or_else(|| line.to_owned())
}
