//! The key under which an object is stored.

use std::cmp::Ordering;

use super::kind::Kind;

/// The identity of a stored object, without its version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Key {
    pub group: String,
    pub plural: String,
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    pub name: String,
}

/// Compares keys as etcd does, in which a slash follows each namespace: `a-b` comes before `a`.
impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let namespaces = || {
            let ours = self.namespace.bytes().chain(*b"/");
            ours.cmp(other.namespace.bytes().chain(*b"/"))
        };
        self.group
            .cmp(&other.group)
            .then_with(|| self.plural.cmp(&other.plural))
            .then_with(namespaces)
            .then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Key {
    /// The key under which the real server stores it.
    pub fn in_etcd(&self, kind: &Kind) -> String {
        let group = match kind.custom {
            Some(_) => format!("{}/", self.group),
            None => String::new(),
        };
        // Beside them, the addresses that are given out are kept.
        let part = match kind.is("", "services") {
            true => "specs/",
            false => "",
        };
        let namespace = match self.namespace.as_str() {
            "" => String::new(),
            namespace => format!("{namespace}/"),
        };
        format!(
            "/registry/{group}{}/{part}{namespace}{}",
            self.plural, self.name
        )
    }
}

impl Key {
    /// The key of a namespace.
    pub fn of_namespace(name: &str) -> Self {
        Self {
            plural: "namespaces".into(),
            name: name.to_owned(),
            ..Self::default()
        }
    }
}
