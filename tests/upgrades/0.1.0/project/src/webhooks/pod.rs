//! The webhooks of [`Pod`], which the API server calls before it stores an object.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use operator_runtime::{
    Result, Setup,
    webhook::{AdmissionRequest, Mutate, Operation, Validate, Verdict},
};

/// The annotation that names the user who created the object.
pub const CREATED_BY: &str = "versions/created-by";

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<PodWebhook> {
    Ok(PodWebhook)
}

/// State that calls share goes into the fields of this struct.
pub struct PodWebhook;

impl Validate for PodWebhook {
    type Resource = Pod;

    /// Decides whether the API server may do what a user requests. The object is absent from a deletion, and the
    /// old object from a creation.
    async fn validate(&self, request: &AdmissionRequest<Pod>) -> Result<Verdict> {
        let (Some(old), Some(new)) = (&request.old_object, &request.object) else {
            return Ok(Verdict::allow());
        };
        if creator(old) == creator(new) {
            return Ok(Verdict::allow());
        }
        let field = format!("metadata.annotations[{CREATED_BY}]");
        Ok(Verdict::allow().forbidden(field, "must not change"))
    }
}

impl Mutate for PodWebhook {
    type Resource = Pod;

    /// Changes the object before it is stored. The API server gets only what differs, so that fields which this
    /// version of the type does not have remain.
    async fn mutate(&self, object: &mut Pod, request: &AdmissionRequest<Pod>) -> Result<Verdict> {
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
fn creator(object: &Pod) -> Option<&String> {
    object.annotations().get(CREATED_BY)
}
