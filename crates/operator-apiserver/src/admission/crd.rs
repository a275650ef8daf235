//! Rejects new objects of a custom kind while its CRD is being deleted.

use crate::kinds::resource::CRDS;
use crate::model::failure::Failure;
use crate::model::key::Key;
use crate::model::kind::Kind;
use crate::model::metadata::is_deleting;
use crate::store::state::State;

impl State {
    /// Rejects new objects of a custom kind while its CRD is being deleted.
    pub(crate) fn check_crd(&self, kind: &Kind, name: &str) -> Result<(), Failure> {
        let definition = kind
            .custom
            .as_ref()
            .and_then(|_| self.store.find(&Key::new(CRDS, "", &kind.qualified())));
        if !definition.is_some_and(|definition| is_deleting(&definition)) {
            return Ok(());
        }
        let text = format!(
            "{} {name:?} is forbidden: create not allowed while custom resource definition is terminating",
            kind.qualified()
        );
        Err(Failure::forbidden(kind, name, text))
    }
}
