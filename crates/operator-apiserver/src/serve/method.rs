//! Whether a kind supports the method of a request.

use crate::model::{Failure, Kind, Result};
use crate::request::ResourcePath;

/// Rejects a method that the path does not support.
pub(crate) fn check_method(kind: &Kind, verb: &str, path: &ResourcePath) -> Result<()> {
    let subresource = path.subresource.as_deref();
    let is_known = subresource.is_none_or(|name| kind.subresources.contains_key(name));
    let needs_name = matches!(verb, "update" | "patch");
    let has_place = match verb {
        "create" => path.name.is_empty() || kind.custom.is_some() || subresource.is_some(),
        _ => !needs_name || !path.name.is_empty(),
    };
    if !is_known || kind.allows(subresource, verb) && has_place {
        return Ok(());
    }
    if kind.custom.is_none() {
        return Err(Failure::method_not_allowed());
    }
    Err(if has_place {
        Failure::not_supported(kind, verb)
    } else {
        Failure::bad_request("name must be provided")
    })
}
