//! What `Server::eventually` reports after its timeout.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams};
use operator_testing::Server;
use serde_json::json;

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "not within 10 s: pigs fly\n  refused: 404 get configmaps default/absent by operator-testing, 2 times\n"
)]
async fn a_wait_in_vain_reports_refused_requests() {
    let server = Server::in_memory();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    maps.get("absent").await.unwrap_err();
    maps.get("absent").await.unwrap_err();
    server.eventually("pigs fly", || async { None::<()> }).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "not within 10 s: pigs fly\n  condition: pods default/pig: Ready is False: NoWings: it has none\n"
)]
async fn a_wait_in_vain_reports_the_conditions_of_objects_whose_status_was_written() {
    let server = Server::in_memory();
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: pig}, spec: {containers: [{name: a, image: b}]}}";
    server.install(pod).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(server.client());
    let condition =
        json!({"type": "Ready", "status": "False", "reason": "NoWings", "message": "it has none"});
    let status = Patch::Merge(json!({"status": {"conditions": [condition]}}));
    pods.patch_status("pig", &PatchParams::default(), &status)
        .await
        .unwrap();
    server.eventually("pigs fly", || async { None::<()> }).await;
}

#[tokio::test(start_paused = true)]
#[should_panic(
    expected = "  Widget default/b was never reconciled successfully: 2 reconciliations failed, the last with: no luck\n  Widget default/a was reconciled successfully once\n"
)]
async fn a_wait_in_vain_reports_the_last_error_of_each_object() {
    let server = Server::in_memory();
    let outcomes = server.outcomes();
    let report = |name: &str, result: Result<(), &str>| {
        outcomes.report("example.com", "Widget", Some("default"), name, result);
    };
    report("a", Ok(()));
    report("b", Err("bad luck"));
    report("b", Err("no luck"));
    server.eventually("nothing", async || None::<()>).await;
}

#[tokio::test(start_paused = true)]
async fn what_stays_is_probed_for_the_whole_time() {
    let server = Server::in_memory();
    let begun = tokio::time::Instant::now();
    let minute = Duration::from_secs(60);
    server
        .consistently("it is", minute, async || Some(()))
        .await;
    assert_eq!(begun.elapsed(), minute);
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "no longer after 3 s: it is\n  none of 0 requests was refused")]
async fn what_does_not_stay_is_reported_with_the_time() {
    let server = Server::in_memory();
    let begun = tokio::time::Instant::now();
    let probe = async || (begun.elapsed() < Duration::from_secs(3)).then_some(());
    server
        .consistently("it is", Duration::from_secs(60), probe)
        .await;
}
