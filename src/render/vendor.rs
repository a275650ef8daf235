//! The sources of the runtime's crates, which are copied into projects, so that these build from public crates only.
//!
//! `cargo package` omits folders that have a Cargo.toml, so the sources are packed into one file; `tests/packed_crates.rs` checks that it
//! is current.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::{
    plan::Tree,
    project::{Owner, Runtime},
};

/// The sources, by path from the folder `crates/`.
static CRATES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("crates.json")).expect("a test reads the file")
});

/// Adds the crates to a project that vendors them.
pub fn add(tree: &mut Tree, runtime: &Runtime) {
    if *runtime == Runtime::Vendored {
        for (path, text) in CRATES.iter() {
            tree.insert(format!("crates/{path}"), Owner::Tool, text.as_str());
        }
    }
}

/// The value of a crate's key in `[dependencies]`.
pub fn dependency(name: &str, runtime: &Runtime, features: &[&str]) -> String {
    let place = match runtime {
        Runtime::Version(version) if features.is_empty() => return format!("{version:?}"),
        Runtime::Version(version) => format!("version = {version:?}"),
        Runtime::Vendored => format!("path = \"crates/{name}\""),
        Runtime::Path(path) => format!(
            "path = {:?}",
            format!("{}/crates/{name}", path.trim_end_matches('/'))
        ),
    };
    match features {
        [] => format!("{{ {place} }}"),
        features => format!("{{ {place}, features = {features:?} }}"),
    }
}
