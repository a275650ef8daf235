//! The writes of the server's own controllers.

use serde_json::{Value, json};

use crate::apply::{Managers, Operation, without_managers};
use crate::model::Key;
use crate::model::metadata::{self, finalizers, is_out_of_time};
use crate::store::State;
use crate::store::stored::{self, check_stored, to_storage};
use crate::write::delete::holds;
use crate::write::tracking::writer;

/// A component of the real cluster that changes objects.
#[derive(Clone, Copy)]
pub(crate) enum Actor {
    Controllers,
    /// The controller that writes the status of CRDs.
    ApiServer,
}

impl Actor {
    /// The name of the field manager, and the subresource that it writes.
    pub fn names(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Controllers => ("kube-controller-manager", None),
            Self::ApiServer => ("kube-apiserver", Some("status")),
        }
    }
}

/// Changes an object in place. Removes it if it is being deleted and nothing keeps it any more.
pub(crate) fn edit(state: &mut State, key: &Key, actor: Actor, change: impl FnOnce(&mut Value)) {
    let Some(live) = state.store.find(key) else {
        return;
    };
    let Some(kind) = state.registry.by_key(key) else {
        return;
    };
    if check_stored(&kind, &live).is_err() {
        return;
    }
    // Metadata is the same in all versions, so no webhook has to convert it.
    let is_converted = state.conversions.converter(&kind).is_some();
    let live = if is_converted {
        Ok(Value::clone(&live))
    } else {
        stored::present(&state.conversions, &kind, &live)
    };
    let Ok(live) = live else {
        return;
    };
    let mut object = live.clone();
    change(&mut object);
    let is_held = holds(&kind, &object);
    let before = Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default();
    if !before.0.is_empty() {
        let (manager, subresource) = actor.names();
        let writer = writer(&kind, manager.to_owned(), Operation::Update, subresource);
        let (mut old, mut new) = (without_managers(&live), without_managers(&object));
        if is_converted {
            old = only_metadata(&old);
            new = only_metadata(&new);
        }
        let managers = writer.update(&old, &new, &before).unwrap_or_default();
        metadata::set(&mut object, "managedFields", managers.write_or_null());
    }
    if is_out_of_time(&object) && finalizers(&object).is_empty() && !is_held {
        state.remove(key);
    } else if object != live {
        let stored = if is_converted {
            Ok(object)
        } else {
            to_storage(&state.conversions, &kind, object).map(|(stored, _)| stored)
        };
        if let Ok(stored) = stored {
            state.put(key.clone(), stored);
        }
    }
}

/// The object without its content, for field ownership in other versions.
fn only_metadata(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": object["metadata"],
    })
}
