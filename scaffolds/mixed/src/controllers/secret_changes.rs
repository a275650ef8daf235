//! The controller `secret-changes`: handlers that record an event for each change of a [`Secret`] with a label.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use operator_runtime::{
    EventType, Result, Setup,
    handlers::{Call, Handlers, Registry, Update},
};

/// As an example, the handlers are called for objects with this label. What they have handled is recorded in
/// annotations of these objects.
const LABEL: &str = "mixed/secret-changes";

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<SecretChangesHandlers> {
    Ok(SecretChangesHandlers)
}

/// State that calls share goes into the fields of this struct.
pub struct SecretChangesHandlers;

impl Handlers for SecretChangesHandlers {
    type Resource = Secret;
    const FINALIZER: Option<&'static str> = Some("mixed/secret-changes");

    /// The progress of each handler is recorded by its id, so do not change the ids.
    fn register(&self, on: &mut Registry<Self>) {
        on.create("create", Self::created).has_label(LABEL);
        on.update("update", Self::changed).has_label(LABEL);
        on.delete("delete", Self::deleted).has_label(LABEL);
    }
}

impl SecretChangesHandlers {
    /// Called for each object that the operator has not handled before.
    async fn created(self: Arc<Self>, call: Call<Secret>) -> Result<()> {
        report(&call, "Created", "the object is new").await;
        Ok(())
    }

    /// Called after a change of anything but the status.
    async fn changed(self: Arc<Self>, update: Update<Secret>) -> Result<()> {
        let changes: Vec<&str> = update.changes().iter().map(|path| path.as_str()).collect();
        let note = format!("changed: {}", changes.join(", "));
        report(&update, "Changed", &note).await;
        Ok(())
    }

    /// Called when the object is being deleted, and again until it succeeds. The object remains until then.
    async fn deleted(self: Arc<Self>, call: Call<Secret>) -> Result<()> {
        report(&call, "CleanedUp", "no external resources to clean up").await;
        Ok(())
    }
}

/// Records an event about the object, which `kubectl describe` shows.
async fn report(call: &Call<Secret>, reason: &str, note: &str) {
    call.cx()
        .event(&**call.object(), EventType::Normal, reason, note)
        .await;
}
