//! The four formats of `PATCH`: [JSON patch, merge patch, strategic merge patch and apply].
//!
//! [JSON patch, merge patch, strategic merge patch and apply]: https://kubernetes.io/docs/reference/using-api/api-concepts/#patch-and-apply

mod json;
mod merge;
mod strategic;

pub(crate) use self::json::{apply_operations, apply_or_explain, check_operations};
pub(crate) use self::merge::merged;
pub(crate) use self::strategic::merge as merge_strategically;

pub(crate) const JSON: &str = "application/json-patch+json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";
pub(crate) const APPLY: &str = "application/apply-patch+yaml";
