//! The harness itself: what a test written with this crate relies on.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{
    Api, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams, PostParams,
    WatchEvent, WatchParams,
};
use kube::core::ApiResource;
use operator_testing::Server;
use serde_json::{Value, json};

const WIDGETS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, properties: {size: {type: integer}}}
            status: {type: object, properties: {ready: {type: boolean}}}
";

fn widgets(server: &Server) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("example.com", "v1", "Widget");
    let resource = ApiResource::from_gvk_with_plural(&gvk, "widgets");
    Api::default_namespaced_with(server.client(), &resource)
}

fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

fn widget(name: &str) -> DynamicObject {
    object(json!({
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 1},
    }))
}

#[tokio::test]
async fn a_definition_registers_its_kind() {
    let server = Server::start().await.unwrap();
    server.install(WIDGETS).await.unwrap();
    let api = widgets(&server);
    let made = api
        .create(&PostParams::default(), &widget("a"))
        .await
        .unwrap();
    assert_eq!(made.metadata.generation, Some(1));
    let list = api.list(&ListParams::default()).await.unwrap();
    assert_eq!(list.items.len(), 1);
}

#[tokio::test]
async fn a_watch_sees_what_happens_after_its_version() {
    let server = Server::start().await.unwrap();
    server.install(WIDGETS).await.unwrap();
    let api = widgets(&server);
    let list = api.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let watch = api
        .watch(&WatchParams::default().timeout(20), &version)
        .await
        .unwrap();
    api.create(&PostParams::default(), &widget("a"))
        .await
        .unwrap();
    let patch = Patch::Merge(json!({"spec": {"size": 2}}));
    api.patch("a", &PatchParams::default(), &patch)
        .await
        .unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let events: Vec<_> = watch.take(3).try_collect().await.unwrap();
    let [
        WatchEvent::Added(_),
        WatchEvent::Modified(second),
        WatchEvent::Deleted(_),
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(second.metadata.generation, Some(2));
}

#[tokio::test]
async fn requests_are_recorded_with_their_answers() {
    let server = Server::start().await.unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    maps.get("absent").await.unwrap_err();
    let requests = server.requests();
    let [request] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert_eq!(
        (
            request.verb,
            request.resource.as_str(),
            request.name.as_str(),
            request.code
        ),
        ("get", "configmaps", "absent", 404)
    );
    assert_eq!(request.agent, "operator-testing");
}

#[tokio::test]
async fn a_user_may_do_what_roles_say() {
    let server = Server::start().await.unwrap();
    let namespace = server.namespace().to_owned();
    let user = format!("system:serviceaccount:{namespace}:reader");
    let maps: Api<ConfigMap> = Api::default_namespaced(server.client_as(&user));
    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}")
    };
    assert_eq!(
        status.message,
        format!(
            "configmaps is forbidden: User {user:?} cannot list resource \"configmaps\" in API group \"\" in the namespace {namespace:?}"
        )
    );
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    });
    server
        .install(&format!("{role}\n---\n{binding}"))
        .await
        .unwrap();
    let listed = || async { maps.list(&ListParams::default()).await.ok() };
    server.eventually("the reader may list", listed).await;
    assert!(maps.get("x").await.is_err());
}
