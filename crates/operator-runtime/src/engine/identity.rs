//! The name of a controller, and the names that follow from it: of its field manager, its finalizer and the reporter of its events.
//!
//! A controller that was added without a name uses the names of the operator, so that it owns the fields that an earlier version of the
//! operator wrote.

use std::fmt;

use crate::engine::kind::GroupKind;

/// The identity of a controller in its operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub operator: String,
    pub kind: GroupKind,
    /// Unique in the operator.
    pub name: String,
    /// Whether the controller was added with a name.
    pub is_named: bool,
    /// Whether another controller has the same kind.
    pub shares_kind: bool,
}

impl Identity {
    /// The [field manager](https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers) of its writes.
    pub fn manager(&self) -> String {
        if self.is_named {
            format!("{}-{}", self.operator, self.name)
        } else {
            self.operator.clone()
        }
    }

    /// The conventional name of its finalizer.
    pub fn finalizer(&self) -> String {
        if self.is_named {
            self.qualified()
        } else {
            format!("{}/{}", self.kind.group, self.operator)
        }
    }

    /// A valid name for its finalizer. That is the conventional one, except for an unnamed controller of the core group, whose conventional
    /// name would begin with the slash.
    pub fn own_finalizer(&self) -> String {
        if self.kind.group.is_empty() {
            self.qualified()
        } else {
            self.finalizer()
        }
    }

    /// The reporting controller of its events.
    pub fn reporter(&self) -> String {
        if self.is_named {
            self.qualified()
        } else {
            self.operator.clone()
        }
    }

    fn qualified(&self) -> String {
        format!("{}/{}", self.operator, self.name)
    }
}

/// Formats the kind, with the name of a named controller: `Widget.example.com`, `Pod (pod-printer)`.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_named {
            write!(f, "{} ({})", self.kind, self.name)
        } else {
            self.kind.fmt(f)
        }
    }
}

/// Whether a controller can have this name. Qualified names contain it, so it must be a [DNS
/// label](https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names).
pub(crate) fn is_name(name: &str) -> bool {
    let is_part = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = name.as_bytes();
    name.len() <= 63
        && bytes.iter().all(|c| is_part(*c) || *c == b'-')
        && bytes.first().is_some_and(|c| is_part(*c))
        && bytes.last().is_some_and(|c| is_part(*c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(name: &str, is_named: bool) -> Identity {
        Identity {
            operator: "shop".into(),
            kind: GroupKind {
                group: "example.com".into(),
                kind: "Widget".into(),
            },
            name: name.into(),
            is_named,
            shares_kind: false,
        }
    }

    #[test]
    fn a_controller_without_a_name_has_the_names_of_the_operator() {
        let unnamed = identity("widget", false);
        assert_eq!(unnamed.manager(), "shop");
        assert_eq!(unnamed.finalizer(), "example.com/shop");
        assert_eq!(unnamed.reporter(), "shop");
        assert_eq!(unnamed.to_string(), "Widget.example.com");
    }

    #[test]
    fn a_named_controller_has_names_of_its_own() {
        let named = identity("printer", true);
        assert_eq!(named.manager(), "shop-printer");
        assert_eq!(named.finalizer(), "shop/printer");
        assert_eq!(named.reporter(), "shop/printer");
        assert_eq!(named.to_string(), "Widget.example.com (printer)");
    }

    #[test]
    fn a_name_is_a_dns_label() {
        for name in ["a", "pod-printer", "7", &"a".repeat(63)] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "Pod", "a.b", "a_b", "a/b", &"a".repeat(64)] {
            assert!(!is_name(name), "{name}");
        }
    }
}
