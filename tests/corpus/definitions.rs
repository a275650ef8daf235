//! The CRDs of the corpus.

use std::{fs, path::PathBuf};

use cargo_operator::crd::{self, Api};

/// Reads all CRDs below the folder that `$CORPUS` names; empty if it is not set.
pub fn corpus() -> Vec<Api> {
    let Some(folder) = std::env::var_os("CORPUS") else {
        return vec![];
    };
    let mut files = vec![];
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        crd::read(&path.to_string_lossy(), &text).unwrap()
    };
    files.iter().flat_map(read).collect()
}
