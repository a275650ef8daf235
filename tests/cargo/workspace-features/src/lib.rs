//! An empty crate: see `Cargo.toml`.
