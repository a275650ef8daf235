//! The request that an admission webhook decides on, typed.

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::{
    Resource, ResourceExt,
    core::{GroupVersionKind, GroupVersionResource},
};
use serde::Deserialize;
use serde_json::Value;

/// What a client wants to do with an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is changed.
    Update,
    /// The object is deleted.
    Delete,
    /// A connection is opened, for example by `kubectl exec`.
    Connect,
}

impl Operation {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Connect => "connect",
        }
    }
}

/// A request that the API server asks about, as in
/// [AdmissionRequest](https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/#admission-k8s-io-v1-AdmissionRequest).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdmissionRequest<K> {
    /// Identifies this call.
    pub uid: String,
    /// What the client wants to do.
    pub operation: Operation,
    /// The new object; `None` for a deletion. In [`mutate`](super::Mutate::mutate), it is also `None`: the object is an argument there.
    pub object: Option<K>,
    /// The object before an update or a deletion.
    pub old_object: Option<K>,
    /// Who makes the request.
    pub user: UserInfo,
    /// Whether the request changes nothing: the webhook then must not have side effects either.
    pub dry_run: bool,
    /// The object's name; empty for a creation if the API server generates the name later.
    pub name: String,
    /// The object's namespace; `None` for a cluster-scoped object.
    pub namespace: Option<String>,
    /// The subresource, for example `status`.
    pub sub_resource: Option<String>,
    /// The kind of the object, in the version that the webhook receives.
    pub kind: GroupVersionKind,
    /// The resource of the object, in the version that the webhook receives.
    pub resource: GroupVersionResource,
    /// The options of the operation, for example
    /// [DeleteOptions](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/).
    pub options: Value,
}

/// Requests for the unit tests of a webhook; the fields can be changed afterwards.
impl<K: Resource<DynamicType = ()>> AdmissionRequest<K> {
    /// The request that creates an object.
    pub fn create(object: K) -> Self {
        Self {
            object: Some(object),
            ..Self::of(Operation::Create, None)
        }
        .named()
    }

    /// The request that changes an object.
    pub fn update(old: K, new: K) -> Self {
        Self {
            object: Some(new),
            ..Self::of(Operation::Update, Some(old))
        }
        .named()
    }

    /// The request that deletes an object.
    pub fn delete(old: K) -> Self {
        Self::of(Operation::Delete, Some(old)).named()
    }

    fn of(operation: Operation, old_object: Option<K>) -> Self {
        let (group, version) = (K::group(&()), K::version(&()));
        Self {
            uid: String::new(),
            operation,
            object: None,
            old_object,
            user: UserInfo::default(),
            dry_run: false,
            name: String::new(),
            namespace: None,
            sub_resource: None,
            kind: GroupVersionKind::gvk(&group, &version, &K::kind(&())),
            resource: GroupVersionResource::gvr(&group, &version, &K::plural(&())),
            options: Value::Null,
        }
    }

    fn named(mut self) -> Self {
        if let Some(object) = self.object.as_ref().or(self.old_object.as_ref()) {
            (self.name, self.namespace) = (object.name_any(), object.namespace());
        }
        self
    }
}
