//! Rejects objects in a namespace that does not exist or is being deleted.

use crate::kinds::resource::NAMESPACES;
use crate::model::metadata::is_deleting;
use crate::model::{Cause, Failure, Key, Kind, Result};
use crate::store::Store;

/// Rejects new objects in a namespace that does not exist or is being deleted.
pub(crate) fn check_namespace(store: &Store, kind: &Kind, at: &Key) -> Result<()> {
    if !kind.namespaced {
        return Ok(());
    }
    let namespace = &at.namespace;
    match store.find(&Key::new(NAMESPACES, "", namespace)) {
        None => Err(Failure::not_found(&Kind::named(NAMESPACES), namespace)),
        Some(found) if is_deleting(&found) => {
            let text = format!(
                "{} {:?} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
                kind.qualified(),
                at.name
            );
            let cause = Cause {
                reason: "NamespaceTerminating",
                message: format!("namespace {namespace} is being terminated"),
                field: "metadata.namespace".into(),
            };
            Err(Failure::forbidden(kind, &at.name, text).with_causes(vec![cause]))
        }
        Some(_) => Ok(()),
    }
}
