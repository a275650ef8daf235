//! A status is written to the version of the object that was reconciled, and to no other.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};
use std::time::Duration;

use crate::support::{
    Calls, OPERATOR, Running, Widget, WidgetSpec, create, patch, server, until_quiet, widgets,
    writes,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition as MetaV1;
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    client::Body,
    core::PartialObjectMeta,
};
use operator_runtime::{
    Action, Condition, Context, Controllers, Reconciler, Result, Settings, Setup, Watches,
};
use operator_testing::Server;
use serde_json::json;
use tokio::time::sleep;

/// Writes the size to the status; in two steps if the `way` is `steps`.
struct Sizes;

impl Reconciler for Sizes {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        if widget.spec.way.as_deref() == Some("steps") {
            cx.update_status(&*widget, &json!({ "observedGeneration": -1 }))
                .await?;
        }
        let size = widget.spec.size;
        cx.update_status(&*widget, &json!({ "observedGeneration": size }))
            .await?;
        Ok(Action::await_change())
    }
}

fn sizes() -> Controllers {
    Controllers::new().add(async |_: Setup| Ok(Sizes), |watches| watches)
}

/// A client that calls `meddle` before its first status write, and the response codes of its status writes.
fn meddling<F>(
    server: &Server,
    meddle: impl Fn() -> F + Clone + Send + 'static,
) -> (Client, Arc<Mutex<Vec<u16>>>)
where
    F: Future<Output = ()> + Send,
{
    let codes = Arc::new(Mutex::new(vec![]));
    let (pass, answered) = (server.client(), codes.clone());
    let meddled = Arc::new(AtomicBool::new(false));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (pass, meddle) = (pass.clone(), meddle.clone());
        let (meddled, answered) = (meddled.clone(), answered.clone());
        async move {
            let is_status = request.uri().path().ends_with("/status");
            if is_status && !meddled.swap(true, Ordering::SeqCst) {
                meddle().await;
            }
            let response = pass.send(request).await?;
            if is_status {
                answered.lock().unwrap().push(response.status().as_u16());
            }
            Ok::<_, kube::Error>(response)
        }
    });
    (
        Client::new(service, server.client().default_namespace()),
        codes,
    )
}

async fn until_size(server: &Server, size: i64) {
    let api: Api<Widget> = Api::default_namespaced(server.client());
    server
        .eventually("the status shows the size", async || {
            let status = api.get_opt("a").await.unwrap()?.status?;
            (status.observed_generation == Some(size)).then_some(())
        })
        .await;
}

#[tokio::test]
async fn a_recreated_object_never_gets_the_status_of_the_old_one() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let (client, codes) = meddling(&server, move || {
        let api = api.clone();
        async move {
            api.delete("a", &DeleteParams::default()).await.unwrap();
            let spec = WidgetSpec { way: None, size: 2 };
            api.create(&PostParams::default(), &Widget::new("a", spec))
                .await
                .unwrap();
        }
    });
    let running = Running::start(client, Settings::for_tests(), sizes()).await;
    create(&server, "a", "ok").await;
    until_size(&server, 2).await;
    until_quiet(&server).await;
    assert_eq!(*codes.lock().unwrap(), [409, 200]);
    let errors = r#"controller_runtime_reconcile_total{controller="widget",result="error"}"#;
    assert_eq!(running.metric(errors).await, Some(0.0), "that is no error");
}

#[tokio::test]
async fn a_condition_written_concurrently_by_another_is_kept() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let others = json!({
        "apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": { "name": "a" },
        "status": { "conditions": [{
            "type": "Backup", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] },
    });
    let (client, codes) = meddling(&server, move || {
        let (api, others) = (api.clone(), others.clone());
        async move {
            let parameters = PatchParams::apply("another");
            api.patch_status("a", &parameters, &Patch::Apply(&others))
                .await
                .unwrap();
        }
    });
    let calls = Arc::new(Calls::default());
    let _running = Running::start(client, Settings::for_tests(), widgets::<false>(&calls)).await;
    create(&server, "a", "ok").await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let types = server
        .eventually("both conditions are there", async || {
            let conditions = api.get("a").await.unwrap().status?.conditions?;
            let mut types: Vec<_> = conditions.into_iter().map(|c| c.type_).collect();
            types.sort();
            (types.len() == 2).then_some(types)
        })
        .await;
    assert_eq!(types, ["Backup", "Ready"]);
    assert_eq!(*codes.lock().unwrap(), [409, 200]);
}

#[tokio::test]
async fn a_status_can_be_written_in_several_steps() {
    let server = server().await;
    let (client, codes) = meddling(&server, async || ());
    let _running = Running::start(client, Settings::for_tests(), sizes()).await;
    create(&server, "a", "steps").await;
    until_size(&server, 1).await;
    assert!(codes.lock().unwrap().iter().all(|code| *code == 200));
}

/// The managers that own the field at this path of the status, sorted.
fn owners_of(widget: &Widget, pointer: &str) -> Vec<String> {
    let entries = widget.metadata.managed_fields.iter().flatten();
    let mut owners: Vec<_> = entries
        .filter(|entry| {
            let fields = entry.fields_v1.as_ref().unwrap();
            fields.0.pointer(&format!("/f:status{pointer}")).is_some()
        })
        .map(|entry| entry.manager.clone().unwrap())
        .collect();
    owners.sort();
    owners
}

const BACKUP: &str = "/f:conditions/k:{\"type\":\"Backup\"}";

fn backup(message: &str) -> serde_json::Value {
    json!({
        "apiVersion": "test.example.com/v1", "kind": "Widget", "metadata": { "name": "a" },
        "status": { "conditions": [{
            "type": "Backup", "status": "True", "reason": "Done", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
        }] },
    })
}

async fn apply_backup(api: &Api<Widget>, object: &serde_json::Value) {
    let parameters = PatchParams::apply("another");
    let patch = Patch::Apply(object);
    api.patch_status("a", &parameters, &patch).await.unwrap();
}

/// Passes the conditions that it read, or only its own one if the way is `alone`, and counts its calls.
struct Ready {
    calls: Arc<AtomicUsize>,
    delay: Duration,
}

impl Reconciler for Ready {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        sleep(self.delay).await;
        let read = widget.status.clone().unwrap_or_default();
        let is_alone = widget.spec.way.as_deref() == Some("alone");
        let mut conditions = read.conditions.unwrap_or_default();
        if is_alone {
            conditions.retain(|condition| condition.type_ == "Ready");
        }
        Condition::new("Ready", true, "Sized", widget.spec.size.to_string())
            .set_in(&mut conditions, widget.metadata.generation)?;
        cx.update_status(&*widget, &json!({ "conditions": conditions }))
            .await?;
        Ok(Action::await_change())
    }
}

fn ready_after(delay: Duration) -> (Controllers, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let setup = async move |_: Setup| {
        Ok(Ready {
            calls: counted.clone(),
            delay,
        })
    };
    (Controllers::new().add(setup, |watches| watches), calls)
}

#[tokio::test]
async fn a_condition_of_another_is_not_taken_and_goes_when_the_other_withdraws_it() {
    let server = server().await;
    for way in ["ok", "alone"] {
        let api: Api<Widget> = Api::default_namespaced(server.client());
        create(&server, "a", way).await;
        apply_backup(&api, &backup("")).await;
        let (controllers, calls) = ready_after(Duration::ZERO);
        let running = Running::start(server.client(), Settings::for_tests(), controllers).await;
        server
            .eventually("it is ready", async || {
                let conditions = api.get("a").await.unwrap().status?.conditions?;
                (conditions.len() == 2).then_some(())
            })
            .await;
        let spec = json!({ "spec": { "size": 2 } });
        patch(&server, "a", spec).await;
        until_quiet(&server).await;
        let widget = api.get("a").await.unwrap();
        let ready = "/f:conditions/k:{\"type\":\"Ready\"}";
        assert_eq!(owners_of(&widget, ready), [OPERATOR]);
        assert_eq!(owners_of(&widget, BACKUP), ["another"], "{way}");

        let before = (calls.load(Ordering::SeqCst), server.requests().len());
        let note = json!({ "metadata": { "annotations": { "note": "1" } } });
        patch(&server, "a", note).await;
        until_quiet(&server).await;
        assert!(calls.load(Ordering::SeqCst) > before.0);
        let since = &server.requests()[before.1..];
        let own = writes(since).into_iter().filter(|it| it.contains("status"));
        assert_eq!(own.count(), 0, "{way}: there was nothing to write");

        let mut without = backup("");
        without["status"] = json!({});
        apply_backup(&api, &without).await;
        until_quiet(&server).await;
        let conditions = api.get("a").await.unwrap().status.unwrap().conditions;
        let types: Vec<_> = conditions.unwrap().into_iter().map(|it| it.type_).collect();
        assert_eq!(types, ["Ready"], "{way}");
        running.stop().await.unwrap();
        api.delete("a", &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn what_an_earlier_release_took_is_given_back_with_the_next_write() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    create(&server, "a", "ok").await;
    apply_backup(&api, &backup("")).await;
    let parameters = PatchParams::apply(OPERATOR).force();
    let taken = Patch::Apply(backup(""));
    api.patch_status("a", &parameters, &taken).await.unwrap();
    let widget = api.get("a").await.unwrap();
    assert_eq!(owners_of(&widget, BACKUP), ["another", OPERATOR]);

    let (controllers, _) = ready_after(Duration::ZERO);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    server
        .eventually("Backup has one owner", async || {
            let widget = api.get("a").await.unwrap();
            (owners_of(&widget, BACKUP) == ["another"]).then_some(())
        })
        .await;
    let conditions = api.get("a").await.unwrap().status.unwrap().conditions;
    assert_eq!(conditions.unwrap().len(), 2);
}

#[tokio::test]
async fn a_busy_writer_of_its_own_condition_does_not_keep_ours_out() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    let created = create(&server, "a", "ok").await;
    let busy = {
        let api = api.clone();
        tokio::spawn(async move {
            for number in 0.. {
                apply_backup(&api, &backup(&number.to_string())).await;
                sleep(Duration::from_millis(50)).await;
            }
        })
    };
    let (controllers, calls) = ready_after(Duration::from_millis(500));
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    server
        .eventually("it is ready", async || {
            let conditions = api.get("a").await.unwrap().status?.conditions?;
            let ready = conditions.into_iter().find(|it| it.type_ == "Ready")?;
            assert_eq!(ready.observed_generation, created.metadata.generation);
            Some(())
        })
        .await;
    busy.abort();
    let calls = calls.load(Ordering::SeqCst);
    assert!(calls <= 2, "it was reconciled {calls} times");
}

/// Adds its condition to an object of which only metadata are cached.
struct Metadata;

impl Reconciler for Metadata {
    type Resource = PartialObjectMeta<Widget>;

    async fn reconcile(&self, widget: Arc<Self::Resource>, cx: &Context) -> Result<Action> {
        let mut conditions: Vec<MetaV1> = vec![];
        Condition::new("Ready", true, "Seen", "")
            .set_in(&mut conditions, widget.metadata.generation)?;
        cx.update_status(&*widget, &json!({ "conditions": conditions }))
            .await?;
        Ok(Action::await_change())
    }
}

#[tokio::test]
async fn beside_another_writer_an_object_of_which_only_metadata_are_cached_keeps_both_conditions() {
    let server = server().await;
    let api: Api<Widget> = Api::default_namespaced(server.client());
    create(&server, "a", "ok").await;
    apply_backup(&api, &backup("1")).await;
    let controllers = Controllers::new().add(async |_: Setup| Ok(Metadata), |watches| watches);
    let _running = Running::start(server.client(), Settings::for_tests(), controllers).await;
    for message in ["2", "3"] {
        until_quiet(&server).await;
        let widget = api.get("a").await.unwrap();
        let conditions = widget.status.clone().unwrap().conditions.unwrap();
        assert_eq!(conditions.len(), 2, "{conditions:?}");
        let ready = "/f:conditions/k:{\"type\":\"Ready\"}";
        assert_eq!(owners_of(&widget, ready), [OPERATOR]);
        assert_eq!(owners_of(&widget, BACKUP), ["another"]);
        apply_backup(&api, &backup(message)).await;
    }
}

/// A client that has no permission for the status subresource, so that the API server does not report that it is missing; and how many of
/// its requests were refused.
fn without_permission(server: &Server) -> (Client, Arc<AtomicUsize>) {
    let pass = server.client();
    let refusals = Arc::new(AtomicUsize::new(0));
    let counter = refusals.clone();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (pass, counter) = (pass.clone(), counter.clone());
        async move {
            if !request.uri().path().ends_with("/status") {
                return pass.send(request).await;
            }
            counter.fetch_add(1, Ordering::SeqCst);
            let refused = json!({ "kind": "Status", "apiVersion": "v1", "code": 403, "message": "forbidden" });
            let response = http::Response::builder().status(403);
            let body = Body::from(refused.to_string().into_bytes());
            Ok::<_, kube::Error>(response.body(body).unwrap())
        }
    });
    let client = Client::new(service, server.client().default_namespace());
    (client, refusals)
}

#[tokio::test]
async fn without_the_subresource_the_status_is_written_to_the_object() {
    let crds = include_str!("../support/crds.yaml");
    let crds = crds.replacen("      subresources: { status: {} }\n", "", 1);
    for (has_permission, is_declared) in [(true, false), (false, false), (false, true)] {
        let server = Server::start().await.unwrap();
        server.install(&crds).await.unwrap();
        let (without_permission, refusals) = without_permission(&server);
        let client = if has_permission {
            server.client()
        } else {
            without_permission
        };
        let controllers = if is_declared {
            Controllers::new().add(async |_: Setup| Ok(Sizes), Watches::status_in_object)
        } else {
            sizes()
        };
        let _running = Running::start(client, Settings::for_tests(), controllers).await;
        create(&server, "a", "ok").await;
        until_size(&server, 1).await;
        // a field of another manager is not taken over
        let condition = json!({ "type": "Backup", "status": "True", "reason": "Done", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let conditions = json!({ "status": { "conditions": [condition] } });
        patch(&server, "a", conditions).await;
        patch(&server, "a", json!({ "spec": { "size": 2 } })).await;
        until_size(&server, 2).await;
        until_quiet(&server).await;
        let api: Api<Widget> = Api::default_namespaced(server.client());
        let widget = api.get("a").await.unwrap();
        let owner_of = |field: &str| {
            let mut entries = widget.metadata.managed_fields.iter().flatten();
            let has_field = |fields: &serde_json::Value| fields["f:status"].get(field).is_some();
            let entry = entries.find(|it| it.fields_v1.as_ref().is_some_and(|it| has_field(&it.0)));
            entry.and_then(|it| it.manager.clone()).unwrap_or_default()
        };
        assert_eq!(
            owner_of("f:observedGeneration"),
            format!("{OPERATOR}-status")
        );
        assert_ne!(owner_of("f:conditions"), format!("{OPERATOR}-status"));
        assert_eq!(widget.spec.size, 2);
        assert_eq!(widget.status.unwrap().conditions.unwrap().len(), 1);
        let has_refusals = refusals.load(Ordering::SeqCst) > 0;
        assert_eq!(has_refusals, !has_permission && !is_declared);
        if has_permission {
            // a newer CRD has the subresource
            let crds = include_str!("../support/crds.yaml");
            server.install(crds).await.unwrap();
            patch(&server, "a", json!({ "spec": { "size": 3 } })).await;
            until_size(&server, 3).await;
        }
    }
}
