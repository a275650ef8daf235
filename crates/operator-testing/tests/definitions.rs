//! What happens to the objects and watches of a kind when its definition changes or goes.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::ApiResource;
use operator_testing::Server;
use serde_json::json;

const PARTS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: parts.watched.example.com}
spec:
  group: watched.example.com
  scope: Namespaced
  names: {plural: parts, kind: Part}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
const NAME: &str = "parts.watched.example.com";

/// What a watch tells that sees an object, then what is done, until the server ends it: long before the minute that it asks for.
async fn watched(parts: &Api<DynamicObject>, then: impl Future<Output = ()>) -> Vec<&'static str> {
    let params = WatchParams::default().timeout(60).disable_bookmarks();
    let events = parts.watch(&params, "0").await.unwrap();
    let mut events = Box::pin(events.map_ok(|event| match event {
        WatchEvent::Added(_) => "added",
        WatchEvent::Modified(_) => "modified",
        WatchEvent::Deleted(_) => "deleted",
        WatchEvent::Bookmark(_) => "bookmark",
        WatchEvent::Error(_) => "error",
    }));
    assert_eq!(events.try_next().await.unwrap(), Some("added"));
    then.await;
    let told = tokio::time::timeout(Duration::from_secs(30), events.try_collect()).await;
    told.expect("the watch ends with the kind").unwrap()
}

#[tokio::test]
async fn a_watch_ends_when_its_kind_is_defined_anew_or_goes() {
    let server = Server::start().await.unwrap();
    server.install(PARTS).await.unwrap();
    let resource = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("watched.example.com", "v1", "Part"),
        "parts",
    );
    let parts: Api<DynamicObject> =
        Api::namespaced_with(server.client(), server.namespace(), &resource);
    let part = DynamicObject::new("a", &resource);
    parts.create(&PostParams::default(), &part).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());

    let change = async {
        let patch = Patch::Merge(json!({"spec": {"names": {"shortNames": ["pt"]}}}));
        let params = PatchParams::default();
        definitions.patch(NAME, &params, &patch).await.unwrap();
    };
    assert!(watched(&parts, change).await.is_empty());

    let end = async {
        let params = DeleteParams::default();
        definitions.delete(NAME, &params).await.unwrap();
    };
    assert_eq!(watched(&parts, end).await, ["deleted"]);
}
