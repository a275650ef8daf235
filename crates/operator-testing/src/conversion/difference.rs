//! The differences between two objects, each with its path.

use std::collections::BTreeSet;

use serde_json::Value;

/// A value that is not the same in two objects.
pub(super) struct Difference<'v> {
    /// For example `spec.pools[0].size`.
    pub path: String,
    pub before: Option<&'v Value>,
    pub after: Option<&'v Value>,
}

/// All differences, each at the deepest path that differs.
pub(super) fn differences<'v>(before: &'v Value, after: &'v Value) -> Vec<Difference<'v>> {
    let mut differences = vec![];
    collect("", Some(before), Some(after), &mut differences);
    differences
}

fn collect<'v>(
    path: &str,
    before: Option<&'v Value>,
    after: Option<&'v Value>,
    differences: &mut Vec<Difference<'v>>,
) {
    if before == after {
        return;
    }
    match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let dot = if path.is_empty() { "" } else { "." };
                collect(
                    &format!("{path}{dot}{name}"),
                    a.get(name),
                    b.get(name),
                    differences,
                );
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                collect(&format!("{path}[{index}]"), Some(a), Some(b), differences);
            }
        }
        _ => differences.push(Difference {
            path: path.to_owned(),
            before,
            after,
        }),
    }
}
