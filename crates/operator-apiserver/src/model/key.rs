//! The key under which an object is stored.

use std::cmp::Ordering;

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
            self.namespace
                .bytes()
                .chain(*b"/")
                .cmp(other.namespace.bytes().chain(*b"/"))
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
    /// The key of an object; the namespace is empty for cluster-scoped objects.
    pub fn new((group, plural): (&str, &str), namespace: &str, name: &str) -> Self {
        Self {
            group: group.to_owned(),
            plural: plural.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The group and plural of the kind.
    pub fn resource(&self) -> (&str, &str) {
        (&self.group, &self.plural)
    }

    pub fn is(&self, resource: (&str, &str)) -> bool {
        self.resource() == resource
    }
}
