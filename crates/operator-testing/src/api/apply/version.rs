//! The versions of a kind that managers of an object may have written it in.

use std::collections::BTreeMap;

use operator_schema::Schema;

use super::shape::Node;
use crate::api::builtin::builtin;

/// The schemas by `apiVersion`.
#[derive(Clone, Copy)]
pub(crate) enum Versions<'a> {
    Custom(&'a BTreeMap<String, Schema>),
    /// A built-in kind of this name, whose objects look the same in all its versions.
    BuiltIn(&'a str, Node<'a>),
}

impl<'a> Versions<'a> {
    /// The schema of a version; `None` of one that a built-in kind does not have, an error of one that a definition does not.
    pub fn node(self, api_version: &str) -> Result<Option<Node<'a>>, String> {
        match self {
            Self::Custom(schemas) => match schemas.get(api_version) {
                Some(schema) => Ok(Some(Node::Schema(schema))),
                None => Err(format!(
                    "request to convert CR to an invalid group/version: {api_version}"
                )),
            },
            Self::BuiltIn(name, node) => {
                let is_known = builtin()
                    .kinds
                    .iter()
                    .any(|kind| kind.kind == name && kind.api_version() == api_version);
                Ok(is_known.then_some(node))
            }
        }
    }
}
