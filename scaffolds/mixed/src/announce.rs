//! One reconciler for several kinds: it records an event for each object.

use std::{marker::PhantomData, sync::Arc};

use kube::ResourceExt;
use operator_runtime::{Action, Context, EventType, Object, Reconciler, Result};

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

impl<K: Object> Reconciler for Announcer<K> {
    type Resource = K;

    async fn reconcile(&self, object: Arc<K>, cx: &Context) -> Result<Action> {
        let note = format!("there is a {} {}", K::kind(&()), object.name_any());
        cx.event(&*object, EventType::Normal, "Announced", note)
            .await;
        Ok(Action::await_change())
    }
}
