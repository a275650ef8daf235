//! Rejects new objects of a custom kind while its CRD is being deleted.

use crate::kinds::resource::CRDS;
use crate::model::metadata::is_deleting;
use crate::model::{Failure, Key, Kind};
use crate::store::Store;

/// Rejects new objects of a custom kind while its CRD is being deleted.
pub(crate) fn check_crd(store: &Store, kind: &Kind, name: &str) -> Result<(), Failure> {
    let crd = kind
        .custom
        .as_ref()
        .and_then(|_| store.find(&Key::new(CRDS, "", &kind.qualified())));
    if !crd.is_some_and(|crd| is_deleting(&crd)) {
        return Ok(());
    }
    let text = format!(
        "{} {name:?} is forbidden: create not allowed while custom resource definition is terminating",
        kind.qualified()
    );
    Err(Failure::forbidden(kind, name, text))
}
