//! The webhooks of [`Database`], which the API server calls before it stores an object.

use kube::ResourceExt;
use operator_runtime::{
    Result, Setup,
    webhook::{AdmissionRequest, Mutate, Operation, Validate, Verdict},
};

use crate::api::database::v1::Database;

/// The annotation that names the user who created the object.
pub const CREATED_BY: &str = "versions/created-by";

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<DatabaseWebhook> {
    Ok(DatabaseWebhook)
}

/// State that calls share goes into the fields of this struct.
pub struct DatabaseWebhook;

impl Validate for DatabaseWebhook {
    type Resource = Database;

    /// The engine and who created the object cannot be changed. A client of another version gets the same answers, because the
    /// API server converts the objects to v1 first.
    async fn validate(&self, request: &AdmissionRequest<Database>) -> Result<Verdict> {
        let (Some(old), Some(new)) = (&request.old_object, &request.object) else {
            return Ok(Verdict::allow());
        };
        let mut verdict = Verdict::allow();
        if creator(old) != creator(new) {
            let field = format!("metadata.annotations[{CREATED_BY}]");
            verdict = verdict.forbidden(field, "must not change");
        }
        if old.spec.engine.name != new.spec.engine.name {
            let name = &new.spec.engine.name;
            verdict = verdict.invalid("spec.engine.name", name, "must not change");
        }
        if new.spec.backup.is_none() {
            verdict = verdict.warn("spec.backup is not set: the database has no backups");
        }
        Ok(verdict)
    }
}

impl Mutate for DatabaseWebhook {
    type Resource = Database;

    /// Changes the object before it is stored. The API server gets only what differs, so that fields which this
    /// version of the type does not have remain.
    async fn mutate(
        &self,
        object: &mut Database,
        request: &AdmissionRequest<Database>,
    ) -> Result<Verdict> {
        if request.operation == Operation::Create {
            let creator = request.user.username.clone().unwrap_or_default();
            object
                .annotations_mut()
                .insert(CREATED_BY.to_owned(), creator);
        }
        Ok(Verdict::allow())
    }
}

/// The user who created the object, as far as it is recorded.
fn creator(object: &Database) -> Option<&String> {
    object.annotations().get(CREATED_BY)
}
