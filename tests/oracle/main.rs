//! Compares this tool with the oracle of `tests/control-plane/oracle`, which reads texts as kubectl does, and judges CRDs as the API server
//! does.
//!
//! `$ORACLE` is its program, and `$CORPUS` a folder of real CRDs.

mod cel;
mod peer;
mod rule_edit;
mod verdict;
mod yaml;

use std::{fs, path::Path};

/// The texts of the CRDs that the tests use, and of real ones.
fn crds() -> Vec<String> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/crds")];
    let corpus = std::env::var_os("CORPUS").map(Into::into);
    folders.extend(corpus);
    let mut texts = vec![];
    while let Some(folder) = folders.pop() {
        let mut entries: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|it| it.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            match path.extension().and_then(|it| it.to_str()) {
                _ if path.is_dir() => folders.push(path),
                Some("yaml" | "yml" | "json") => texts.push(fs::read_to_string(path).unwrap()),
                _ => {}
            }
        }
    }
    texts
}
