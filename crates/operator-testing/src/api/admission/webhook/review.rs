//! The request to a webhook and its response, as [AdmissionReview] objects.
//!
//! [AdmissionReview]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/request/admissionreview.go

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::api::model::failure::Failure;
use crate::api::model::kind::Kind;
use crate::api::request::call::User;
use crate::api::request::resource::Request;

const API_VERSION: &str = "admission.k8s.io/v1";

/// The parts of a review besides the object.
#[derive(Clone)]
pub(crate) struct Attributes {
    request: Value,
    /// The object before the change.
    pub old: Option<Value>,
    /// The labels of the request's namespace.
    pub namespace_labels: Option<Value>,
    is_dry_run: bool,
}

/// The operation of a request.
pub(crate) struct Subject {
    pub operation: &'static str,
    pub name: String,
    /// The options of the operation.
    pub options: Value,
    pub old: Option<Value>,
    pub is_dry_run: bool,
}

/// The answer of a webhook.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub warnings: Vec<String>,
    /// The patch operations, or the denial.
    pub patch: Result<Option<Value>, Failure>,
}

impl Attributes {
    pub fn new(request: &Request<'_>, subject: Subject, namespace_labels: Option<Value>) -> Self {
        let (kind, path) = (request.kind, request.path);
        let group_kind = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let resource =
            json!({"group": kind.group, "version": kind.version, "resource": kind.plural});
        let user = request.call.user.clone();
        let user = user.unwrap_or_else(User::administrator);
        let mut review = json!({
            "kind": group_kind,
            "resource": resource,
            "requestKind": group_kind,
            "requestResource": resource,
        });
        let namespace = match kind.is("", "namespaces") {
            true => subject.name.as_str(),
            false => path.namespace.as_str(),
        };
        let subresource = path.subresource.as_deref().unwrap_or_default();
        for (field, text) in [
            ("subResource", subresource),
            ("requestSubResource", subresource),
            ("name", &subject.name),
            ("namespace", namespace),
        ] {
            if !text.is_empty() {
                review[field] = text.into();
            }
        }
        review["operation"] = subject.operation.into();
        review["userInfo"] = json!({"username": user.name, "groups": user.groups});
        review["dryRun"] = subject.is_dry_run.into();
        review["options"] = subject.options;
        Self {
            request: review,
            old: subject.old,
            namespace_labels,
            is_dry_run: subject.is_dry_run,
        }
    }

    /// Names the kind of the body of a subresource.
    pub fn name_kind(&mut self, kind: &Kind) {
        let kind = json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        self.request["requestKind"] = kind.clone();
        self.request["kind"] = kind;
    }

    /// Sets the version of the kind and resource that the webhook gets.
    pub fn set_version(&mut self, kind: Value, resource: Value) {
        self.request["kind"] = kind;
        self.request["resource"] = resource;
    }

    /// Sets the generated name of the object.
    pub fn name_generated(&mut self, name: &str) {
        if self.request.get("name").is_none() {
            self.request["name"] = name.into();
        }
    }

    /// The request as the review has it.
    #[cfg(feature = "cel")]
    pub fn request(&self) -> &Value {
        &self.request
    }

    /// The failure of a request that the server forbids.
    #[cfg(feature = "cel")]
    pub fn forbidden(&self, why: &str) -> Failure {
        let resource = &self.request["resource"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = Kind::named(&text(&resource["group"]), &text(&resource["resource"]));
        let name = text(&self.request["name"]);
        let message = format!("{} {name:?} is forbidden: {why}", kind.qualified());
        Failure::forbidden(&kind, &name, message)
    }

    pub fn is_dry_run(&self) -> bool {
        self.is_dry_run
    }

    /// Whether the request writes a namespace, so that selectors match the labels in the request.
    pub fn is_of_namespace(&self) -> bool {
        let resource = &self.request["resource"];
        resource["resource"] == "namespaces"
            && resource["group"] == ""
            && self.request.get("subResource").is_none()
    }

    /// The AdmissionReview to send.
    pub fn review(&self, uid: &str, object: Option<&Value>) -> Value {
        let mut request = json!({"uid": uid});
        for (name, value) in self.request.as_object().into_iter().flatten() {
            request[name] = value.clone();
        }
        request["object"] = object.cloned().unwrap_or_default();
        request["oldObject"] = self.old.clone().unwrap_or_default();
        json!({"kind": "AdmissionReview", "apiVersion": API_VERSION, "request": request})
    }
}

/// Reads the answer to the review with this uid. Errors have the messages of the real server.
pub(crate) fn read(
    webhook: &str,
    uid: &str,
    is_mutating: bool,
    review: &Value,
) -> Result<Verdict, String> {
    let response = &review["response"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if response.is_null() {
        return Err("webhook response was absent".into());
    }
    let found = text(&response["uid"]);
    if found != uid {
        return Err(format!("expected response.uid={uid:?}, got {found:?}"));
    }
    let (api_version, kind) = (text(&review["apiVersion"]), text(&review["kind"]));
    if (api_version.as_str(), kind.as_str()) != (API_VERSION, "AdmissionReview") {
        return Err(format!(
            "expected webhook response of {API_VERSION}, Kind=AdmissionReview, got {api_version}, Kind={kind}"
        ));
    }
    let (patch, patch_type) = (text(&response["patch"]), &response["patchType"]);
    match (is_mutating, patch.is_empty(), patch_type.as_str()) {
        (false, false, _) => return Err("validating webhook may not return response.patch".into()),
        (false, _, Some(_)) => {
            return Err("validating webhook may not return response.patchType".into());
        }
        (true, false, None) => {
            return Err("webhook returned response.patch but not response.patchType".into());
        }
        (true, true, Some(_)) => {
            return Err("webhook returned response.patchType but not response.patch".into());
        }
        _ => {}
    }
    let warnings = response["warnings"].as_array().into_iter().flatten();
    let warnings = warnings.map(text).collect();
    if response["allowed"] != true {
        let patch = Err(Failure::denied(webhook, &response["status"]));
        return Ok(Verdict { warnings, patch });
    }
    let undecodable =
        |why: String| format!("received undecodable patch in webhook response: {why}");
    let patch = match (patch.is_empty(), patch_type.as_str()) {
        (true, _) => None,
        (false, Some("JSONPatch")) => {
            let patch = STANDARD
                .decode(patch)
                .map_err(|error| undecodable(error.to_string()))?;
            let operations: Value =
                serde_json::from_slice(&patch).map_err(|error| undecodable(error.to_string()))?;
            if !operations.is_array() {
                return Err(undecodable("it is no list of operations".into()));
            }
            Some(operations)
        }
        (false, other) => {
            let other = other.unwrap_or_default();
            return Err(format!("unsupported patch type {other:?}"));
        }
    };
    Ok(Verdict {
        warnings,
        patch: Ok(patch),
    })
}
