//! The context of a reconciliation: the client, and the operations on the object's status, children and events.

mod annotate;
mod apply;
mod child;
mod event;
mod history;
mod observe;
mod ownership;
mod record;
mod status;
mod status_fields;
mod strategy;

use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed},
};
use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Client, Resource, ResourceExt,
    api::{GetParams, ObjectMeta},
    core::Request,
    runtime::reflector::ObjectRef,
};
use prometheus_client::metrics::counter::Counter;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    Error, Result,
    engine::{
        children::Children,
        decode::{forget_managers, keep_status_managers},
        identity::Identity,
        kind::{GroupKind, Kind},
        status_owners::StatusOwners,
        tasks::BackgroundTasks,
    },
    error::{LONGEST_DELAY, is_gone},
    lock::lock,
    log_events::Queue,
    metrics::{ControllerMetrics, HandlerErrors},
    setup::UpdateStrategy,
    stable_hash::stable_hash,
};

use event::Reporter;
use history::History;

pub(crate) use annotate::Precondition;
pub(crate) use apply::is_being_deleted;
pub(crate) use child::{ChildKey, Uncontrolled, Wanted};
pub(crate) use observe::OwnedKey;

/// The context that each call of a [`Reconciler`](crate::Reconciler) gets. Clones are about the same reconciliation.
#[derive(Clone)]
pub struct Context {
    controller: Arc<ControllerContext>,
    owner: Arc<Owner>,
    facts: Arc<Facts>,
    /// Whether a write of the reconciled object failed because its version has changed.
    is_outdated: Arc<AtomicBool>,
}

/// The state of a reconciliation, which all clones of its context share.
#[derive(Default)]
struct Facts {
    /// The reconciled object in the state that our last write of it returned.
    written: Mutex<Option<Value>>,
    /// The versions of our writes of it before the last one.
    earlier_writes: Mutex<Vec<String>>,
    /// Whether the context is not for a reconciliation but for a daemon or timer, which may run as long as the object exists.
    is_background: bool,
    /// Whether a write found that the reconciled object does not exist.
    is_gone: AtomicBool,
    /// Whether a child was deleted since the API server was last asked for the owner.
    lost_child: AtomicBool,
    /// The time after which the cleanup is called again, because it is not complete yet.
    cleanup_delay: Mutex<Option<Duration>>,
    /// The error of a handler, which has been reported already. Handlers are retried separately, so it does not end the reconciliation.
    failure: Mutex<Option<Error>>,
}

/// What the contexts of all objects of a controller share.
pub(crate) struct ControllerContext {
    pub client: Client,
    pub identity: Identity,
    /// The field manager.
    pub manager: String,
    reporter: Reporter,
    event_history: Mutex<History>,
    pub log_queue: Queue,
    /// The tasks beside the reconciliations that make requests.
    pub tasks: BackgroundTasks,
    pub owns: Vec<Owned>,
    /// The kinds that are watched besides the owned ones.
    pub watches: Vec<Kind>,
    pub status_owners: StatusOwners,
    /// Whether the status is written to the object, because the kind has no status subresource, as its controller declares or a write has
    /// shown.
    status_in_object: AtomicBool,
    start: watch::Sender<Start>,
    /// Counts the reads of children from the API server.
    reads: Counter,
    pub handler_errors: HandlerErrors,
    /// The URL path of the kind's objects in a namespace, or of all objects.
    path: fn(Option<&str>) -> String,
}

/// Whether reconciliations may begin; they wait for the first lists of the owned kinds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Waiting,
    Begun,
    /// The operator was stopped before they began.
    Stopped,
}

/// An owned kind, and the cache of its objects.
pub(crate) struct Owned {
    pub kind: Kind,
    pub children: Children,
    pub update: UpdateStrategy,
}

/// The reconciled object, as the owner of its children.
struct Owner {
    reference: Option<OwnerReference>,
    namespace: Option<String>,
    name: String,
    is_deleting: bool,
}

impl ControllerContext {
    pub fn new<K>(
        client: Client,
        identity: Identity,
        owns: Vec<Owned>,
        watches: Vec<Kind>,
        status_owners: StatusOwners,
        metrics: &ControllerMetrics,
        tasks: BackgroundTasks,
    ) -> Arc<Self>
    where
        K: Resource<DynamicType = ()>,
    {
        let instance = hostname::get()
            .ok()
            .and_then(|host| host.into_string().ok());
        let reporter = Reporter {
            controller: identity.reporter(),
            instance: instance.unwrap_or_else(|| identity.operator.clone()),
        };
        Arc::new(Self {
            reporter,
            event_history: Mutex::default(),
            log_queue: Queue::default(),
            tasks,
            client,
            manager: identity.manager(),
            identity,
            owns,
            watches,
            status_owners,
            status_in_object: AtomicBool::new(false),
            start: watch::Sender::new(Start::Waiting),
            reads: metrics.child_reads.clone(),
            handler_errors: metrics.handler_errors.clone(),
            path: |namespace| K::url_path(&(), namespace),
        })
    }
}

impl ControllerContext {
    /// Lets the first write of a status be to the object already.
    pub fn declare_status_in_object(&self) {
        self.status_in_object.store(true, Relaxed);
    }

    /// Lets reconciliations begin once the caches of all owned kinds are complete; before that, each child must be read from the API
    /// server.
    pub fn begin_when_listed(&self) {
        if self.owns.iter().all(|owned| owned.children.is_complete()) {
            self.begin();
        }
    }

    /// Lets reconciliations begin.
    pub fn begin(&self) {
        self.set_start(Start::Begun);
    }

    /// Cancels the reconciliations that wait to begin.
    pub fn stop_waiting(&self) {
        self.set_start(Start::Stopped);
    }

    /// Leaves the state `Waiting`; what follows it is final.
    fn set_start(&self, next: Start) {
        self.start.send_if_modified(|start| {
            let is_waiting = *start == Start::Waiting;
            if is_waiting {
                *start = next;
            }
            is_waiting
        });
    }

    /// Waits until reconciliations may begin, and returns whether they may; `None` if there was nothing to wait for.
    pub async fn wait_to_begin(&self) -> Option<bool> {
        if *self.start.borrow() == Start::Begun {
            return None;
        }
        let mut start = self.start.subscribe();
        // `self` has the sender, so the wait does not end early because the sender is dropped
        let start = start.wait_for(|start| *start != Start::Waiting).await;
        Some(start.is_ok_and(|start| *start == Start::Begun))
    }

    fn event_history(&self) -> MutexGuard<'_, History> {
        lock(&self.event_history)
    }

    /// Records the owners of the status in the answer to a write, and removes `managedFields` from it.
    pub fn take_status_owners(&self, written: &mut Value) {
        keep_status_managers(written);
        let metadata = ObjectMeta::deserialize(&written["metadata"]);
        self.status_owners.take(&mut metadata.unwrap_or_default());
        forget_managers(written);
    }
}

impl Context {
    pub(crate) fn shared(&self) -> &Arc<ControllerContext> {
        &self.controller
    }

    pub(crate) fn new<K: Resource<DynamicType = ()>>(
        controller: Arc<ControllerContext>,
        object: &K,
        lost_child: bool,
    ) -> Self {
        let owner = Owner {
            reference: object.controller_owner_ref(&()),
            namespace: object.namespace(),
            name: object.name_any(),
            is_deleting: object.meta().deletion_timestamp.is_some(),
        };
        Self {
            controller,
            owner: Arc::new(owner),
            facts: Arc::new(Facts {
                lost_child: lost_child.into(),
                ..Facts::default()
            }),
            is_outdated: Arc::default(),
        }
    }

    /// The context of a daemon or timer, which gets the object in this state.
    pub(crate) fn background<K: Resource<DynamicType = ()>>(&self, object: &K) -> Self {
        let facts = Facts {
            is_background: true,
            ..Facts::default()
        };
        Self {
            facts: Arc::new(facts),
            ..Self::new(self.controller.clone(), object, false)
        }
    }

    /// The context of a sub-handler: shares all but `is_outdated`, because a sub-handler is retried alone if the object has changed.
    pub(crate) fn part(&self) -> Self {
        Self {
            is_outdated: Arc::default(),
            ..self.clone()
        }
    }

    /// Namespace and name of the object.
    pub(crate) fn display(&self) -> String {
        let Owner {
            namespace, name, ..
        } = &*self.owner;
        match namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.clone(),
        }
    }

    /// The client of the operator.
    pub fn client(&self) -> Client {
        self.controller.client.clone()
    }

    /// The operator's name.
    pub fn operator(&self) -> &str {
        &self.controller.identity.operator
    }

    /// The [field manager](https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers) of the controller's writes: the
    /// operator's name, or `<operator>-<name>` for a [named](crate::Controllers::add_named) controller. For requests of your own:
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kube::{Api, api::{Patch, PatchParams}};
    /// # use operator_runtime::{Context, Result};
    /// # async fn example(pods: Api<Pod>, cx: &Context) -> Result<()> {
    /// let label = serde_json::json!({
    ///     "apiVersion": "v1", "kind": "Pod", "metadata": { "labels": { "seen": "true" } },
    /// });
    /// let parameters = PatchParams::apply(cx.field_manager());
    /// pods.patch("web-0", &parameters, &Patch::Apply(label)).await?;
    /// # Ok(()) }
    /// ```
    pub fn field_manager(&self) -> &str {
        &self.controller.manager
    }

    pub(crate) fn kind(&self) -> &GroupKind {
        &self.controller.identity.kind
    }

    /// The namespace in which the operator runs.
    pub fn namespace(&self) -> &str {
        self.controller.client.default_namespace()
    }

    /// Metadata for a child of `owner`: in its namespace (in the operator's own, if `owner` has none), with the owner reference that the
    /// garbage collector needs, and the [recommended
    /// labels](https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/) `app.kubernetes.io/instance` and
    /// `app.kubernetes.io/managed-by`.
    pub fn child_metadata<K>(&self, owner: &K, name: impl Into<String>) -> ObjectMeta
    where
        K: Resource<DynamicType = ()>,
    {
        ObjectMeta {
            name: Some(name.into()),
            namespace: owner
                .namespace()
                .or_else(|| Some(self.namespace().to_owned())),
            labels: Some(child_labels(&owner.name_any(), self.operator())),
            owner_references: owner
                .controller_owner_ref(&())
                .map(|reference| vec![reference]),
            ..ObjectMeta::default()
        }
    }

    /// Records the response to a write of the reconciled object.
    fn record_written(&self, mut object: Value) {
        self.controller.take_status_owners(&mut object);
        let before = self.written().replace(object);
        // only the backoff of a reconciliation needs them, and a daemon may write again and again
        let Some(before) = before.filter(|_| !self.facts.is_background) else {
            return;
        };
        if let Some(version) = before["metadata"]["resourceVersion"].as_str() {
            self.earlier_writes().push(version.to_owned());
        }
    }

    /// The versions of our writes of the reconciled object before the last one.
    pub(crate) fn earlier_writes(&self) -> MutexGuard<'_, Vec<String>> {
        lock(&self.facts.earlier_writes)
    }

    /// The reconciled object as our last write in this reconciliation returned it.
    pub(crate) fn written(&self) -> MutexGuard<'_, Option<Value>> {
        lock(&self.facts.written)
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.facts.is_gone.load(Relaxed)
    }

    pub(crate) fn has_lost_child(&self) -> bool {
        self.facts.lost_child.load(Relaxed)
    }

    /// Keeps the finalizer for now, and calls the cleanup again after this time.
    pub(crate) fn delay_cleanup(&self, delay: Duration) {
        *lock(&self.facts.cleanup_delay) = Some(delay.min(LONGEST_DELAY));
    }

    pub(crate) fn cleanup_delay(&self) -> Option<Duration> {
        *lock(&self.facts.cleanup_delay)
    }

    /// Records that a handler has failed; the reconciliation continues.
    pub(crate) fn fail(&self, error: Error) {
        *lock(&self.facts.failure) = Some(error);
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        lock(&self.facts.failure).take()
    }

    pub(crate) fn is_outdated(&self) -> bool {
        self.is_outdated.load(Relaxed)
    }

    pub(crate) fn set_outdated(&self, is_outdated: bool) {
        self.is_outdated.store(is_outdated, Relaxed);
    }

    /// Asks the API server whether the reconciled object exists, and records if it does not.
    pub(crate) async fn exists(&self) -> Result<bool> {
        Ok(self.read_owner().await?.is_some())
    }

    /// Whether the object still has this generation and is not being deleted, according to the API server.
    pub(crate) async fn is_current(&self, generation: Option<i64>) -> Result<bool> {
        let newest = self.read_owner().await?;
        Ok(newest.is_some_and(|newest| {
            let metadata = &newest["metadata"];
            metadata["deletionTimestamp"].is_null() && metadata["generation"].as_i64() == generation
        }))
    }

    /// Asks the API server whether the object exists. One that is being deleted counts as gone, unless it was already being deleted when it
    /// was read. Records if it is gone.
    pub(crate) async fn still_exists(&self) -> Result<bool> {
        let newest = self.read_owner().await?;
        let exists = newest.is_some_and(|newest| {
            self.owner.is_deleting || newest["metadata"]["deletionTimestamp"].is_null()
        });
        self.facts.is_gone.fetch_or(!exists, Relaxed);
        Ok(exists)
    }

    /// Reads the reconciled object from the API server. If it was deleted, or recreated with another uid, records that and returns `None`.
    async fn read_owner(&self) -> Result<Option<Value>> {
        let Owner {
            namespace, name, ..
        } = &*self.owner;
        let request = Request::new((self.controller.path)(namespace.as_deref()))
            .get(name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        let uid = self
            .owner
            .reference
            .as_ref()
            .map(|owner| owner.uid.as_str());
        let newest = match self.controller.client.request::<Value>(request).await {
            Ok(found) => Some(found).filter(|found| found["metadata"]["uid"].as_str() == uid),
            Err(error) if is_gone(&error) => None,
            Err(error) => return Err(error.into()),
        };
        self.facts.is_gone.fetch_or(newest.is_none(), Relaxed);
        Ok(newest)
    }
}

/// The recommended labels of a child.
pub(crate) fn child_labels(owner: &str, operator: &str) -> BTreeMap<String, String> {
    let labels = [("instance", owner), ("managed-by", operator)];
    labels
        .map(|(name, value)| {
            let key = format!("app.kubernetes.io/{name}");
            (key, label_value(value))
        })
        .into()
}

/// A label value has at most 63 characters, a name 253: the end of a longer name is replaced by a hash of the name, which has 16 digits.
fn label_value(name: &str) -> String {
    if name.len() <= 63 {
        return name.to_owned();
    }
    let start: String = name.chars().take(46).collect();
    format!("{start}-{}", stable_hash(name))
}

/// Requests for objects of a kind whose scope is not known to the type system.
pub(crate) fn requests<K: Resource<DynamicType = ()>>(namespace: Option<&str>) -> Request {
    Request::new(K::url_path(&(), namespace))
}

/// Formats a key as `namespace/name`.
pub(crate) fn display_key<K: Resource<DynamicType = ()>>(key: &ObjectRef<K>) -> String {
    match &key.namespace {
        Some(namespace) => format!("{namespace}/{}", key.name),
        None => key.name.clone(),
    }
}

/// Removes null fields, which typed values serialize for fields that are not set.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_become_distinct_label_values() {
        let long = "a".repeat(100);
        let value = label_value(&long);
        assert_eq!(value, format!("{}-2885d0ac2e5a9d79", "a".repeat(46)));
        assert_ne!(value, label_value(&"a".repeat(101)));
        assert_eq!(label_value("short"), "short");
    }
}
