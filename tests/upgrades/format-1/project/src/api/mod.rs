// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The kinds of the project, by module and version.

pub mod cache_policy {
    pub mod v1;
}

pub mod widget {
    pub mod v1;
}
