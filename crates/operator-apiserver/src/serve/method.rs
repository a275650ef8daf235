//! Whether a kind supports the method of a request.

use crate::model::failure::{Failure, Result};
use crate::model::kind::Kind;
use crate::request::call::ResourcePath;

impl Kind {
    /// Rejects a method that the path does not support.
    pub fn check_method(&self, verb: &str, path: &ResourcePath) -> Result<()> {
        let subresource = path.subresource.as_deref();
        let is_known = subresource.is_none_or(|name| self.subresources.contains_key(name));
        let needs_name = matches!(verb, "update" | "patch");
        let has_place = match verb {
            "create" => path.name.is_empty() || self.custom.is_some() || subresource.is_some(),
            _ => !needs_name || !path.name.is_empty(),
        };
        if !is_known || self.allows(subresource, verb) && has_place {
            return Ok(());
        }
        if self.custom.is_none() {
            return Err(Failure::method_not_allowed());
        }
        Err(match has_place {
            true => Failure::not_supported(self, verb),
            false => Failure::bad_request("name must be provided"),
        })
    }
}
