//! The entries of `operator.toml`, and the edits that remove unneeded permissions.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use crate::permission::Permission;

/// An entry of `owns`, `watches` or `reads`.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Declared {
    /// The table that has the entry.
    #[serde(flatten)]
    pub table: Table,
    /// `owns`, `watches` or `reads`.
    key: String,
    /// The entry in the syntax of `operator.toml`, for example `v1/Secret`.
    entry: String,
    group: String,
    resource: String,
    /// The permissions that the entry grants.
    verbs: Vec<String>,
}

/// A table of `operator.toml`, with the name by which it is shown to the user.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Table {
    /// `[[kind]]`, by the kind.
    Kind(String),
    /// `[[controller]]`, by the name of the controller.
    Controller(String),
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "kind {kind}"),
            Self::Controller(name) => write!(f, "controller {name}"),
        }
    }
}

impl Declared {
    /// Whether it grants a permission on the same resource.
    pub fn is_about(&self, permission: &Permission) -> bool {
        permission.is_on(&self.group, &self.resource)
    }

    /// Whether it is an `owns` entry of children that are not written with server-side apply, which needs `patch`.
    pub fn is_not_applied(&self) -> bool {
        self.key == "owns" && !self.verbs.iter().any(|verb| verb == "patch")
    }
}

/// The edits of `operator.toml` that remove unused permissions, each as a line.
pub(crate) fn edits(unused: &BTreeSet<Permission>, declared: &[Declared]) -> Vec<String> {
    let of_resource = |it: &&Declared| unused.iter().any(|permission| it.is_about(permission));
    let mut edits = vec![];
    for entry in declared.iter().filter(of_resource) {
        let is_unused = |verb: &str| {
            unused
                .iter()
                .any(|permission| entry.is_about(permission) && permission.verb() == verb)
        };
        let (unneeded, needed): (Vec<&String>, Vec<&String>) =
            entry.verbs.iter().partition(|verb| is_unused(verb));
        let Declared {
            table, key, entry, ..
        } = entry;
        if needed.is_empty() {
            edits.push(format!(
                "help: in operator.toml, under the {table}, remove {entry:?} from `{key}`"
            ));
        } else if key == "reads" && !unneeded.is_empty() {
            edits.push(format!(
                "help: in operator.toml, under the {table}, write in `reads`, in place of {entry:?}:\n\
                 {{ kind = {entry:?}, verbs = {needed:?} }}"
            ));
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::permission::UnusedPermissions;

    fn unused(resource: &str, verbs: &[&str]) -> BTreeSet<Permission> {
        let role = json!({
            "kind": "ClusterRole", "metadata": {"name": "a"},
            "rules": [{"apiGroups": [""], "resources": [resource], "verbs": verbs}],
        });
        let binding = json!({
            "roleRef": {"kind": "ClusterRole", "name": "a"}, "subjects": [{"kind": "User", "name": "a"}],
        });
        let manifests = [role, binding].map(|it| (PathBuf::from("role.yaml"), it));
        UnusedPermissions::of(&manifests, "a").0
    }

    fn declared(key: &str, verbs: &[&str]) -> [Declared; 1] {
        declared_by("kind", "Widget", key, verbs)
    }

    fn declared_by(table: &str, name: &str, key: &str, verbs: &[&str]) -> [Declared; 1] {
        let text = json!({
            table: name, "key": key, "entry": "v1/Secret", "group": "", "resource": "secrets", "verbs": verbs,
        });
        [serde_json::from_value(text).unwrap()]
    }

    #[test]
    fn an_unneeded_entry_is_removed_and_an_excessive_one_is_reduced() {
        let reads = declared("reads", &["get", "list"]);
        assert_eq!(
            edits(&unused("secrets", &["list"]), &reads),
            [
                "help: in operator.toml, under the kind Widget, write in `reads`, in place of \"v1/Secret\":\n{ kind = \"v1/Secret\", verbs = [\"get\"] }"
            ]
        );
        let remove = "help: in operator.toml, under the kind Widget, remove \"v1/Secret\" from";
        assert_eq!(
            edits(&unused("secrets", &["get", "list"]), &reads),
            [format!("{remove} `reads`")]
        );
        let watches = declared("watches", &["list", "watch"]);
        assert_eq!(
            edits(&unused("secrets", &["list", "watch"]), &watches),
            [format!("{remove} `watches`")]
        );
        assert!(edits(&unused("pods", &["list"]), &reads).is_empty());
        let of_controller = declared_by("controller", "printer", "watches", &["list"]);
        assert_eq!(
            edits(&unused("secrets", &["list"]), &of_controller),
            [
                "help: in operator.toml, under the controller printer, remove \"v1/Secret\" from `watches`"
            ]
        );
    }
}
