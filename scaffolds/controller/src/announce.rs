//! One reconciler for several kinds: it records an event for each object.

use std::{fmt::Debug, marker::PhantomData, sync::Arc};

use kube::{Resource, ResourceExt};
use operator_runtime::{Action, Context, EventType, Reconciler, Result};
use serde::{Serialize, de::DeserializeOwned};

pub struct Announcer<K>(PhantomData<fn(K)>);

impl<K> Announcer<K> {
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<K> Default for Announcer<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K> Reconciler for Announcer<K>
where
    K: Resource<DynamicType = (), Scope: 'static> + Clone + Debug,
    K: DeserializeOwned + Serialize + Send + Sync + 'static,
{
    type Resource = K;

    async fn reconcile(&self, object: Arc<K>, cx: &Context) -> Result<Action> {
        let note = format!("there is a {} {}", K::kind(&()), object.name_any());
        cx.event(&*object, EventType::Normal, "Announced", note)
            .await;
        Ok(Action::await_change())
    }
}
