//! The versions of a kind in which field managers may have written an object.

use std::collections::BTreeMap;

use super::shape::Node;
use crate::model::Kind;
use crate::model::builtin::builtin;
use crate::model::kind::VersionSchema;

/// The versions of a kind, by `apiVersion`.
#[derive(Clone, Copy)]
pub(crate) enum Versions<'a> {
    Custom(&'a BTreeMap<String, VersionSchema>),
    /// A built-in kind, whose objects are assumed to be the same in all versions, which is wrong for HorizontalPodAutoscaler.
    BuiltIn(&'a Kind, Node<'a>),
}

impl<'a> Versions<'a> {
    /// Whether the fields that a write through a path cannot change are ignored in this other version, too.
    pub fn ignores_fields(self, subresource: &str, api_version: &str) -> bool {
        match self {
            Self::Custom(versions) => {
                subresource == "status" && versions.get(api_version).is_some_and(|it| it.has_status)
            }
            Self::BuiltIn(..) => true,
        }
    }

    /// The schema of a version; `None` if a built-in kind does not have it, an error if a CRD does not have it.
    pub fn node(self, api_version: &str) -> Result<Option<Node<'a>>, String> {
        match self {
            Self::Custom(versions) => match versions.get(api_version) {
                Some(version) => Ok(Some(Node::Schema(&version.typed))),
                None => Err(format!(
                    "request to convert CR to an invalid group/version: {api_version}"
                )),
            },
            Self::BuiltIn(own, node) => {
                // another version of the same group: an Event of the other group has other fields, and is not converted here
                let is_known = builtin()
                    .kinds
                    .iter()
                    .any(|kind| kind.is(own.resource()) && kind.api_version() == api_version);
                Ok(is_known.then_some(node))
            }
        }
    }
}
