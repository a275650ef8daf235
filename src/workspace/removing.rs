//! Removes kinds and controllers from an open project.

use super::{
    kind_error::KindError,
    kinds::is_named,
    open::{OpenProject, record},
    starter,
};
use crate::{
    config::{Kind, NamedController},
    crd::{self, Api},
    diagnostic::Failure,
    disk,
};

impl OpenProject {
    /// Removes the controller of this name. Returns its table.
    pub fn remove_controller(&mut self, name: &str) -> Option<NamedController> {
        let mut controllers = self.config.controllers.iter();
        let index = controllers.position(|it| it.name == name)?;
        Some(self.config.remove_controller(index))
    }

    /// Removes the `[[webhook]]` of a kind, GROUP/VERSION/KIND. Returns the kind.
    pub fn remove_webhook_table(&mut self, name: &str) -> Option<String> {
        let mut tables = self.config.webhooks.iter();
        let index = tables.position(|table| table.kind == name)?;
        Some(self.config.remove_webhook_table(index).kind)
    }

    /// Removes the webhooks of a kind, but not the kind. Returns the kind.
    pub fn remove_webhooks(&mut self, name: &str) -> Result<String, Failure> {
        if let Some(kind) = self.remove_webhook_table(name) {
            return Ok(kind);
        }
        let index = self.own_kind(name)?;
        let index = index.ok_or_else(|| KindError::NoSuchKind(name.into(), self.names()))?;
        let kind = self.config.kinds[index].full_name();
        if self.config.kinds[index].webhooks.is_empty() {
            return Err(KindError::NoWebhooks(kind).into());
        }
        self.config.remove_webhooks(index);
        Ok(kind)
    }

    /// Removes the one kind that `name` means. The file of its CRD is removed too, if it contains nothing else, and is committed or an
    /// unedited starter.
    /// A name that differs in case is not enough: it may have been the name of a controller that was already removed.
    pub fn remove(&mut self, name: &str) -> Result<Api, Failure> {
        let kinds = &self.config.kinds;
        let named = |(_, kind): &(usize, &Kind)| *name == kind.kind || *name == kind.full_name();
        let matching: Vec<(usize, &Kind)> = kinds.iter().enumerate().filter(named).collect();
        let index = match matching.as_slice() {
            [(index, _)] => *index,
            [] => {
                let near = kinds
                    .iter()
                    .find(|kind| is_named(name, &kind.kind, &kind.group));
                return Err(match near {
                    Some(kind) => KindError::OtherCase(name.into(), kind.full_name()),
                    None => self.unknown(name)?,
                }
                .into());
            }
            several => {
                let known: Vec<String> = several.iter().map(|(_, kind)| kind.full_name()).collect();
                let known = known.join(", ");
                return Err(KindError::Several(name.into(), known).into());
            }
        };
        let kind = &kinds[index];
        let mut controllers = self.config.controllers.iter();
        let is_of = |controller: &&NamedController| {
            let mut parts = controller.kind.split('/');
            parts.next() == Some(&kind.group) && parts.next_back() == Some(&kind.kind)
        };
        if let Some(controller) = controllers.find(is_of) {
            let name = controller.name.clone();
            return Err(KindError::Reconciled(kind.full_name(), name).into());
        }
        let crd = self.config.remove_kind(index).crd;
        let is_shared = self.config.kinds.iter().any(|kind| kind.crd == crd);
        let text = disk::read(&self.root, &crd)?.unwrap_or_default();
        let api = &self.apis[index];
        let is_restorable =
            starter::is_unedited(api) || disk::is_committed(&self.root, &crd, &text);
        let is_recorded = disk::read(&self.root, &record(api))?.is_some();
        let is_edited = !is_recorded || !is_restorable || self.is_edited(api)?;
        if !is_shared && !is_edited && !crd::has_other_content(&text) {
            self.old_crds.push(crd);
        } else if !is_shared {
            self.kept_crds.push(crd);
        }
        Ok(self.apis.remove(index))
    }
}
