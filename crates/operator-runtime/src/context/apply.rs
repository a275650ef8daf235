//! Children: applied when they differ from what is wanted, and never taken from another owner.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::{
    Resource,
    api::{DeleteParams, GetParams, ObjectMeta, Patch, PatchParams, Preconditions},
    core::ApiResource,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Context, Controlling, drop_nulls, ownership, requests};
use crate::{
    Result,
    error::{Error, is_gone},
    kind::{GroupKind, Kind, Scope},
};

/// For children that the API server stores otherwise than they were sent (`1000m` as `1`): hashes of what was
/// sent and of what we owned afterwards, by kind and place. Empty for most operators.
pub(crate) type Applied = Mutex<HashMap<String, (u64, u64)>>;

/// What to do with an object that has no controller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Uncontrolled {
    Refuse,
    Adopt,
}

impl Context {
    /// Creates or updates a child, and returns it as it is in the cluster.
    ///
    /// This is a [server-side apply](https://kubernetes.io/docs/reference/using-api/server-side-apply/) with the
    /// operator's name as field manager: fields that others set stay, fields that we no longer set go. The child
    /// gets an owner reference to the reconciled object if it has none, and that object's namespace. Nothing is
    /// written if nothing would change. A child that is not there yet is applied without force, and what somebody
    /// else makes under its name at that very moment is left as it was made.
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
        let applied = self.apply_child(child, Uncontrolled::Refuse).await?;
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
        let applied = self.apply_child(child, Uncontrolled::Adopt).await?;
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
        let kind = self.declared::<K>()?;
        let place = self.place(child);
        let requests = requests::<K>(place.namespace.as_deref());
        let Some(live) = self.live::<K>(&place).await? else {
            return Ok(());
        };
        self.check_control(kind, &place.name, &live, Uncontrolled::Refuse)?;
        if !live["metadata"]["deletionTimestamp"].is_null() {
            return Ok(());
        }
        let uid = live["metadata"]["uid"].as_str().map(str::to_owned);
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid,
                resource_version: None,
            }),
            ..DeleteParams::background()
        };
        let request = requests
            .delete(&place.name, &parameters)
            .map_err(kube::Error::BuildRequest)?;
        match self.controller.client.request::<Value>(request).await {
            Ok(_) => Ok(()),
            Err(error) if is_gone(&error) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The child as it is in the cluster.
    async fn apply_child<K>(&self, child: &K, uncontrolled: Uncontrolled) -> Result<Value>
    where
        K: Resource<DynamicType = (), Scope: 'static> + Serialize,
    {
        let kind = self.declared::<K>()?;
        let place = self.place(child);
        if Scope::of::<K>() == Scope::Cluster && self.owner.namespace.is_some()
            || self.owner.namespace.is_some() && place.namespace != self.owner.namespace
        {
            return Err(Error::Unownable {
                kind: kind.to_string(),
                name: place.name,
                owner: format!("{} {}", self.controller.kind, self.owner.name),
            });
        }
        let desired = self.desired(child, &place)?;
        let live = match self.live::<K>(&place).await? {
            Some(live) => {
                self.check_control(kind, &place.name, &live, uncontrolled)?;
                if self.is_applied(&place, &desired, &live) {
                    return Ok(live);
                }
                let parameters = PatchParams::apply(self.operator()).force();
                self.send::<K>(&place, &desired, &parameters).await?
            }
            None => {
                self.check_bereft().await?;
                self.make::<K>(kind, &place, &desired, uncontrolled).await?
            }
        };
        self.remember(&place, &desired, &live);
        Ok(live)
    }

    /// Where a child has gone, the object may have gone before it or be about to, and its watch not have told yet: the garbage collector
    /// would take what is made now, which would wake the object, for as long as that lasts.
    async fn check_bereft(&self) -> Result<()> {
        let key = (self.owner.namespace.clone(), self.owner.name.clone());
        let is_bereft = self.controller.bereft().remove(&key);
        if is_bereft && !self.stays().await? {
            return Err(anyhow::anyhow!("the object is gone, or is to go").into());
        }
        Ok(())
    }

    /// Applies a child that was not there a moment ago. There is no apply that only creates, so this one seizes
    /// nothing, and is undone if it met an object after all.
    async fn make<K>(
        &self,
        kind: &Kind,
        place: &Place,
        desired: &Value,
        uncontrolled: Uncontrolled,
    ) -> Result<Value>
    where
        K: Resource<DynamicType = ()>,
    {
        let parameters = PatchParams::apply(self.operator());
        match self.send::<K>(place, desired, &parameters).await {
            Ok(met)
                if uncontrolled == Uncontrolled::Refuse
                    && ownership::has_other(&met, self.operator()) =>
            {
                let nothing = json!({
                    "apiVersion": K::api_version(&()),
                    "kind": K::kind(&()),
                    "metadata": { "name": place.name },
                });
                let left = self.send::<K>(place, &nothing, &parameters).await?;
                self.check_control(kind, &place.name, &left, uncontrolled)?;
                Ok(left)
            }
            // Another's value for a field, or another's controlling reference.
            Err(kube::Error::Api(refused)) if matches!(refused.code, 409 | 422) => {
                if let Some(met) = self.live::<K>(place).await? {
                    self.check_control(kind, &place.name, &met, uncontrolled)?;
                }
                Err(kube::Error::Api(refused).into())
            }
            made => Ok(made?),
        }
    }

    async fn send<K: Resource<DynamicType = ()>>(
        &self,
        place: &Place,
        desired: &Value,
        parameters: &PatchParams,
    ) -> Result<Value, kube::Error> {
        let request = requests::<K>(place.namespace.as_deref())
            .patch(&place.name, parameters, &Patch::Apply(desired))
            .map_err(kube::Error::BuildRequest)?;
        self.controller.client.request(request).await
    }

    fn declared<K: Resource<DynamicType = ()>>(&self) -> Result<&Kind> {
        let owns = &self.controller.owns;
        if let Some(kind) = owns.iter().find(|kind| kind.is::<K>()) {
            return Ok(kind);
        }
        let kind = format!("{}/{}", K::api_version(&()), K::kind(&()));
        let kinds = owns.iter().map(ToString::to_string).chain([kind.clone()]);
        let owns = kinds
            .map(|kind| format!("{kind:?}"))
            .collect::<Vec<_>>()
            .join(", ");
        Err(Error::Undeclared {
            kind,
            owner: self.controller.kind.to_string(),
            owns,
        })
    }

    fn place<K: Resource<DynamicType = (), Scope: 'static>>(&self, child: &K) -> Place {
        let meta = child.meta();
        let namespace = match Scope::of::<K>() {
            Scope::Cluster => None,
            Scope::Namespaced => meta
                .namespace
                .clone()
                .or_else(|| self.owner.namespace.clone())
                .or_else(|| Some(self.namespace().to_owned())),
        };
        Place {
            group: K::group(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            namespace,
            name: meta.name.clone().unwrap_or_default(),
        }
    }

    async fn live<K: Resource<DynamicType = ()>>(&self, place: &Place) -> Result<Option<Value>> {
        let request = requests::<K>(place.namespace.as_deref())
            .get(&place.name, &GetParams::default())
            .map_err(kube::Error::BuildRequest)?;
        match self.controller.client.request(request).await {
            Ok(live) => Ok(Some(live)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The child as it is sent: with what an apply needs, without what it must not have.
    fn desired<K>(&self, child: &K, place: &Place) -> Result<Value>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let mut desired = serde_json::to_value(child)?;
        drop_nulls(&mut desired);
        desired["apiVersion"] = K::api_version(&()).into();
        desired["kind"] = K::kind(&()).into();
        if let Some(object) = desired.as_object_mut() {
            object.remove("status");
        }
        let metadata = &mut desired["metadata"];
        if let Some(metadata) = metadata.as_object_mut() {
            for read_only in [
                "managedFields",
                "resourceVersion",
                "uid",
                "generation",
                "creationTimestamp",
            ] {
                metadata.remove(read_only);
            }
        }
        if let Some(namespace) = &place.namespace {
            metadata["namespace"] = json!(namespace);
        }
        if let Some(owner) = &self.owner.reference {
            let owners = metadata["ownerReferences"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            if !owners
                .iter()
                .any(|reference| reference["uid"] == *owner.uid)
            {
                let owners: Vec<_> = owners
                    .into_iter()
                    .chain([serde_json::to_value(owner)?])
                    .collect();
                metadata["ownerReferences"] = Value::Array(owners);
            }
        }
        Ok(desired)
    }

    fn check_control(
        &self,
        kind: &Kind,
        name: &str,
        live: &Value,
        uncontrolled: Uncontrolled,
    ) -> Result<()> {
        let owners = live["metadata"]["ownerReferences"]
            .as_array()
            .map_or(&[][..], Vec::as_slice);
        let holder = owners.iter().find(|owner| owner["controller"] == true);
        let ours = self
            .owner
            .reference
            .as_ref()
            .map(|owner| owner.uid.as_str());
        match holder {
            Some(holder) if holder["uid"].as_str() == ours => Ok(()),
            None if uncontrolled == Uncontrolled::Adopt => Ok(()),
            holder => {
                let holder = holder.map(|holder| {
                    let text = |key: &str| holder[key].as_str().unwrap_or_default();
                    let (group, _) = text("apiVersion").rsplit_once('/').unwrap_or_default();
                    let kind = GroupKind {
                        group: group.into(),
                        kind: text("kind").into(),
                    };
                    format!("{kind} {}", text("name"))
                });
                let owner = format!("{} {}", self.controller.kind, self.owner.name);
                let help = match &holder {
                    None => "give the child another name, or take the object over with `adopt`",
                    Some(holder) if *holder == owner => {
                        "that was deleted and made anew; the child of the old one will be collected"
                    }
                    Some(_) => {
                        "give the child another name, such as one that ends in its owner's kind"
                    }
                };
                Err(Error::Taken {
                    kind: kind.to_string(),
                    name: name.to_owned(),
                    holder,
                    help,
                })
            }
        }
    }

    /// Whether applying `desired` would change nothing. What we own is exactly what we applied last: whoever
    /// changes one of our fields takes it from us.
    fn is_applied(&self, place: &Place, desired: &Value, live: &Value) -> bool {
        let Some(owned) = ownership::owned(live, self.operator()) else {
            return false;
        };
        if ownership::is_same(desired, owned, live) {
            return true;
        }
        let applied = self
            .controller
            .applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        applied.get(&place.key()) == Some(&(hash(desired), hash(owned)))
    }

    fn remember(&self, place: &Place, desired: &Value, live: &Value) {
        let mut applied = self
            .controller
            .applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match ownership::owned(live, self.operator()) {
            Some(owned) if !ownership::is_same(desired, owned, live) => {
                applied.insert(place.key(), (hash(desired), hash(owned)));
            }
            _ => {
                applied.remove(&place.key());
            }
        }
    }
}

/// Where a child is.
struct Place {
    group: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Place {
    fn key(&self) -> String {
        child_key(
            &self.group,
            &self.kind,
            self.namespace.as_deref(),
            &self.name,
        )
    }
}

fn child_key(group: &str, kind: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{group}/{kind}/{}/{name}", namespace.unwrap_or_default())
}

impl Controlling {
    pub fn bereft(&self) -> MutexGuard<'_, HashSet<(Option<String>, String)>> {
        self.bereft.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A child is gone, and with it what is remembered of it.
    pub fn forget_child(&self, resource: &ApiResource, child: &ObjectMeta) {
        let name = child.name.as_deref().unwrap_or_default();
        let key = child_key(
            &resource.group,
            &resource.kind,
            child.namespace.as_deref(),
            name,
        );
        self.applied
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&key);
    }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
