// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The kinds of the project, by module and version.

pub mod page {
    pub mod v1;
}

pub mod site {
    pub mod v1;
}
