//! The watches of a controller as streams of objects to reconcile.
//!
//! An error of one watch is logged, counted and tried again after a growing delay; the others go on.

use std::sync::Arc;

use futures::{Stream, StreamExt, future::join_all, stream};
use kube::{
    Api, Client, Resource, ResourceExt,
    core::DynamicResourceScope,
    runtime::{
        WatchStreamExt,
        events::EventType,
        reflector::{ObjectRef, Store},
        watcher::{self, Event},
    },
};
use tracing::warn;

use crate::{
    cache::{Cache, Change},
    context::{Controlling, place},
    decode::{Decoded, Undecodable},
    error::WatchMessage,
    health::Health,
    kind::Kind,
    metrics::KindMetrics,
    reconciler::Reconciler,
    related::{Changed, Related, controller_of},
    settings::Settings,
    turn::Turns,
};

/// Bounds what a list holds in memory at once.
const PAGE: u32 = 100;

/// What the watches of a controller share.
pub(crate) struct Source {
    pub client: Client,
    pub settings: Arc<Settings>,
    pub metrics: KindMetrics,
}

impl Source {
    /// Events of a kind in a namespace or in all; ends never.
    fn events<T>(
        &self,
        resource: &T::DynamicType,
        namespace: Option<&str>,
    ) -> impl Stream<Item = Event<T>> + Send + use<T>
    where
        T: Resource<Scope = DynamicResourceScope, DynamicType: Clone>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let api: Api<T> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        };
        let seconds = self.settings.watch_timeout.as_secs().max(1);
        let config = watcher::Config::default()
            .page_size(PAGE)
            .timeout(u32::try_from(seconds).unwrap_or(u32::MAX));
        let errors = self.metrics.watch_errors.clone();
        let kind = T::kind(resource).into_owned();
        watcher::watcher(api, config)
            .default_backoff()
            .filter_map(move |event| {
                let event = event.inspect_err(|error| {
                    errors.inc();
                    warn!(kind, "{}", WatchMessage(error));
                });
                std::future::ready(event.ok())
            })
    }
}

/// The controller's own objects, and the cache of them.
pub(crate) fn objects<R: Reconciler>(
    source: &Source,
    mut cache: Cache<R::Resource>,
    namespaces: &[Option<String>],
    turns: Arc<Turns<R>>,
    health: Arc<Health>,
) -> impl Stream<Item = ObjectRef<R::Resource>> + Send + use<R> {
    let watches = namespaces.iter().enumerate().map(|(index, namespace)| {
        let events = source.events::<Decoded<R::Resource>>(&(), namespace.as_deref());
        events.map(move |event| (index, event)).boxed()
    });
    let metrics = source.metrics.clone();
    let cached = metrics.kind.to_string();
    let changed = stream::select_all(watches).then(move |(index, event)| {
        let was_complete = cache.is_complete();
        let version = match &event {
            Event::Apply(object) | Event::InitApply(object) => object.resource_version(),
            _ => None,
        };
        let change = cache.take(index, event);
        if cache.is_complete() && !was_complete {
            health.filled(&cached);
        }
        metrics.objects.set(turns.store.len() as i64);
        metrics.undecodable.set(cache.undecodable() as i64);
        let turns = turns.clone();
        async move {
            match change {
                Change::Nothing => vec![],
                Change::Reconcile(keys) => {
                    for key in &keys {
                        turns.reports.forget(key);
                        turns.woken(key, version.clone());
                    }
                    keys
                }
                Change::Gone(keys) => {
                    for key in &keys {
                        turns.reports.forget(key);
                        turns.forget(key);
                    }
                    vec![]
                }
                Change::Undecodable(key, object) => {
                    turns.forget(&key);
                    turns.reports.put(key, object);
                    vec![]
                }
            }
        }
    });
    changed.flat_map(stream::iter)
}

/// A change of a CRD may make all objects undecodable at once, and each report is a request or two.
const REPORTERS: usize = 4;

/// Reports what does not decode; never ends.
pub(crate) async fn report_all<R: Reconciler>(turns: Arc<Turns<R>>) {
    let reporters = (0..REPORTERS).map(|_| async {
        loop {
            let (key, object) = turns.reports.next().await;
            report(&turns, &key, object).await;
        }
    });
    join_all(reporters).await;
}

/// Says on the object, in the log and in an event, what does not decode.
async fn report<R: Reconciler>(
    turns: &Turns<R>,
    key: &ObjectRef<R::Resource>,
    object: Box<Undecodable>,
) {
    let Controlling { kind, .. } = &*turns.controlling;
    let Undecodable {
        metadata,
        path,
        error,
    } = &*object;
    let name = place(key);
    warn!(%kind, object = name, path, "cannot be decoded: {error}");
    let regarding = Decoded::<R::Resource>::Bad(object.clone()).object_ref(&());
    let note = format!("{path}: {error}");
    turns
        .controlling
        .event(&regarding, EventType::Warning, "Undecodable", note)
        .await;

    let held = metadata
        .finalizers
        .iter()
        .flatten()
        .find(|name| turns.is_own_finalizer(name));
    if let (Some(finalizer), Some(_)) = (held, &metadata.deletion_timestamp) {
        let flag = metadata
            .namespace
            .as_ref()
            .map(|namespace| format!(" -n {namespace}"));
        let note = format!(
            "is being deleted, but its cleanup cannot run before {path} is mended. To let it go without cleanup: \
             kubectl patch {}.{} {}{} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}' (this drops {finalizer} and all others)",
            R::Resource::plural(&()),
            R::Resource::group(&()),
            key.name,
            flag.unwrap_or_default(),
        );
        warn!(%kind, object = name, "{note}");
        turns
            .controlling
            .event(&regarding, EventType::Warning, "CleanupBlocked", note)
            .await;
    }
}

/// Owned objects of a kind, as the objects that control them.
pub(crate) fn children<K>(
    source: &Source,
    kind: &Kind,
    namespace: Option<String>,
    controlling: Arc<Controlling>,
    cache: Store<K>,
) -> impl Stream<Item = ObjectRef<K>> + Send + use<K>
where
    K: Resource<DynamicType = (), Scope: 'static> + Clone + Send + Sync + 'static,
{
    let resource = kind.resource.clone();
    let events = source.events::<Related>(&kind.resource, namespace.as_deref());
    let owners = cache.clone();
    let events = events.inspect(move |event| {
        if let Event::Delete(child) = event {
            controlling.forget_child(&resource, &child.metadata);
            let owner = controller_of::<K>(&child.metadata);
            if let Some(owner) = owner.filter(|owner| owners.get(owner).is_some()) {
                controlling.bereft().insert((owner.namespace, owner.name));
            }
        }
    });
    woken(events, cache, |child| {
        controller_of(&child.metadata).into_iter().collect()
    })
}

/// Objects that nobody here owns, as those that `parents` names.
pub(crate) fn others<K, P>(
    source: &Source,
    kind: &Kind,
    namespace: Option<String>,
    parents: P,
    cache: Store<K>,
) -> impl Stream<Item = ObjectRef<K>> + Send + use<K, P>
where
    P: Fn(Changed) -> Vec<ObjectRef<K>> + Send + 'static,
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let resource = kind.resource.clone();
    let events = source.events::<Related>(&kind.resource, namespace.as_deref());
    woken(events, cache, move |Related { metadata }| {
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        parents(Changed {
            group,
            kind,
            metadata,
        })
    })
}

/// The objects that events wake. Nothing is kept of what is watched, so a list does not tell what went
/// before it: it wakes all. That holds for the first as well, since objects may have had their turns by then.
fn woken<K>(
    events: impl Stream<Item = Event<Related>> + Send,
    cache: Store<K>,
    wakes: impl Fn(Related) -> Vec<ObjectRef<K>> + Send,
) -> impl Stream<Item = ObjectRef<K>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    events.flat_map(move |event| {
        let woken = match event {
            Event::Apply(related) | Event::Delete(related) | Event::InitApply(related) => {
                wakes(related)
            }
            Event::Init => vec![],
            Event::InitDone => {
                let all = cache.state();
                let keys = all.iter().map(|object| ObjectRef::from_obj(&**object));
                keys.collect()
            }
        };
        stream::iter(woken)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{core::ObjectMeta, runtime::reflector::store};

    #[tokio::test]
    async fn every_list_wakes_all_since_it_does_not_tell_what_went_before() {
        let (cache, mut writer) = store::<ConfigMap>();
        let mut parent = ConfigMap::default();
        parent.metadata.name = Some("parent".into());
        for event in [Event::Init, Event::InitApply(parent), Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        let child = || Related {
            metadata: ObjectMeta::default(),
        };
        let other = |_| vec![ObjectRef::<ConfigMap>::new("other")];
        let first = [Event::Init, Event::InitApply(child()), Event::InitDone];
        let again = [Event::Delete(child()), Event::Init, Event::InitDone];
        let events = stream::iter(first.into_iter().chain(again));
        let woken: Vec<_> = woken(events, cache, other)
            .map(|key| key.name)
            .collect()
            .await;
        assert_eq!(woken, ["other", "parent", "other", "parent"]);
    }
}
