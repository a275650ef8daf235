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
    child::{ChildKey, Uncontrolled},
    requests,
};
use crate::{
    Result,
    engine::{children::Cached, decode::forget_managers, kind::Scope},
    error::{Error, is_gone},
};

/// How often a write is attempted if others change the child concurrently.
const ATTEMPTS: usize = 4;

impl Context {
    /// Creates or updates a child, and returns it as it was last seen in the cluster.
    ///
    /// This is a [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/) with the operator's name as field
    /// manager: fields that others set are kept, and fields that the operator no longer sets are removed. The child gets an owner reference
    /// to the reconciled object, if it has none, and the namespace of that object.
    ///
    /// The child is read from the operator's cache of the kinds that it owns, and no request is made if nothing would change. Each write
    /// names the version that it is based on: if the child has changed since, or if the name belongs to another object, the API server
    /// refuses the write, and the child is read again. The content of Secrets, of ConfigMaps and of kinds that this operator reconciles is
    /// not cached, so each call reads them.
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
    /// [`Error::Undeclared`] if the controller does not declare that it owns this kind, [`Error::Taken`] if an object of this name exists
    /// and the reconciled object does not control it, [`Error::Unownable`] if the reconciled object cannot own the child; and the errors of
    /// the API server.
    pub async fn apply<K>(&self, child: &K) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        let mut applied = self.apply_child(child, Uncontrolled::Refuse).await?;
        forget_managers(&mut applied);
        Ok(serde_json::from_value(applied)?)
    }

    /// Like [`apply`](Self::apply), but also takes over an existing object that has no controller.
    ///
    /// Clusters with the admission plugin OwnerReferencesPermissionEnforcement require the permission to `delete` an object that gets an
    /// owner; add a rule for it to the kind's `rules` in `operator.toml`.
    pub async fn adopt<K>(&self, child: &K) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        let mut applied = self.apply_child(child, Uncontrolled::Adopt).await?;
        forget_managers(&mut applied);
        Ok(serde_json::from_value(applied)?)
    }

    /// Deletes a child that the reconciled object controls; does nothing if it does not exist.
    ///
    /// The role of a generated project does not permit to `delete` children, because the garbage collector deletes them; add a rule to the
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
    /// [`Error::Undeclared`] and [`Error::Taken`], as for [`apply`](Self::apply).
    pub async fn delete<K>(&self, child: &K) -> Result<()>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let owned = self.declared::<K>()?;
        let key = self.child_key(child);
        let namespace = key.namespace.as_deref();
        let mut known = self.cached_or_live::<K>(owned, &key).await?;
        let mut attempts = 0;
        loop {
            let Some(live) = known else {
                return Ok(());
            };
            self.check_control(&owned.kind, &key.name, &live, Uncontrolled::Refuse)?;
            if !live["metadata"]["deletionTimestamp"].is_null() {
                return Ok(());
            }
            let text = |key: &str| live["metadata"][key].as_str().map(str::to_owned);
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: text("uid"),
                    // What was just read may be deleted in any version: a status may change again and again.
                    resource_version: text("resourceVersion").filter(|_| attempts == 0),
                }),
                ..DeleteParams::background()
            };
            let request = requests::<K>(namespace)
                .delete(&key.name, &parameters)
                .map_err(kube::Error::BuildRequest)?;
            let sent = owned.children.before_write(namespace, &key.name);
            attempts += 1;
            match self.controller.client.request::<Value>(request).await {
                Ok(_) => return Ok(()),
                Err(error) if is_gone(&error) => {
                    owned.children.record_absent(sent, namespace, &key.name);
                    return Ok(());
                }
                Err(error) if is_conflict(&error) && attempts < ATTEMPTS => {
                    known = self.live::<K>(owned, &key).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Applies the child unless it is up to date, and returns the live object.
    async fn apply_child<K>(&self, child: &K, uncontrolled: Uncontrolled) -> Result<Value>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let owned = self.declared::<K>()?;
        let key = self.child_key(child);
        if Scope::of::<K>() == Scope::Cluster && self.owner.namespace.is_some()
            || self.owner.namespace.is_some() && key.namespace != self.owner.namespace
        {
            return Err(Error::Unownable {
                kind: owned.kind.to_string(),
                name: key.name,
                owner: format!("{} {}", self.controller.kind, self.owner.name),
            });
        }
        let desired = self.desired(child, &key)?;
        let namespace = key.namespace.as_deref();
        let mut known = self.cached_or_live::<K>(owned, &key).await?;
        let mut attempts = 0;
        loop {
            match &known {
                Some(live) => self.check_control(&owned.kind, &key.name, live, uncontrolled)?,
                None => self.check_owner().await?,
            }
            let is_applied = |live: &mut Value| self.is_applied(owned, &key, &desired, live);
            if let Some(applied) = known.take_if(is_applied) {
                return Ok(applied);
            }
            let sent = owned.children.before_write(namespace, &key.name);
            attempts += 1;
            let error = match self.send::<K>(&key, &desired, known.as_ref()).await {
                Ok(written) => {
                    owned.children.record(sent, &written);
                    self.remember(owned, &key, &desired, &written);
                    return Ok(written);
                }
                Err(error) => error,
            };
            owned.children.invalidate(namespace, &key.name);
            if is_conflict(&error) && attempts < ATTEMPTS {
                known = self.live::<K>(owned, &key).await?;
                continue;
            }
            // Authorization and mutating admission come before the API server compares versions: the name may belong to another object.
            if known.is_none()
                && has_code(&error, &[403, 422])
                && let Ok(Some(live)) = self.live::<K>(owned, &key).await
            {
                self.check_control(&owned.kind, &key.name, &live, uncontrolled)?;
            }
            return Err(error.into());
        }
    }

    /// After a child was deleted, its owner may be being deleted before our watch reports it: the garbage collector would delete a child
    /// that is created now, which would trigger the next reconciliation, until the watch reports the deletion.
    async fn check_owner(&self) -> Result<()> {
        if self.lost_child.swap(false, Relaxed) && !self.still_exists().await? {
            return Err(anyhow::anyhow!("the object was deleted, or is being deleted").into());
        }
        Ok(())
    }

    /// Applies `desired` to the version `known`, or creates the object. The API server responds with 409 if the object has another version,
    /// or if it exists although `known` is `None`, because no object has the resource version 1.
    async fn send<K: Resource<DynamicType = ()>>(
        &self,
        key: &ChildKey,
        desired: &Value,
        known: Option<&Value>,
    ) -> Result<Value, kube::Error> {
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
            ..PatchParams::apply(self.operator())
        };
        let request = requests::<K>(key.namespace.as_deref())
            .patch(&key.name, &parameters, &Patch::Apply(patch))
            .map_err(kube::Error::BuildRequest)?;
        self.controller.client.request(request).await
    }

    /// Returns the child from the cache, or from the API server if the cache does not know it.
    async fn cached_or_live<K: Resource<DynamicType = ()>>(
        &self,
        owned: &Owned,
        key: &ChildKey,
    ) -> Result<Option<Value>> {
        match owned.children.get(key.namespace.as_deref(), &key.name) {
            Cached::Absent => return Ok(None),
            Cached::Child(body) => {
                let body: Value = serde_json::from_slice(&body)?;
                if body["apiVersion"] == *K::api_version(&()) {
                    return Ok(Some(body));
                }
            }
            Cached::Unknown => {}
        }
        self.live::<K>(owned, key).await
    }

    async fn live<K: Resource<DynamicType = ()>>(
        &self,
        owned: &Owned,
        key: &ChildKey,
    ) -> Result<Option<Value>> {
        let namespace = key.namespace.as_deref();
        let request = requests::<K>(namespace)
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

fn is_conflict(error: &kube::Error) -> bool {
    has_code(error, &[409])
}

fn has_code(error: &kube::Error, codes: &[u16]) -> bool {
    matches!(error, kube::Error::Api(refused) if codes.contains(&refused.code))
}
