//! Children: applied when they differ from what is wanted, and never taken from another owner.

use kube::{
    Resource,
    api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    Context, Owned,
    child::{Place, Uncontrolled},
    requests,
};
use crate::{
    Result,
    children::Cached,
    decode::forget_managers,
    error::{Error, is_gone},
    kind::Scope,
};

/// How often a write is tried on the newest version of a child that others change.
const ATTEMPTS: usize = 4;

impl Context {
    /// Creates or updates a child, and returns it as it is in the cluster.
    ///
    /// This is a [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/) with the
    /// operator's name as field manager: fields that others set stay, fields that we no longer set go. The child
    /// gets an owner reference to the reconciled object if it has none, and that object's namespace.
    ///
    /// Nothing is requested if nothing would change: the operator watches the kinds that it owns, and the child comes from the cache of
    /// them, without `managedFields`. A write is bound to the version that the cache has, or to that there is no such object, so
    /// nothing of anybody else's is ever overwritten. Of Secrets and ConfigMaps nothing is cached, so each call reads the child.
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
    /// [`Error::Undeclared`] if the controller does not declare that it owns this kind, [`Error::Taken`] if there
    /// is such an object that the reconciled object does not control, [`Error::Unownable`] if it cannot.
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
    /// Clusters with the admission plugin OwnerReferencesPermissionEnforcement want the right to `delete` what gets an owner; add a rule with
    /// it to the kind's `rules` in `operator.toml`.
    pub async fn adopt<K>(&self, child: &K) -> Result<K>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize + DeserializeOwned,
    {
        let mut applied = self.apply_child(child, Uncontrolled::Adopt).await?;
        forget_managers(&mut applied);
        Ok(serde_json::from_value(applied)?)
    }

    /// Deletes a child, if there is one that the reconciled object controls.
    ///
    /// The role of a generated project has no `delete` on what is owned, as the garbage collector does that; add a rule with it
    /// to the kind in `operator.toml`, such as
    /// `rules = [{ apiGroups = [""], resources = ["configmaps"], verbs = ["delete"] }]`.
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
        let place = self.place(child);
        let mut known = self.known::<K>(owned, &place, Uncontrolled::Refuse).await?;
        let mut attempts = 0;
        loop {
            let Some(live) = known else {
                return Ok(());
            };
            self.check_control(&owned.kind, &place.name, &live, Uncontrolled::Refuse)?;
            if !live["metadata"]["deletionTimestamp"].is_null() {
                return Ok(());
            }
            let text = |key: &str| live["metadata"][key].as_str().map(str::to_owned);
            let parameters = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: text("uid"),
                    resource_version: text("resourceVersion"),
                }),
                ..DeleteParams::background()
            };
            let request = requests::<K>(place.namespace.as_deref())
                .delete(&place.name, &parameters)
                .map_err(kube::Error::BuildRequest)?;
            let deleted = self.controller.client.request::<Value>(request).await;
            owned
                .children
                .doubt(place.namespace.as_deref(), &place.name);
            attempts += 1;
            match deleted {
                Ok(_) => return Ok(()),
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) if is_conflict(&error) && attempts < ATTEMPTS => {
                    known = self.live::<K>(owned, &place).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The child as it is in the cluster.
    async fn apply_child<K>(&self, child: &K, uncontrolled: Uncontrolled) -> Result<Value>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let owned = self.declared::<K>()?;
        let place = self.place(child);
        if Scope::of::<K>() == Scope::Cluster && self.owner.namespace.is_some()
            || self.owner.namespace.is_some() && place.namespace != self.owner.namespace
        {
            return Err(Error::Unownable {
                kind: owned.kind.to_string(),
                name: place.name,
                owner: format!("{} {}", self.controller.kind, self.owner.name),
            });
        }
        let desired = self.desired(child, &place)?;
        let mut known = self.known::<K>(owned, &place, uncontrolled).await?;
        let mut attempts = 0;
        loop {
            match &known {
                None => self.check_bereft().await?,
                Some(live) => {
                    self.check_control(&owned.kind, &place.name, live, uncontrolled)?;
                    if self.is_applied(owned, &place, &desired, live) {
                        break;
                    }
                }
            }
            let sent = owned.children.sending(place.namespace.as_deref());
            attempts += 1;
            match self.send::<K>(&place, &desired, known.as_ref()).await {
                Ok(written) => {
                    owned.children.learn(sent, &written);
                    self.remember(owned, &place, &desired, &written);
                    return Ok(written);
                }
                Err(error) => {
                    owned
                        .children
                        .doubt(place.namespace.as_deref(), &place.name);
                    if !is_conflict(&error) || attempts == ATTEMPTS {
                        return Err(error.into());
                    }
                    known = self.live::<K>(owned, &place).await?;
                }
            }
        }
        Ok(known.unwrap_or_default())
    }

    /// Where a child has gone, its owner may have been deleted, and the watch not have reported it yet: the garbage collector
    /// would take what is made now, which would wake the object, for as long as that lasts.
    async fn check_bereft(&self) -> Result<()> {
        let key = (self.owner.namespace.clone(), self.owner.name.clone());
        let is_bereft = self.controller.bereft().remove(&key);
        if is_bereft && !self.stays().await? {
            return Err(anyhow::anyhow!("the object is gone, or is to go").into());
        }
        Ok(())
    }

    /// Applies to the version `known`, or creates, and changes nothing else: the API server answers 409 for any other version, and
    /// for one that is there though nothing is known of it, as no object has the resource version 1.
    async fn send<K: Resource<DynamicType = ()>>(
        &self,
        place: &Place,
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
        let parameters = PatchParams::apply(self.operator()).force();
        let request = requests::<K>(place.namespace.as_deref())
            .patch(&place.name, &parameters, &Patch::Apply(patch))
            .map_err(kube::Error::BuildRequest)?;
        self.controller.client.request(request).await
    }

    /// The child as the cache has it, or as it is in the cluster if the cache cannot tell.
    async fn known<K: Resource<DynamicType = ()>>(
        &self,
        owned: &Owned,
        place: &Place,
        uncontrolled: Uncontrolled,
    ) -> Result<Option<Value>> {
        match owned
            .children
            .get(place.namespace.as_deref(), &place.name)
        {
            Cached::Absent => return Ok(None),
            Cached::Child(body) => {
                let body: Value = serde_json::from_slice(&body)?;
                if body["apiVersion"] == *K::api_version(&()) {
                    return Ok(Some(body));
                }
            }
            Cached::Other(Some(controller)) => {
                self.check_controller(&owned.kind, &place.name, Some(&controller), uncontrolled)?;
            }
            Cached::Other(None) if uncontrolled == Uncontrolled::Refuse => {
                self.check_controller(&owned.kind, &place.name, None, uncontrolled)?;
            }
            Cached::Other(None) | Cached::Unknown => {}
        }
        self.live::<K>(owned, place).await
    }

    async fn live<K: Resource<DynamicType = ()>>(
        &self,
        owned: &Owned,
        place: &Place,
    ) -> Result<Option<Value>> {
        let namespace = place.namespace.as_deref();
        let request = requests::<K>(namespace)
            .get(&place.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        let sent = owned.children.sending(namespace);
        self.controller.reads.inc();
        match self.controller.client.request(request).await {
            Ok(live) => {
                owned.children.learn(sent, &live);
                Ok(Some(live))
            }
            Err(error) if is_gone(&error) => {
                owned.children.learn_absent(sent, namespace, &place.name);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(refused) if refused.code == 409)
}
