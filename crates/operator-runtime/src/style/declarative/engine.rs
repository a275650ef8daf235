//! A [`Declarative`] as a [`Reconciler`]: makes the requests.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};
use serde::Serialize;
use serde_json::Value;

use super::{Applied, Declarative, Finalized, Observed, RelatedObject, desired::Choice};
use crate::{
    Action, ControllerOptions, Error, Reconciler, Result,
    context::{Context, is_being_deleted},
    engine::kind::Kind,
    error::LONGEST_DELAY,
    lock::lock,
};

/// The delay after children were not deleted, because the parent or a child has changed. Normally a watch triggers a reconciliation
/// earlier.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// A [`Declarative`] as a [`Reconciler`].
pub(super) struct Engine<D> {
    declarative: D,
    /// The kinds of all related objects so far: an object of another kind is related to no parent.
    related_kinds: Mutex<Vec<Kind>>,
}

impl<D: Declarative> Reconciler for Engine<D> {
    type Resource = D::Resource;
    const FINALIZER: Option<&'static str> = D::FINALIZER;

    async fn reconcile(&self, parent: Arc<D::Resource>, cx: &Context) -> Result<Action> {
        let related = self.related(&parent);
        let mut observed = Observed::of(&*parent, related, cx).await?;
        let mut desired_status = None;
        let result = self
            .write(&parent, &mut observed, &mut desired_status, cx)
            .await;
        let applied = result.as_ref().map(|(applied, _)| applied);
        let status = self.declarative.status(&parent, &observed, applied);
        let written = match status.map(|status| status.choice) {
            Ok(Choice::Value(status)) => write_status(&*parent, status, cx).await,
            Ok(Choice::Unchanged) => Ok(()),
            Ok(Choice::Desired) => match desired_status {
                Some(status) => write_status(&*parent, status, cx).await,
                None => Ok(()),
            },
            Err(error) => Err(error),
        };
        let (_, resync) = result?;
        written?;
        Ok(resync.map_or_else(Action::await_change, Action::requeue))
    }

    async fn cleanup(&self, parent: Arc<D::Resource>, cx: &Context) -> Result<()> {
        let related = self.related(&parent);
        let observed = Observed::of_listed(&*parent, related, cx).await?;
        match self.declarative.finalize(&parent, &observed)? {
            Finalized::Done => Ok(()),
            Finalized::After(delay) => {
                cx.delay_cleanup(delay);
                Ok(())
            }
        }
    }

    fn options(&self) -> ControllerOptions<D::Resource> {
        self.declarative.options()
    }

    fn parents(
        &self,
        changed: &crate::Changed,
        cache: &crate::Store<D::Resource>,
    ) -> Vec<ObjectRef<D::Resource>> {
        let mut parents = self.declarative.parents(changed, cache);
        let is_related = |kind: &Kind| {
            kind.resource.group == changed.group && kind.resource.kind == changed.kind
        };
        if lock(&self.related_kinds).iter().any(is_related) {
            let names_it = |parent: &Arc<D::Resource>| {
                let namespace = parent.namespace();
                let related = self.declarative.related(parent);
                related
                    .iter()
                    .any(|it| it.is(changed, namespace.as_deref()))
            };
            let found = cache.state().into_iter().filter(names_it);
            parents.extend(found.map(|parent| ObjectRef::from(&*parent)));
        }
        parents
    }
}

impl<D: Declarative> Engine<D> {
    pub fn new(declarative: D) -> Self {
        Self {
            declarative,
            related_kinds: Mutex::default(),
        }
    }

    /// The objects that are related to the parent. Their kinds are recorded before the objects are read, so that no change is missed.
    fn related(&self, parent: &D::Resource) -> Vec<RelatedObject> {
        let related = self.declarative.related(parent);
        let mut kinds = lock(&self.related_kinds);
        for object in &related {
            if !kinds.iter().any(|known| known.is_same(&object.kind)) {
                kinds.push(object.kind.clone());
            }
        }
        related
    }

    /// Writes and deletes children, and updates `observed` accordingly.
    async fn write(
        &self,
        parent: &D::Resource,
        observed: &mut Observed,
        status: &mut Option<serde_json::Result<Value>>,
        cx: &Context,
    ) -> Result<(Applied, Option<Duration>)> {
        self.declarative
            .validate(parent)
            .map_err(|error| match error {
                error if error.delay().is_some() => error,
                error => Error::Invalid(error.into()),
            })?;
        let desired = self.declarative.desired(parent, observed)?;
        *status = desired.status;
        // Check all children before the first one is written.
        let mut children = BTreeMap::new();
        let mut order = vec![];
        for wanted in desired.children {
            let child = cx.child(wanted?)?;
            cx.check_place(&child)?;
            let key = (cx.index(child.owned), child.key.clone());
            order.push(key.clone());
            if let Some(duplicate) = children.insert(key, child) {
                return Err(Error::DesiredTwice {
                    kind: duplicate.kind.to_string(),
                    name: duplicate.key.name,
                });
            }
        }
        let mut applied = Applied::default();
        for key in order {
            let child = &children[&key];
            let version = &child.kind.resource.api_version;
            // a child that was observed in another API version is read in this one
            let seen = observed.children.get(&key);
            let known = match seen.filter(|live| live["apiVersion"] == **version) {
                Some(live) => Some(live.clone()),
                None => {
                    cx.cached_or_live(child.owned, &child.kind, &child.key)
                        .await?
                }
            };
            let written = cx.write_child(child, known).await?;
            if written.waits {
                let name = format!("{} {}", child.kind, child.key.name);
                applied.waiting.push(name);
            }
            observed.children.insert(key, written.live);
        }
        observed
            .children
            .retain(|key, live| children.contains_key(key) || !is_being_deleted(live));
        let undesired: Vec<_> = observed
            .children
            .keys()
            .filter(|key| !children.contains_key(key))
            .cloned()
            .collect();
        let mut resync = desired.resync.map(|after| after.min(LONGEST_DELAY));
        if !undesired.is_empty() && !cx.is_current(parent.meta().generation).await? {
            // children are not deleted because of an outdated spec; the watch of the parent reports the new one soon
            return Ok((applied, Some(RETRY_DELAY)));
        }
        let mut first_error = None;
        for key in undesired {
            let Some(live) = observed.children.get(&key) else {
                continue;
            };
            match cx.prune(&key, live).await {
                Ok(true) => {
                    observed.children.remove(&key);
                }
                Ok(false) => resync = Some(RETRY_DELAY),
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if let Some(error) = first_error {
            return Err(error);
        }
        Ok((applied, resync))
    }
}

async fn write_status<K>(parent: &K, status: serde_json::Result<Value>, cx: &Context) -> Result<()>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    cx.update_status(parent, &status?).await
}
