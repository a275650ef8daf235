//! Resource versions that the server in memory has compacted, as a real one does after five minutes: watches and pages end with `410 Gone`.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Secret;
use kube::Error;
use kube::api::{Api, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use operator_testing::Server;

async fn secrets(server: &Server, names: &[&str]) -> Api<Secret> {
    for name in names {
        let secret = format!("{{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}}}");
        server.install(&secret).await.unwrap();
    }
    Api::default_namespaced(server.client())
}

#[tokio::test]
async fn a_watch_from_a_compacted_version_is_answered_410() {
    let server = Server::in_memory();
    let api = secrets(&server, &[]).await;
    let list = api.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let running = api.watch(&WatchParams::default(), &version).await.unwrap();
    server.service().unwrap().expire_watches();
    let seen: Vec<_> = running.collect().await;
    assert!(seen.is_empty(), "{seen:?}");
    let again = api.watch(&WatchParams::default(), &version).await.unwrap();
    let seen: Vec<_> = again.try_collect().await.unwrap();
    let [WatchEvent::Error(status)] = seen.as_slice() else {
        panic!("{seen:?}")
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

#[tokio::test]
async fn large_changes_are_compacted_sooner() {
    let server = Server::in_memory();
    let api = secrets(&server, &["a"]).await;
    let list = api.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let live = api.watch(&WatchParams::default(), &version).await.unwrap();
    let mut live = live.boxed();
    for round in 0..60 {
        let text = format!("{round}{}", "a".repeat(1_000_000));
        let change = Patch::Merge(serde_json::json!({"stringData": {"a": text}}));
        let params = PatchParams::default();
        api.patch_metadata("a", &params, &change).await.unwrap();
        // an open watch gets each event
        let seen = live.try_next().await.unwrap();
        assert!(matches!(seen, Some(WatchEvent::Modified(_))), "{seen:?}");
    }
    let late = api.watch(&WatchParams::default(), &version).await.unwrap();
    let seen: Vec<_> = late.try_collect().await.unwrap();
    let [WatchEvent::Error(status)] = seen.as_slice() else {
        panic!("{} events", seen.len())
    };
    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"));
}

#[tokio::test]
async fn pages_of_a_compacted_version_continue_with_the_newest() {
    let server = Server::in_memory();
    let api = secrets(&server, &["a", "c"]).await;
    let pages = ListParams::default().limit(1);
    let first = api.list(&pages).await.unwrap();
    secrets(&server, &["b"]).await;
    server.service().unwrap().expire_watches();
    let token = first.metadata.continue_.unwrap();
    let Err(Error::Api(refused)) = api.list(&pages.clone().continue_token(&token)).await else {
        panic!("a page of a version that is gone")
    };
    assert_eq!((refused.code, refused.reason.as_str()), (410, "Expired"));
    let token = refused.metadata.and_then(|it| it.continue_).unwrap();
    let second = api.list(&pages.continue_token(&token)).await.unwrap();
    let names = second.items.iter().map(|it| it.metadata.name.as_deref());
    assert_eq!(names.collect::<Vec<_>>(), [Some("b")]);
}
