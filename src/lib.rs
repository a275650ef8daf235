//! The library of `cargo operator`.
