use super::*;
use crate::{
    engine::{controller::Wiring, kind::GroupKind, status_owners::StatusOwners},
    settings::Settings,
};
use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Client,
    client::Body,
    runtime::{reflector::store, watcher::Event},
};
use std::{
    num::NonZeroU16,
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
};

#[derive(Default)]
struct Counting(AtomicUsize);

impl Reconciler for Counting {
    type Resource = ConfigMap;

    async fn reconcile(&self, _: Arc<ConfigMap>, _: &Context) -> Result<Action> {
        self.0.fetch_add(1, SeqCst);
        Ok(Action::await_change())
    }
}

fn object(uid: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some("a".into());
    object.metadata.uid = Some(uid.into());
    object.metadata.resource_version = Some("1".into());
    object
}

/// The reconciliations of objects in a cache, without a server.
fn reconciliations(store: Store<ConfigMap>) -> Arc<Reconciliations<Counting>> {
    let service = tower::service_fn(async |_: http::Request<Body>| {
        std::future::pending::<Result<http::Response<Body>, std::io::Error>>().await
    });
    let wiring = Wiring::for_tests(Client::new(service, "default"), Settings::for_tests());
    let identity = Identity {
        operator: "test".into(),
        kind: GroupKind::of::<ConfigMap>(),
        name: "configmap".into(),
        is_named: false,
        shares_kind: false,
    };
    let metrics = wiring.metrics.of_controller(&identity);
    let derived_finalizer = identity.finalizer();
    let controller_context = ControllerContext::new::<ConfigMap>(
        wiring.client,
        identity,
        vec![],
        vec![],
        StatusOwners::of::<ConfigMap>(),
        &metrics,
        wiring.tasks,
    );
    controller_context.begin_when_listed();
    Arc::new(Reconciliations {
        reconciler: Arc::default(),
        controller_context,
        metrics,
        objects: Objects::new(wiring.settings.backoff()),
        store,
        reports_errors: false,
        observers: wiring.observers,
        health: wiring.health,
        derived_finalizer,
        locks: ObjectLocks::new(NonZeroU16::MIN),
        reduction: None,
        resync: None,
        retry_limit: None,
        is_first_list: AtomicBool::new(false),
    })
}

#[tokio::test]
async fn an_object_that_leaves_the_cache_before_its_turn_is_not_reconciled() {
    let (cache, mut writer) = store::<ConfigMap>();
    for event in [Event::Init, Event::InitApply(object("1")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    let shared = reconciliations(cache);
    let stale = shared.store.get(&ObjectRef::new("a")).unwrap();
    let count = || {
        let done = reconcile(stale.clone(), shared.clone()).now_or_never();
        done.unwrap().unwrap();
        shared.reconciler.0.load(SeqCst)
    };
    assert_eq!(count(), 1);
    writer.apply_watcher_event(&Event::Delete(object("1")));
    assert_eq!(count(), 1);
}
