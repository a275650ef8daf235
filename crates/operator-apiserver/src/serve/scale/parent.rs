//! The field managers of a scaled object: converts them to managers of its scale, and back.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{SCALE, paths};
use crate::apply::{FieldSet, ManagerId, Managers, Operation, Owned, PathElement};
use crate::model::Kind;

/// The field managers of a scaled object.
pub(crate) struct Parent {
    api_version: String,
    /// The path of the replicas in each version; `None` if the version has no scale.
    replicas: BTreeMap<String, Option<Vec<PathElement>>>,
    managers: Managers,
}

impl Parent {
    pub fn of(kind: &Kind, live: &Value) -> Self {
        let api_version = kind.api_version();
        let replicas = match &kind.custom {
            Some(custom) => {
                let versions = custom.crd.versions.iter();
                let path = |path: &String| path_elements(path);
                versions
                    .map(|(version, form)| (version.clone(), form.replicas.as_ref().map(path)))
                    .collect()
            }
            None => {
                let path = paths(kind)
                    .ok()
                    .map(|paths| path_elements(&paths.spec_replicas_path));
                BTreeMap::from([(api_version.clone(), path)])
            }
        };
        Self {
            api_version,
            replicas,
            managers: Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
        }
    }

    /// The managers of the replicas, as managers of the scale.
    pub fn to_scale(&self) -> Managers {
        let mut managers = Managers::default();
        for (id, owned) in &self.managers.0 {
            let replicas = self.replicas.get(&owned.api_version);
            let Some(Some(replicas)) = replicas else {
                continue;
            };
            if owned.fields.has_path(replicas) {
                let api_version = match id.operation {
                    Operation::Apply => String::new(),
                    Operation::Update => SCALE.to_owned(),
                };
                let id = ManagerId {
                    api_version,
                    ..id.clone()
                };
                let owned = Owned {
                    fields: FieldSet::of(&of_scale()),
                    api_version: SCALE.to_owned(),
                    time: owned.time.clone(),
                };
                managers.0.insert(id, owned);
            }
        }
        managers
    }

    /// The managers of the object after those of its scale have changed. Like the real server, this does not recognize an earlier updater,
    /// so it may add another entry for its replicas.
    pub fn with(&self, mut scale: Managers) -> Managers {
        let mut managers = Managers::default();
        for (id, owned) in &self.managers.0 {
            let Some(path) = self.replicas.get(&owned.api_version) else {
                continue;
            };
            let mut owned = owned.clone();
            if let Some(path) = path
                && owned.fields.has_path(path)
                && scale.0.remove(id).is_none()
            {
                owned.fields = owned.fields.difference(&FieldSet::of(path));
            }
            if !owned.fields.is_empty() {
                managers.0.insert(id.clone(), owned);
            }
        }
        if let Some(Some(path)) = self.replicas.get(&self.api_version) {
            for (id, owned) in scale.0 {
                if owned.fields.has_path(&of_scale()) {
                    let owned = Owned {
                        fields: FieldSet::of(path),
                        api_version: self.api_version.clone(),
                        time: self.managers.0.get(&id).and_then(|it| it.time.clone()),
                    };
                    managers.0.insert(id, owned);
                }
            }
        }
        managers
    }
}

/// The path of the replicas in a scale.
fn of_scale() -> [PathElement; 2] {
    ["spec", "replicas"].map(PathElement::field)
}

fn path_elements(path: &str) -> Vec<PathElement> {
    path.trim_start_matches('.')
        .split('.')
        .map(PathElement::field)
        .collect()
}
