//! The schema of a kind for field ownership.

use super::Node;
use crate::model::Kind;
use crate::model::builtin::builtin;

/// The schema of a kind's objects for field ownership.
pub(crate) fn node(kind: &Kind) -> Node<'_> {
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => custom
            .crd
            .versions
            .get(&kind.api_version())
            .map_or(Node::Deduced, |version| Node::Schema(&version.typed)),
        (None, Some(name)) => builtin()
            .types
            .get(name)
            .map_or(Node::Deduced, Node::Schema),
        (None, None) => Node::Deduced,
    }
}
