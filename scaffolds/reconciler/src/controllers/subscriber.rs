//! Writes a line to a list that others write, too: the list is one value, so server-side apply cannot divide it. It shows optimistic concurrency:
//! read, change, write, and again after a conflict. A watch of the lists restores a line that somebody else removes.

use std::{sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt, api::PostParams};
use operator_runtime::{
    Action, Changed, Context, Error, ObjectRef, Reconciler, Result, Setup, Store,
};

use crate::api::subscriber::v1::Subscriber;

/// How often a change is tried before the reconciliation fails. The runtime then calls it again later.
const TRIES: usize = 10;

pub async fn setup(_setup: Setup) -> Result<SubscriberReconciler> {
    Ok(SubscriberReconciler)
}

pub struct SubscriberReconciler;

impl Reconciler for SubscriberReconciler {
    type Resource = Subscriber;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/reconciler");

    async fn reconcile(&self, subscriber: Arc<Subscriber>, cx: &Context) -> Result<Action> {
        let line = format!("{} {}\n", subscriber.name_any(), subscriber.spec.address);
        change(&subscriber, Some(line), cx).await?;
        let mut status = subscriber.status.clone().unwrap_or_default();
        status.observed_generation = subscriber.metadata.generation;
        cx.update_status(&*subscriber, &status).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, subscriber: Arc<Subscriber>, cx: &Context) -> Result<()> {
        match change(&subscriber, None, cx).await {
            Err(Error::Kube(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            result => result,
        }
    }

    /// The subscribers of a list that changed.
    fn parents(&self, list: &Changed, cache: &Store<Subscriber>) -> Vec<ObjectRef<Subscriber>> {
        let mut subscribers = cache.state();
        subscribers.retain(|subscriber| {
            subscriber.metadata.namespace == list.metadata.namespace
                && Some(&subscriber.spec.list) == list.metadata.name.as_ref()
        });
        let subscribers = subscribers.iter();
        subscribers.map(|it| ObjectRef::from_obj(&**it)).collect()
    }
}

/// Writes or removes the line of the subscriber. The write names the version that was read: if another writer was faster, the API server answers
/// with a conflict, and the change is made to what that writer wrote.
async fn change(subscriber: &Subscriber, line: Option<String>, cx: &Context) -> Result<()> {
    let namespace = subscriber.namespace().unwrap_or_default();
    let lists: Api<ConfigMap> = Api::namespaced(cx.client(), &namespace);
    let name = &subscriber.spec.list;
    for _ in 0..TRIES {
        let mut list = lists.get(name).await?;
        let text = list
            .data
            .get_or_insert_default()
            .entry("lines".into())
            .or_default();
        let changed = with_line(text, &subscriber.name_any(), line.clone());
        if changed == *text {
            return Ok(());
        }
        *text = changed;
        match lists.replace(name, &PostParams::default(), &list).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            written => return Ok(written.map(drop)?),
        }
    }
    let error = anyhow::anyhow!("others change the list {name} all the time");
    Err(Error::temporary(Duration::from_secs(1), error))
}

/// Replaces the line that starts with the name, or adds it at the end. The bytes of all other lines stay as they are.
fn with_line(text: &str, name: &str, mut line: Option<String>) -> String {
    let start = format!("{name} ");
    let mut changed = String::new();
    for old in text.split_inclusive('\n') {
        match old.starts_with(&start) {
            true => changed.extend(line.take()),
            false => changed.push_str(old),
        }
    }
    if line.is_some() && !changed.is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    changed.extend(line);
    changed
}
