//! The request to a webhook and its response, as [AdmissionReview] objects.
//!
//! [AdmissionReview]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/request/admissionreview.go

use base64::engine::general_purpose::STANDARD;
use base64::{DecodeError, Engine};
use serde_json::{Value, json};

use crate::go::{json_type, no_value_of, read_json};
use crate::kinds::resource::NAMESPACES;
use crate::model::json::{entries, items};
use crate::model::{Failure, Kind};
use crate::request::{Request, User};

const API_VERSION: &str = "admission.k8s.io/v1";

/// The parts of a review besides the object.
#[derive(Clone)]
pub(crate) struct Attributes {
    request: Value,
    /// The object before the change.
    pub old: Option<Value>,
    /// The labels of the request's namespace.
    pub namespace_labels: Option<Value>,
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
    pub outcome: Result<Option<Value>, Failure>,
}

/// Why a response is rejected.
#[derive(Debug)]
pub(crate) enum ResponseError {
    /// It cannot be decoded.
    Undecodable(String),
    /// It breaks a rule for responses.
    Invalid(String),
    /// Its patch is unusable.
    Patch(String),
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
        let namespace = if kind.is(NAMESPACES) {
            subject.name.as_str()
        } else {
            path.namespace.as_str()
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
        }
    }

    /// Sets the kind of the body of a subresource.
    pub fn set_body_kind(&mut self, kind: &Kind) {
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
    pub fn set_generated_name(&mut self, name: &str) {
        if self.request.get("name").is_none() {
            self.request["name"] = name.into();
        }
    }

    /// The field `request` of the review, without the uid and the objects.
    #[cfg(feature = "cel")]
    pub fn request(&self) -> &Value {
        &self.request
    }

    /// The failure of a request that the server forbids.
    #[cfg(feature = "cel")]
    pub fn forbidden(&self, why: &str) -> Failure {
        let resource = &self.request["resource"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kind = Kind::named((&text(&resource["group"]), &text(&resource["resource"])));
        let name = text(&self.request["name"]);
        let message = format!("{} {name:?} is forbidden: {why}", kind.qualified());
        Failure::forbidden(&kind, &name, message)
    }

    /// Whether the request writes a namespace, so that selectors match the labels in the request.
    pub fn is_of_namespace(&self) -> bool {
        let resource = &self.request["resource"];
        resource["resource"] == NAMESPACES.1
            && resource["group"] == NAMESPACES.0
            && self.request.get("subResource").is_none()
    }

    /// The AdmissionReview to send.
    pub fn review(&self, uid: &str, object: Option<&Value>) -> Value {
        let mut request = json!({"uid": uid});
        for (name, value) in entries(&self.request) {
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
) -> Result<Verdict, ResponseError> {
    let response = &review["response"];
    let patch = decode(response).map_err(ResponseError::Undecodable)?;
    check(review, uid, is_mutating, &patch).map_err(ResponseError::Invalid)?;
    let warnings = items(&response["warnings"]);
    let warnings = warnings
        .map(|it| it.as_str().unwrap_or_default().to_owned())
        .collect();
    if response["allowed"] != true {
        let outcome = Err(Failure::denied(webhook, &response["status"]));
        return Ok(Verdict { warnings, outcome });
    }
    let patch = operations(response, &patch).map_err(ResponseError::Patch)?;
    Ok(Verdict {
        warnings,
        outcome: Ok(patch),
    })
}

/// Checks the types of a response, and decodes its patch.
fn decode(response: &Value) -> Result<Vec<u8>, String> {
    let mistyped = |found: &Value, field: &str, type_: &str| {
        let found = json_type(found);
        format!("json: cannot unmarshal {found} into Go struct field {field} of type {type_}")
    };
    if !response.is_object() && !response.is_null() {
        let type_ = "v1.AdmissionResponse";
        return Err(mistyped(response, "AdmissionReview.response", type_));
    }
    for (field, type_, fits) in [
        ("uid", "types.UID", Value::is_string as fn(&Value) -> bool),
        ("allowed", "bool", Value::is_boolean),
        ("status", "v1.Status", Value::is_object),
        ("patch", "[]uint8", Value::is_string),
        ("patchType", "v1.PatchType", Value::is_string),
        ("warnings", "[]string", Value::is_array),
    ] {
        let found = &response[field];
        if !found.is_null() && !fits(found) {
            let field = format!("AdmissionResponse.response.{field}");
            return Err(mistyped(found, &field, type_));
        }
    }
    let patch = response["patch"].as_str().unwrap_or_default();
    STANDARD.decode(patch).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol { offset: at, .. } => {
                at
            }
            _ => patch.len(),
        };
        format!("illegal base64 data at input byte {at}")
    })
}

/// Checks a response as a whole.
fn check(review: &Value, uid: &str, is_mutating: bool, patch: &[u8]) -> Result<(), String> {
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
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(format!(
            "expected webhook response of {API_VERSION}, Kind=AdmissionReview, got {slash}{api_version}, Kind={kind}"
        ));
    }
    let wrong = match (
        is_mutating,
        patch.is_empty(),
        response["patchType"].as_str(),
    ) {
        (false, false, _) => "validating webhook may not return response.patch",
        (false, _, Some(_)) => "validating webhook may not return response.patchType",
        (true, false, None) => "webhook returned response.patch but not response.patchType",
        (true, true, Some(_)) => "webhook returned response.patchType but not response.patch",
        (true, _, Some("")) => "webhook returned invalid response.patchType of \"\"",
        _ => return Ok(()),
    };
    Err(wrong.into())
}

/// The operations of a patch; `None` if there are none.
fn operations(response: &Value, patch: &[u8]) -> Result<Option<Value>, String> {
    if patch.is_empty() {
        return Ok(None);
    }
    let undecodable =
        |why: String| format!("received undecodable patch in webhook response: {why}");
    let operations = match read_json(patch).map_err(undecodable)? {
        Value::Null => return Ok(None),
        Value::Array(operations) if operations.is_empty() => return Ok(None),
        operations @ Value::Array(_) => operations,
        other => return Err(undecodable(no_value_of("jsonpatch.Patch", &other))),
    };
    match response["patchType"].as_str().unwrap_or_default() {
        "JSONPatch" => Ok(Some(operations)),
        other => Err(format!("unsupported patch type {other:?}")),
    }
}
