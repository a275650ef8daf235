//! The [AdmissionReview] of the API server and its answer, with the objects as raw JSON.
//!
//! [AdmissionReview]: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/

use base64::{Engine, engine::general_purpose::STANDARD};
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::{
    Resource,
    core::{GroupVersionKind, GroupVersionResource},
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::request::{AdmissionRequest, Operation};
use crate::webhook::{patch::diff, unreadable::Unreadable};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The request of a review.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request<'a> {
    pub uid: String,
    pub kind: Gvk,
    pub resource: Gvr,
    #[serde(default)]
    sub_resource: Option<String>,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub namespace: Option<String>,
    pub operation: Operation,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(borrow, default)]
    pub object: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub old_object: Option<&'a RawValue>,
    #[serde(default)]
    dry_run: Option<bool>,
    #[serde(default)]
    options: Value,
}

#[derive(Clone, Deserialize, PartialEq)]
pub(crate) struct Gvk {
    pub group: String,
    pub version: String,
    pub kind: String,
}

impl Gvk {
    pub fn of<K: Resource<DynamicType = ()>>() -> Self {
        Self {
            group: K::group(&()).into_owned(),
            version: K::version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
        }
    }

    pub fn api_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }
}

#[derive(Deserialize)]
pub(crate) struct Gvr {
    group: String,
    pub version: String,
    resource: String,
}

#[derive(Deserialize)]
struct Review<'a> {
    #[serde(borrow, default)]
    request: Option<Request<'a>>,
}

impl<'a> Request<'a> {
    /// Reads the request of a review.
    pub fn read(body: &'a [u8]) -> Result<Self, Unreadable> {
        let review: Review<'a> = Unreadable::read_review(body, API_VERSION, KIND)?;
        review.request.ok_or(Unreadable::NoRequest)
    }

    /// Whether it is an update of an object that is being deleted.
    pub fn is_update_during_deletion(&self) -> bool {
        #[derive(Deserialize)]
        struct Object {
            metadata: Metadata,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metadata {
            deletion_timestamp: Option<String>,
        }
        self.old_object
            .filter(|_| self.operation == Operation::Update)
            .and_then(|it| serde_json::from_str::<Object>(it.get()).ok())
            .is_some_and(|it| it.metadata.deletion_timestamp.is_some())
    }

    /// The typed request, without its objects.
    pub fn typed<K>(self) -> AdmissionRequest<K> {
        let Self { kind, resource, .. } = self;
        let set = |text: Option<String>| text.filter(|text| !text.is_empty());
        AdmissionRequest {
            uid: self.uid,
            operation: self.operation,
            object: None,
            old_object: None,
            user: self.user_info,
            dry_run: self.dry_run.unwrap_or_default(),
            name: self.name,
            namespace: set(self.namespace),
            sub_resource: set(self.sub_resource),
            kind: GroupVersionKind::gvk(&kind.group, &kind.version, &kind.kind),
            resource: GroupVersionResource::gvr(
                &resource.group,
                &resource.version,
                &resource.resource,
            ),
            options: self.options,
        }
    }
}

/// The answer to a request.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Answer {
    /// The `Status` of a refusal; `None` if the request is allowed.
    pub refusal: Option<Value>,
    pub warnings: Vec<String>,
    /// The object before and after a change.
    pub change: Option<Box<[Value; 2]>>,
}

impl Answer {
    /// Refuses a request that the webhook could not decide on.
    pub fn refuse(code: u16, reason: &str, message: &str) -> Self {
        let refusal =
            json!({"status": "Failure", "code": code, "reason": reason, "message": message});
        Self {
            refusal: Some(refusal),
            ..Self::default()
        }
    }

    /// Whether the webhook failed, and did not decide.
    pub fn is_failure(&self) -> bool {
        let code = self.refusal.as_ref().map(|refusal| &refusal["code"]);
        code.and_then(Value::as_u64).is_some_and(|code| code >= 500)
    }

    /// The review that contains this answer.
    pub fn to_review(&self, uid: &str) -> Value {
        let mut response = json!({"uid": uid, "allowed": self.refusal.is_none()});
        if let Some(refusal) = &self.refusal {
            response["status"] = refusal.clone();
        } else if let Some([before, after]) = self.change.as_deref() {
            let patch = serde_json::to_string(&diff(before, after)).expect("its keys are strings");
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(patch).into();
        }
        if !self.warnings.is_empty() {
            response["warnings"] = self.warnings.clone().into();
        }
        json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
    }
}
