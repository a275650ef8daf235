//! A parsed request for a resource of a known kind.

use super::call::{Call, ResourcePath};
use crate::model::{Key, Kind};

/// A call to a resource of a known kind.
pub(crate) struct Request<'a> {
    pub call: &'a Call,
    pub path: &'a ResourcePath,
    pub kind: &'a Kind,
}

impl Request<'_> {
    /// The key of the object with this name.
    pub fn key(&self, name: &str) -> Key {
        Key::new(self.kind.stored_resource(), &self.path.namespace, name)
    }
}
