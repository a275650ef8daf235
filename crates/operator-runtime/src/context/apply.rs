//! Applies and deletes children: only when they differ from the desired state, and never those of another owner.

use std::sync::atomic::Ordering::Relaxed;

use kube::{
    Resource,
    api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Context, Owned,
    child::{Child, ChildKey, Uncontrolled, Wanted},
};
use crate::{
    Result,
    engine::{children::Cached, decode::forget_managers, kind::Kind},
    error::{has_code, is_gone},
    setup::UpdateStrategy,
};

/// The maximum number of attempts to write a child that others change concurrently.
pub(super) const ATTEMPTS: usize = 4;

impl Context {
    /// Creates or updates a child, and returns its last known state in the cluster.
    ///
    /// This is a [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/) with the operator's name as field
    /// manager: fields that others set are kept, and fields that the operator no longer sets are removed. The child gets an owner reference
    /// to the reconciled object, if it has none, and the namespace of that object.
    ///
    /// The child is read from the operator's cache of the kinds that it owns, and no request is made if nothing would change. Each write
    /// names the version that it is based on: if the child has changed since, or if another object has the name, the API server rejects the
    /// write, and the child is read again. The content of Secrets, of ConfigMaps and of kinds that this operator reconciles is not cached,
    /// so each call reads such a child from the API server.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use operator_runtime::{Context, EventType, Result};
    /// # async fn example(deployment: &Deployment, cx: &Context) -> Result<()> {
    /// let labels = ConfigMap {
    ///     metadata: cx.child_metadata(deployment, "labels"),
    ///     data: deployment.metadata.labels.clone(),
    ///     ..ConfigMap::default()
    /// };
    /// let labels = cx.apply(&labels).await?;
    /// println!("its version is {:?}", labels.metadata.resource_version);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Undeclared`](crate::Error::Undeclared) if the controller does not declare that it owns this kind,
    /// [`Error::Taken`](crate::Error::Taken) if an object of this name exists and the reconciled object does not control it,
    /// [`Error::Unownable`](crate::Error::Unownable) if the reconciled object cannot own the child; and the errors of the API server.
    pub async fn apply<K>(&self, child: &K) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        self.write(child, Uncontrolled::Refuse).await
    }

    /// Like [`apply`](Self::apply), but also takes over an existing object that has no controller.
    ///
    /// Clusters with the admission plugin OwnerReferencesPermissionEnforcement require the permission to `delete` an object that gets an
    /// owner; add a rule for it to the kind's `rules` in `operator.toml`.
    pub async fn adopt<K>(&self, child: &K) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        self.write(child, Uncontrolled::Adopt).await
    }

    /// Deletes a child that the reconciled object controls; does nothing if it does not exist.
    ///
    /// The role of a generated project does not permit `delete` for children, because the garbage collector deletes them; add a rule to the
    /// kind in `operator.toml`, such as `rules = [{ apiGroups = [""], resources = ["configmaps"], verbs = ["delete"] }]`.
    ///
    /// ```
    /// # use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
    /// # use operator_runtime::{Context, EventType, Result};
    /// # async fn example(deployment: &Deployment, cx: &Context) -> Result<()> {
    /// let metadata = cx.child_metadata(deployment, "labels");
    /// cx.delete(&ConfigMap { metadata, ..ConfigMap::default() }).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Undeclared`](crate::Error::Undeclared) and [`Error::Taken`](crate::Error::Taken), as for [`apply`](Self::apply).
    pub async fn delete<K>(&self, child: &K) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let child = Wanted::of(child, Uncontrolled::Refuse)?;
        let owned = self.declared(&child.kind)?;
        let key = self.child_key(&child);
        let mut known = self.cached_or_live(owned, &child.kind, &key).await?;
        let mut attempts = 0;
        loop {
            let Some(live) = known else {
                return Ok(());
            };
            self.check_control(&owned.kind, &key.name, &live, Uncontrolled::Refuse)?;
            if is_being_deleted(&live) {
                return Ok(());
            }
            // After a conflict, the child was just read and checked. It is then deleted in any version: writes of its status could make
            // every attempt fail.
            let is_bound = attempts == 0;
            attempts += 1;
            match self
                .send_delete(owned, &child.kind, &key, &live, is_bound)
                .await
            {
                Ok(_) => return Ok(()),
                Err(error) if is_conflict(&error) && attempts < ATTEMPTS => {
                    known = self.live(owned, &child.kind, &key).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn write<K>(&self, child: &K, uncontrolled: Uncontrolled) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        let child = self.child(Wanted::of(child, uncontrolled)?)?;
        let known = self
            .cached_or_live(child.owned, &child.kind, &child.key)
            .await?;
        let mut written = self.write_child(&child, known).await?.live;
        forget_managers(&mut written);
        Ok(serde_json::from_value(written)?)
    }

    /// Writes a child with the update strategy of its kind; `known` is the last known state of the child in the cluster.
    pub(crate) async fn write_child(
        &self,
        child: &Child<'_>,
        known: Option<Value>,
    ) -> Result<Written> {
        match child.owned.update {
            UpdateStrategy::Apply => {
                let live = self.apply_child(child, known).await?;
                Ok(Written { live, waits: false })
            }
            strategy => self.update_child(child, strategy, known).await,
        }
    }

    async fn apply_child(&self, child: &Child<'_>, mut known: Option<Value>) -> Result<Value> {
        let Child {
            owned, kind, key, ..
        } = child;
        let namespace = key.namespace.as_deref();
        let mut attempts = 0;
        loop {
            match &known {
                Some(live) => {
                    self.check_control(&owned.kind, &key.name, live, child.uncontrolled)?;
                }
                None => self.check_owner().await?,
            }
            if let Some(applied) = known.take_if(|live| self.is_applied(child, live)) {
                return Ok(applied);
            }
            let sent = owned.children.before_write(namespace, &key.name);
            attempts += 1;
            let error = match self.send_apply(child, known.as_ref()).await {
                Ok(written) => {
                    owned.children.record(sent, &written);
                    self.remember(child, &written);
                    return Ok(written);
                }
                Err(error) => error,
            };
            owned.children.invalidate(namespace, &key.name);
            if is_conflict(&error) && attempts < ATTEMPTS {
                known = self.live(owned, kind, key).await?;
                continue;
            }
            if known.is_none() {
                self.check_name(child, &error).await?;
            }
            return Err(error.into());
        }
    }

    /// After a rejected create, fails if an object with this name exists that the reconciled object does not control: the API server checks
    /// authorization and mutating admission before the name.
    pub(super) async fn check_name(&self, child: &Child<'_>, error: &kube::Error) -> Result<()> {
        let Child {
            owned, kind, key, ..
        } = child;
        if has_code(error, &[403, 422])
            && let Ok(Some(live)) = self.live(owned, kind, key).await
        {
            self.check_control(&owned.kind, &key.name, &live, child.uncontrolled)?;
        }
        Ok(())
    }

    /// Fails if a child was deleted because the reconciled object is being deleted or was deleted, which our watch may not have reported
    /// yet. A child that is created then would be deleted by the garbage collector, which would trigger the next reconciliation, and so on.
    pub(super) async fn check_owner(&self) -> Result<()> {
        if self.facts.lost_child.swap(false, Relaxed) && !self.still_exists().await? {
            return Err(anyhow::anyhow!("the object was deleted, or is being deleted").into());
        }
        Ok(())
    }

    /// Applies the child to the version `known`, or creates it. The API server responds with 409 if the object has another version, or if
    /// it exists although `known` is `None`, because no object has the resource version 1.
    async fn send_apply(
        &self,
        child: &Child<'_>,
        known: Option<&Value>,
    ) -> Result<Value, kube::Error> {
        let Child {
            kind, key, desired, ..
        } = child;
        let mut patch = desired.clone();
        let metadata = &mut patch["metadata"];
        match known {
            Some(known) => {
                metadata["uid"] = known["metadata"]["uid"].clone();
                metadata["resourceVersion"] = known["metadata"]["resourceVersion"].clone();
            }
            None => metadata["resourceVersion"] = "1".into(),
        }
        let parameters = PatchParams {
            force: known.is_some(),
            ..PatchParams::apply(self.field_manager())
        };
        let request = kind
            .requests(key.namespace.as_deref())
            .patch(&key.name, &parameters, &Patch::Apply(patch))
            .map_err(kube::Error::BuildRequest)?;
        self.controller.client.request(request).await
    }

    /// Deletes the object `live`, but not an object that was recreated under its name; if `is_bound`, only in this version. Returns whether
    /// the object was deleted immediately, without waiting for finalizers or a grace period.
    pub(crate) async fn send_delete(
        &self,
        owned: &Owned,
        kind: &Kind,
        key: &ChildKey,
        live: &Value,
        is_bound: bool,
    ) -> Result<bool, kube::Error> {
        let namespace = key.namespace.as_deref();
        let text = |key: &str| live["metadata"][key].as_str().map(str::to_owned);
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: text("uid"),
                resource_version: text("resourceVersion").filter(|_| is_bound),
            }),
            ..DeleteParams::background()
        };
        let request = kind
            .requests(namespace)
            .delete(&key.name, &parameters)
            .map_err(kube::Error::BuildRequest)?;
        let sent = owned.children.before_write(namespace, &key.name);
        match self.controller.client.request::<Value>(request).await {
            Ok(answer) => {
                // otherwise, the response is the object, which still has finalizers or a grace period
                let is_gone = answer["kind"] == "Status";
                if is_gone {
                    owned.children.record_absent(sent, namespace, &key.name);
                }
                Ok(is_gone)
            }
            Err(error) if is_gone(&error) => {
                owned.children.record_absent(sent, namespace, &key.name);
                Ok(true)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the child from the cache, or from the API server if the cache does not know it.
    pub(crate) async fn cached_or_live(
        &self,
        owned: &Owned,
        kind: &Kind,
        key: &ChildKey,
    ) -> Result<Option<Value>> {
        match owned.children.get(key.namespace.as_deref(), &key.name) {
            Cached::Absent => return Ok(None),
            Cached::Child(body) => {
                let body: Value = serde_json::from_slice(&body)?;
                if body["apiVersion"] == *kind.resource.api_version {
                    return Ok(Some(body));
                }
            }
            Cached::Unknown => {}
        }
        self.live(owned, kind, key).await
    }

    /// Reads the child from the API server, and records it in the cache.
    pub(super) async fn live(
        &self,
        owned: &Owned,
        kind: &Kind,
        key: &ChildKey,
    ) -> Result<Option<Value>> {
        let namespace = key.namespace.as_deref();
        let request = kind
            .requests(namespace)
            .get(&key.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        let sent = owned.children.before_read(namespace);
        self.controller.reads.inc();
        match self.controller.client.request(request).await {
            Ok(live) => {
                owned.children.record(sent, &live);
                Ok(Some(live))
            }
            Err(error) if is_gone(&error) => {
                owned.children.record_absent(sent, namespace, &key.name);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The result of writing a child.
pub(crate) struct Written {
    /// The last known state of the child in the cluster.
    pub live: Value,
    /// Whether the desired child can be written only after this one was deleted.
    pub waits: bool,
}

pub(crate) fn is_being_deleted(live: &Value) -> bool {
    !live["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, &[409])
}
