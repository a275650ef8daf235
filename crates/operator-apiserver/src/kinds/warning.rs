//! The warnings that the client gets when an object is written.

use std::collections::BTreeSet;

use serde_json::Value;

use super::strategy;
use crate::model::Kind;
use crate::model::metadata::{finalizers, is_standard_finalizer};

/// The warnings about new finalizers without a domain in a custom object, and those of the kind's strategy.
pub(crate) fn warnings(kind: &Kind, live: Option<&Value>, object: &Value) -> Vec<String> {
    let before = live.map(finalizers).unwrap_or_default();
    let added: BTreeSet<&str> = finalizers(object).into_iter().collect();
    let short = added
        .into_iter()
        .filter(|name| !before.contains(name))
        .filter(|name| !name.contains('/') && !is_standard_finalizer(name))
        .filter(|_| kind.custom.is_some());
    let text = |name: &str| {
        let how = if name.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name{how} to avoid accidental conflicts with other finalizer writers"
        )
    };
    let mut warnings: Vec<String> = short.map(text).collect();
    let own = (strategy(kind).warnings)(object).into_iter();
    warnings.extend(own.map(str::to_owned));
    warnings
}
