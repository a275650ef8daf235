//! Checks names in `operator.toml`: of packages, controllers, modules and namespaces.

use crate::rust::{USED_MODULES, is_keyword};

/// Whether a name is a label of a domain name (RFC 1123), as that of a namespace must be.
pub fn is_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Whether all characters are harmless in a shell, in YAML, TOML and Rust.
pub fn is_plain(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/:@+~".contains(&b);
    !word.is_empty() && word.bytes().all(plain)
}

/// Names that Cargo or a package in every project already uses.
const RESERVED: [&str; 24] = [
    "alloc",
    "anyhow",
    "aux",
    "build",
    "clap",
    "con",
    "core",
    "deps",
    "examples",
    "incremental",
    "k8s-openapi",
    "kube",
    "nul",
    "operator-apiserver",
    "operator-runtime",
    "operator-schema",
    "operator-testing",
    "prn",
    "schemars",
    "serde",
    "serde-json",
    "std",
    "test",
    "tokio",
];

/// Whether the name is valid for a Cargo package, a Kubernetes label value and a Kubernetes object.
pub fn is_package_name(name: &str) -> bool {
    let is_device = ["com", "lpt"].iter().any(|device| {
        name.strip_prefix(device)
            .is_some_and(|it| it.len() == 1 && it.bytes().all(|b| b.is_ascii_digit()))
    });
    name.len() <= 50
        && !is_device
        && !RESERVED.contains(&name)
        && !is_keyword(name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Whether the name can be a label's value, the end of a finalizer and, with `_` for each `-`, a module.
pub fn is_controller_name(name: &str) -> bool {
    name.len() <= 50
        && name.split('-').all(|part| {
            part.starts_with(|c: char| c.is_ascii_lowercase())
                && part
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

pub fn is_module_name(name: &str) -> bool {
    !is_keyword(name)
        && !USED_MODULES.contains(&name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
