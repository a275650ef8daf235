//! The library behind `cargo operator`: from a CustomResourceDefinition to the files of a kube-rs operator.
//!
//! The flow is `crd` (read) to `types` (lower, present) to `render` to `plan` to `disk`. Everything is a value until `disk`
//! applies a plan; only `disk` and `terminal` do io. See `docs/ARCHITECTURE.md`.

pub mod crd;
pub mod diagnostic;
pub mod manifests;
