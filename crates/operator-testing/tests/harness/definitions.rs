//! The objects and watches of a kind when its CRD is changed or deleted.

use std::time::Duration;

use futures::TryStreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, GroupVersionKind, ObjectMeta, Patch, PatchParams, PostParams,
    WatchEvent, WatchParams,
};
use kube::core::ApiResource;
use kube::{Resource, ResourceExt};
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

fn parts(server: &Server) -> (Api<DynamicObject>, ApiResource) {
    let kind = GroupVersionKind::gvk("watched.example.com", "v1", "Part");
    let resource = ApiResource::from_gvk_with_plural(&kind, "parts");
    let parts = Api::namespaced_with(server.client(), server.namespace(), &resource);
    (parts, resource)
}

/// The events that a watch reports after `then`, until the server ends it, which must be long before the minute that the watch requests.
async fn events_after(
    parts: &Api<DynamicObject>,
    then: impl Future<Output = ()>,
) -> Vec<&'static str> {
    let params = WatchParams::default().timeout(60).disable_bookmarks();
    let events = loop {
        match parts.watch(&params, "0").await {
            // A real server takes a moment to serve a recreated kind.
            Err(kube::Error::Api(status)) if status.code == 429 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            answer => break answer.unwrap(),
        }
    };
    let mut events = Box::pin(events.map_ok(|event| match event {
        WatchEvent::Added(_) => "added",
        WatchEvent::Modified(_) => "modified",
        WatchEvent::Deleted(_) => "deleted",
        WatchEvent::Bookmark(_) => "bookmark",
        WatchEvent::Error(_) => "error",
    }));
    assert_eq!(events.try_next().await.unwrap(), Some("added"));
    then.await;
    let events = tokio::time::timeout(Duration::from_secs(30), events.try_collect()).await;
    events.expect("the watch ends with the kind").unwrap()
}

#[tokio::test]
async fn a_watch_ends_when_its_crd_is_replaced_or_deleted() {
    let server = Server::start().await.unwrap();
    server.install(PARTS).await.unwrap();
    let (parts, resource) = parts(&server);
    let part = DynamicObject::new("a", &resource);
    parts.create(&PostParams::default(), &part).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());

    let change = async {
        let patch = Patch::Merge(json!({"spec": {"names": {"shortNames": ["pt"]}}}));
        let params = PatchParams::default();
        definitions.patch(NAME, &params, &patch).await.unwrap();
    };
    assert!(events_after(&parts, change).await.is_empty());

    let end = async {
        let params = DeleteParams::default();
        definitions.delete(NAME, &params).await.unwrap();
    };
    assert_eq!(events_after(&parts, end).await, ["deleted"]);
}

#[tokio::test]
async fn a_watch_does_not_continue_with_a_new_kind_of_the_same_name() {
    let server = Server::start().await.unwrap();
    server.install(PARTS).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    let (parts, resource) = parts(&server);
    let part = DynamicObject::new("a", &resource);
    parts.create(&PostParams::default(), &part).await.unwrap();
    let again = async {
        let params = DeleteParams::default();
        definitions.delete(NAME, &params).await.unwrap();
        server
            .eventually("the definition is gone", async || {
                definitions
                    .get_opt(NAME)
                    .await
                    .unwrap()
                    .is_none()
                    .then_some(())
            })
            .await;
        server.install(PARTS).await.unwrap();
    };
    assert_eq!(events_after(&parts, again).await, ["deleted"]);
}

#[tokio::test]
async fn garbage_collection_keeps_managed_fields_of_other_versions() {
    let server = Server::start().await.unwrap();
    if server.is_real() {
        // Its garbage collector takes half a minute to know a new kind.
        return;
    }
    let wider = PARTS.replace(
        "    - name: v1\n",
        "    - name: v1alpha1
      served: true
      storage: false
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
    - name: v1\n",
    );
    server.install(&wider).await.unwrap();
    let owners: Api<ConfigMap> = Api::default_namespaced(server.client());
    let owner = ConfigMap {
        metadata: ObjectMeta {
            name: Some("owner".into()),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    };
    let owner = owners.create(&PostParams::default(), &owner).await.unwrap();
    let (parts, resource) = parts(&server);
    let mut part = DynamicObject::new("a", &resource).data(json!({"size": 1}));
    part.metadata.owner_references = Some(vec![owner.owner_ref(&()).unwrap()]);
    let params = PatchParams::apply("one");
    parts
        .patch("a", &params, &Patch::Apply(&part))
        .await
        .unwrap();
    let params = DeleteParams::orphan();
    owners.delete("owner", &params).await.unwrap();
    let remaining = parts.get("a").await.unwrap();
    assert_eq!(remaining.owner_references(), []);
    assert_eq!(remaining.data["size"], 1);
    let managers = remaining.managed_fields().iter();
    let managers: Vec<_> = managers.filter_map(|entry| entry.manager.clone()).collect();
    assert_eq!(managers, ["one"]);
}
