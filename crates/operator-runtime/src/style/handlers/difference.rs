//! The paths at which two objects differ.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

/// A path in an object, as `kubectl explain` writes it, with the index of an item: `spec.ports[1].name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(String);

impl Path {
    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the path is `other`, or leads to a part of it.
    pub fn is_within(&self, other: &str) -> bool {
        let rest = self.0.strip_prefix(other);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Path {
    fn from(path: String) -> Self {
        Self(path)
    }
}

/// The deepest paths at which two values differ, in order. Lists of equal length are compared item by item; others differ as a whole.
pub(super) fn differences(before: &Value, after: &Value) -> Vec<Path> {
    let mut all = vec![];
    compare(Some(before), Some(after), "", &mut all);
    all
}

fn compare(before: Option<&Value>, after: Option<&Value>, path: &str, all: &mut Vec<Path>) {
    if before == after {
        return;
    }
    match (before, after) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                compare(a.get(name), b.get(name), &path, all);
            }
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                compare(Some(a), Some(b), &format!("{path}[{index}]"), all);
            }
        }
        _ => all.push(Path(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_within_itself_and_its_parents() {
        let path = Path::from("spec.ports[1].name".to_owned());
        for other in ["spec", "spec.ports", "spec.ports[1]", "spec.ports[1].name"] {
            assert!(path.is_within(other), "{other}");
        }
        for other in ["spec.port", "spec.ports[1].name.x", "status"] {
            assert!(!path.is_within(other), "{other}");
        }
    }
}
