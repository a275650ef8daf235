//! The names of the modules of kinds and of their versions.

use heck::ToSnakeCase;

use super::is_keyword;

/// Names that the module of a kind cannot have, because the files that declare it use them.
pub const USED_MODULES: [&str; 8] = [
    "conversions",
    "faults",
    "generated",
    "k8s_openapi",
    "main",
    "operator_runtime",
    "support",
    "webhooks",
];

/// The module name of a kind, unless `operator.toml` sets another one: `http_route` for `HTTPRoute`.
pub fn module_name(kind: &str) -> String {
    let name = kind.to_snake_case();
    if is_keyword(&name) || USED_MODULES.contains(&name.as_str()) {
        name + "_"
    } else {
        name
    }
}

/// The module name of a version: `v1_alpha` for `v1-alpha`.
pub fn version_module(version: &str) -> String {
    let name = version.replace('-', "_");
    if is_keyword(&name) { name + "_" } else { name }
}
