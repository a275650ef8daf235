//! Writes a line to a list that others write, too: the list is one value, so server-side apply cannot divide it. It shows optimistic concurrency:
//! read, change, write, and again after a conflict.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt, api::PostParams};
use operator_runtime::{Action, Context, Error, Reconciler, Result, Setup};

use crate::api::subscriber::v1::Subscriber;

/// How often a change is tried before the reconciliation fails. The runtime then calls it again later.
const TRIES: usize = 10;

/// The addresses by the names of the subscribers.
type Lines = BTreeMap<String, String>;

pub async fn setup(_setup: Setup) -> Result<SubscriberReconciler> {
    Ok(SubscriberReconciler)
}

pub struct SubscriberReconciler;

impl Reconciler for SubscriberReconciler {
    type Resource = Subscriber;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/reconciler");

    async fn reconcile(&self, subscriber: Arc<Subscriber>, cx: &Context) -> Result<Action> {
        let (name, address) = (subscriber.name_any(), &subscriber.spec.address);
        change(&subscriber, cx, |lines| {
            lines.insert(name.clone(), address.clone());
        })
        .await?;
        let mut status = subscriber.status.clone().unwrap_or_default();
        status.observed_generation = subscriber.metadata.generation;
        cx.update_status(&*subscriber, &status).await?;
        Ok(Action::await_change())
    }

    async fn cleanup(&self, subscriber: Arc<Subscriber>, cx: &Context) -> Result<()> {
        let name = subscriber.name_any();
        match change(&subscriber, cx, |lines| {
            lines.remove(&name);
        })
        .await
        {
            Err(Error::Kube(kube::Error::Api(status))) if status.is_not_found() => Ok(()),
            result => result,
        }
    }
}

/// Changes the lines of the list. The write names the version that was read: if another writer was faster, the API server answers with a
/// conflict, and the change is made to what that writer wrote.
async fn change(subscriber: &Subscriber, cx: &Context, change: impl Fn(&mut Lines)) -> Result<()> {
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
        let mut lines = parse(text);
        change(&mut lines);
        if lines == parse(text) {
            return Ok(());
        }
        *text = lines
            .iter()
            .map(|(name, address)| format!("{name} {address}\n"))
            .collect();
        match lists.replace(name, &PostParams::default(), &list).await {
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            written => return Ok(written.map(drop)?),
        }
    }
    let error = anyhow::anyhow!("others change the list {name} all the time");
    Err(Error::temporary(Duration::from_secs(1), error))
}

fn parse(text: &str) -> Lines {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines
        .map(|(name, address)| (name.into(), address.into()))
        .collect()
}
