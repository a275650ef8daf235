//! The watches of an operator, and the objects that a controller reconciles because of their events.
//!
//! An error of one watch is logged, counted and retried with a backoff; the others continue. An expired version is not an error: the
//! objects are listed again.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use futures::{Stream, StreamExt, future::join_all, stream};
use kube::{
    Api, Client, Resource,
    core::DynamicResourceScope,
    runtime::{
        WatchStreamExt,
        events::EventType,
        reflector::{ObjectRef, Store},
        watcher::{self, Event},
    },
};
use prometheus_client::metrics::counter::Counter;
use tokio::time::Instant;
use tracing::{debug, warn};

use crate::{
    context::{Context, display_key},
    controller_options::Selection,
    engine::{
        cache::Change,
        decode::{Decoded, Undecodable},
        kind::Kind,
        listener::Listener,
        reconciliation::Reconciliations,
        related::{Changed, Related, controller_of},
    },
    error::{WatchMessage, panic_message},
    settings::Settings,
    style::{CacheChange, Cached, Reconciler},
};

/// The page size of lists, which limits the memory.
const PAGE: u32 = 100;

/// What all watches of an operator share.
pub(crate) struct Source {
    pub client: Client,
    pub settings: Arc<Settings>,
}

impl Source {
    /// The events of the selected objects of a kind, in one or all namespaces; never ends. `errors` counts failed lists and watches.
    pub fn events<T>(
        &self,
        resource: &T::DynamicType,
        namespace: Option<&str>,
        selection: &Selection,
        errors: Vec<Counter>,
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
        let config = watcher::Config {
            label_selector: selection.labels.clone(),
            field_selector: selection.fields.clone(),
            ..watcher::Config::default()
        };
        let config = config
            .page_size(PAGE)
            .timeout(u32::try_from(seconds).unwrap_or(u32::MAX));
        let kind = T::kind(resource).into_owned();
        let mut expiries = Expiries::default();
        watcher::watcher(api, config)
            .default_backoff()
            .filter_map(move |event| {
                let event = event.inspect_err(|error| {
                    let message = WatchMessage(error);
                    if has_expired(error) && !expiries.is_frequent(Instant::now()) {
                        debug!(kind, "{message}; listing again");
                        return;
                    }
                    for counter in &errors {
                        counter.inc();
                    }
                    warn!(kind, "{message}");
                });
                std::future::ready(event.ok())
            })
    }
}

/// Whether the API server no longer has the changes after the last version that was seen, for example after a change of a CRD
/// (<https://kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses>).
fn has_expired(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchError(status) => status.code == 410,
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code == 410,
        _ => false,
    }
}

/// The recent expiries of a watch.
#[derive(Default)]
struct Expiries {
    count: u32,
    since: Option<Instant>,
}

impl Expiries {
    /// So many in this time are normal, for example while a CRD is edited or an API server restarts.
    const ORDINARY: u32 = 3;
    const WINDOW: Duration = Duration::from_secs(60);

    /// Counts an expiry, and returns whether there were more than usual.
    fn is_frequent(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now - since >= Self::WINDOW) {
            (self.count, self.since) = (0, Some(now));
        }
        self.count += 1;
        self.count > Self::ORDINARY
    }
}

impl<R: Reconciler> Listener<R::Resource> for Reconciliations<R> {
    fn handle(
        &self,
        change: &Change<R::Resource>,
        version: Option<&str>,
        is_first: bool,
    ) -> Vec<ObjectRef<R::Resource>> {
        let version = version.map(str::to_owned);
        match change {
            Change::Nothing => vec![],
            Change::Reconcile(keys) => {
                self.report_cached(if self.is_first_list.swap(false, Relaxed) {
                    CacheChange::Listed(keys)
                } else {
                    CacheChange::Changed(keys)
                });
                for key in keys {
                    self.objects.withdraw_report(key);
                    self.trigger(key, version.clone());
                }
                keys.clone()
            }
            Change::Replaced(key, before) => {
                self.gone(key, Some(before));
                self.report_cached(CacheChange::Changed(std::slice::from_ref(key)));
                self.trigger(key, version);
                vec![key.clone()]
            }
            Change::Gone(gone) => {
                for (key, last) in gone {
                    self.gone(key, last.as_ref());
                }
                vec![]
            }
            Change::Undecodable(key, object) => {
                self.report_cached(CacheChange::Removed(key, None));
                self.forget(key);
                if is_first || self.blocked_finalizer(object).is_some() {
                    self.objects.report(key, object.clone());
                }
                vec![]
            }
        }
    }

    fn count(&self, cached: usize, undecodable: usize) {
        self.metrics.objects.set(cached as i64);
        self.metrics.undecodable.set(undecodable as i64);
    }

    fn filled(&self) {
        self.is_first_list.store(true, Relaxed);
        self.health
            .filled(&self.controller_context.identity.to_string());
    }
}

impl<R: Reconciler> Reconciliations<R> {
    /// Calls [`Reconciler::cached`]. What panics there must not end the watch.
    fn report_cached(&self, what: CacheChange<'_, R::Resource>) {
        let context =
            |object: &R::Resource| Context::new(self.controller_context.clone(), object, false);
        let change = Cached {
            what,
            store: &self.store,
            context: &context,
        };
        let called = catch_unwind(AssertUnwindSafe(|| self.reconciler.cached(change)));
        if let Err(panic) = called {
            self.metrics.reconciles.panics.inc();
            warn!(
                "a function of the cache panicked: {}",
                panic_message(&*panic)
            );
        }
    }

    fn gone(&self, key: &ObjectRef<R::Resource>, last: Option<&Arc<R::Resource>>) {
        self.report_cached(CacheChange::Removed(key, last));
        self.objects.withdraw_report(key);
        self.forget(key);
        if let Some(last) = last {
            self.locks.push(key, last.clone());
        }
    }

    /// The finalizer of this controller that holds an undecodable object that is being deleted.
    fn blocked_finalizer<'a>(&self, object: &'a Undecodable) -> Option<&'a String> {
        object.metadata.deletion_timestamp.as_ref()?;
        let mut finalizers = object.metadata.finalizers.iter().flatten();
        finalizers.find(|name| self.is_own_finalizer(name))
    }
}

/// Converts the objects of an event.
pub(crate) fn map<T, U>(event: Event<T>, into: impl FnOnce(T) -> U) -> Event<U> {
    match event {
        Event::Apply(object) => Event::Apply(into(object)),
        Event::Delete(object) => Event::Delete(into(object)),
        Event::Init => Event::Init,
        Event::InitApply(object) => Event::InitApply(into(object)),
        Event::InitDone => Event::InitDone,
    }
}

/// Limits the concurrency: a change of a CRD may make all objects undecodable at once, and each report makes one or two requests.
const REPORTERS: usize = 4;

/// Reports undecodable objects; never ends.
pub(crate) async fn report_all<R: Reconciler>(shared: Arc<Reconciliations<R>>) {
    let reporters = (0..REPORTERS).map(|_| async {
        loop {
            let (key, object) = shared.objects.next_report().await;
            report(&shared, &key, object).await;
        }
    });
    join_all(reporters).await;
}

/// Reports an undecodable object in the log and in an event.
async fn report<R: Reconciler>(
    shared: &Reconciliations<R>,
    key: &ObjectRef<R::Resource>,
    object: Box<Undecodable>,
) {
    let kind = &shared.controller_context.identity.kind;
    let Undecodable {
        metadata,
        path,
        error,
    } = &*object;
    let name = display_key(key);
    warn!(%kind, object = name, path, "cannot be decoded: {error}");
    let regarding = Decoded::<R::Resource>::Bad(object.clone()).object_ref(&());
    let note = format!("{path}: {error}");
    shared
        .controller_context
        .event(&regarding, EventType::Warning, "Undecodable", note)
        .await;

    if let Some(finalizer) = shared.blocked_finalizer(&object) {
        let flag = metadata
            .namespace
            .as_ref()
            .map(|namespace| format!(" -n {namespace}"));
        let note = format!(
            "is being deleted, but its cleanup cannot run before {path} is fixed. To let it go without cleanup: \
             kubectl patch {}.{} {}{} --type=merge -p '{{\"metadata\":{{\"finalizers\":null}}}}' (this drops {finalizer} and all others)",
            R::Resource::plural(&()),
            R::Resource::group(&()),
            key.name,
            flag.unwrap_or_default(),
        );
        warn!(%kind, object = name, "{note}");
        shared
            .controller_context
            .event(&regarding, EventType::Warning, "CleanupBlocked", note)
            .await;
    }
}

/// The stream of objects to reconcile because a child changed; `index` is that of the owned kind.
pub(crate) fn children<R: Reconciler>(
    index: usize,
    namespace: Option<String>,
    events: impl Stream<Item = Event<Arc<Related>>> + Send,
    shared: Arc<Reconciliations<R>>,
) -> impl Stream<Item = ObjectRef<R::Resource>> + Send {
    let cache = shared.store.clone();
    let events = events.inspect(move |event| {
        let children = &shared.controller_context.owns[index].children;
        children.handle(namespace.as_deref(), event);
        match event {
            Event::InitDone => shared.controller_context.begin_when_listed(),
            Event::Delete(child) => {
                if let Some(owner) = controller_of(&child.metadata) {
                    shared.record_lost_child(&owner);
                }
            }
            _ => {}
        }
    });
    triggered(events, cache, |child| {
        controller_of(&child.metadata).into_iter().collect()
    })
}

/// The stream of objects to reconcile because a watched object changed, according to `parents`.
pub(crate) fn others<K, P>(
    kind: Kind,
    events: impl Stream<Item = Event<Arc<Related>>> + Send,
    parents: P,
    cache: Store<K>,
) -> impl Stream<Item = ObjectRef<K>> + Send
where
    P: Fn(Changed) -> Vec<ObjectRef<K>> + Send + 'static,
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    let resource = kind.resource;
    triggered(events, cache, move |related| {
        let metadata = related.metadata.clone();
        let (group, kind) = (resource.group.clone(), resource.kind.clone());
        parents(Changed {
            group,
            kind,
            metadata,
        })
    })
}

/// The objects that events trigger. Watched objects are not all cached, so a list does not show which of them were deleted: its end triggers
/// all objects, and its items none. The first list does so too, because objects may have been reconciled before it.
fn triggered<K>(
    events: impl Stream<Item = Event<Arc<Related>>> + Send,
    cache: Store<K>,
    triggers: impl Fn(&Related) -> Vec<ObjectRef<K>> + Send,
) -> impl Stream<Item = ObjectRef<K>> + Send
where
    K: Resource<DynamicType = ()> + Clone + Send + Sync + 'static,
{
    events.flat_map(move |event| {
        let keys = match event {
            Event::Apply(related) | Event::Delete(related) => triggers(&related),
            Event::Init | Event::InitApply(_) => vec![],
            Event::InitDone => {
                let all = cache.state();
                all.iter()
                    .map(|object| ObjectRef::from_obj(&**object))
                    .collect()
            }
        };
        stream::iter(keys)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{core::ObjectMeta, runtime::reflector::store};

    #[test]
    fn a_watch_that_expires_repeatedly_is_reported() {
        let (mut expiries, start) = (Expiries::default(), Instant::now());
        let at = [0, 10, 20, 30, 59, 60, 70, 200, 201];
        let frequent = at.map(|at| expiries.is_frequent(start + Duration::from_secs(at)));
        let expected = [false, false, false, true, true, false, false, false, false];
        assert_eq!(frequent, expected);
    }

    #[tokio::test]
    async fn every_list_triggers_all_owners_because_it_does_not_show_deletions() {
        let (cache, mut writer) = store::<ConfigMap>();
        let mut parent = ConfigMap::default();
        parent.metadata.name = Some("parent".into());
        for event in [Event::Init, Event::InitApply(parent), Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        let child = || {
            Arc::new(Related {
                metadata: ObjectMeta::default(),
                body: None,
            })
        };
        let other = |_: &Related| vec![ObjectRef::<ConfigMap>::new("other")];
        let first = [Event::Init, Event::InitApply(child()), Event::InitDone];
        let again = [Event::Delete(child()), Event::Init, Event::InitDone];
        let events = stream::iter(first.into_iter().chain(again));
        let keys: Vec<_> = triggered(events, cache, other)
            .map(|key| key.name)
            .collect()
            .await;
        assert_eq!(keys, ["parent", "other", "parent"]);
    }
}
