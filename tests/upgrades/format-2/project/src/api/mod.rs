// Made by `cargo operator regenerate`. Do not edit: change operator.toml or crds/ and run it again.
//! The kinds of the project, by module and version.

pub mod queue {
    pub mod v1beta1;
}

pub mod account {
    pub mod v1;
}
