//! The server as a test uses it: kinds, watches, users, recorded requests and kustomizations; and requests that are not valid.

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
async fn a_crd_registers_its_kind() {
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
async fn names_are_free_after_their_crd_was_deleted() {
    let server = Server::start().await.unwrap();
    server.install(WIDGETS).await.unwrap();
    let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> =
        Api::all_with(server.client(), &ApiResource::from_gvk(&gvk));
    let mut second = definitions.get("widgets.example.com").await.unwrap();
    second.metadata = object(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
    }))
    .metadata;
    second.data = json!({"spec": second.data["spec"]});
    second.data["spec"]["names"] = json!({"plural": "gadgets", "kind": "Widget"});
    definitions
        .create(&PostParams::default(), &second)
        .await
        .unwrap();
    let established = async |wanted: bool| {
        let found = definitions.get("gadgets.example.com").await.ok()?;
        let status = operator_testing::condition(&found, "Established")?;
        (status == if wanted { "True" } else { "False" }).then_some(())
    };
    let taken = async || established(false).await;
    server.eventually("the kind is another's", taken).await;
    definitions
        .delete("widgets.example.com", &DeleteParams::default())
        .await
        .unwrap();
    let free = async || established(true).await;
    server.eventually("the kind is free", free).await;
}

#[tokio::test]
async fn a_watch_reports_the_changes_after_its_version() {
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
async fn requests_are_recorded_with_their_status_codes() {
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
async fn a_user_has_the_permissions_of_its_roles() {
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

#[tokio::test]
async fn a_dropped_watch_resumes_from_its_version() {
    let server = Server::in_memory();
    server.install(WIDGETS).await.unwrap();
    let api = widgets(&server);
    let version = api
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let running = api.watch(&WatchParams::default(), &version).await.unwrap();
    server.service().unwrap().drop_watches();
    assert_eq!(running.collect::<Vec<_>>().await.len(), 0);
    api.create(&PostParams::default(), &widget("a"))
        .await
        .unwrap();
    let again = api.watch(&WatchParams::default(), &version).await.unwrap();
    let seen: Vec<_> = again.take(1).try_collect().await.unwrap();
    assert!(
        matches!(seen.as_slice(), [WatchEvent::Added(_)]),
        "{seen:?}"
    );
}

#[tokio::test]
async fn unsupported_requests_are_answered_501_with_a_name() {
    let server = Server::in_memory();
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {}});
    let request = http::Request::post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews")
        .body(body.to_string().into_bytes())
        .unwrap();
    let refused = server.client().request::<Value>(request).await.unwrap_err();
    let kube::Error::Api(status) = refused else {
        panic!("{refused}")
    };
    assert_eq!(status.code, 501);
    assert_eq!(
        status.message,
        "operator-testing does not implement selfsubjectrulesreviews.authorization.k8s.io"
    );
}

#[tokio::test]
async fn nested_kustomizations_are_applied() {
    let folder = std::env::temp_dir().join(format!("kustomization-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("crds")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write(
        "kustomization.yaml",
        "namespace: sys\nresources: [object.yaml, crds, namespace.yaml]\n",
    );
    write(
        "namespace.yaml",
        "{apiVersion: v1, kind: Namespace, metadata: {name: other}}",
    );
    write(
        "object.yaml",
        "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
    );
    write("crds/kustomization.yaml", "resources: [widgets.yaml]\n");
    write("crds/widgets.yaml", WIDGETS);
    let server = Server::in_memory();
    server.install_kustomization(&folder).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(server.client(), "sys");
    maps.get("a").await.unwrap();
    write("kustomization.yaml", "resources: []\ncomponents: []\n");
    let error = server.install_kustomization(&folder).await.unwrap_err();
    assert!(
        error.to_string().contains("`components` is not supported"),
        "{error}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Odd bodies, paths and queries are answered, and never cause a panic. Neither do the objects that they create.
#[tokio::test]
async fn no_input_crashes_the_server() {
    let server = Server::in_memory();
    server.install(WIDGETS).await.unwrap();
    let client = server.client();
    let odd = [
        json!(null),
        json!(1),
        json!("x"),
        json!([]),
        json!([1]),
        json!({}),
        json!({"metadata": 1}),
        json!({"metadata": []}),
        json!({"metadata": {"name": 1}}),
        json!({"metadata": {"name": "a", "labels": []}}),
        json!({"metadata": {"name": "a", "finalizers": {}}}),
        json!({"metadata": {"name": "a", "ownerReferences": [1]}}),
        json!({"metadata": {"name": "a", "managedFields": [{}]}}),
        json!({"metadata": {"name": "a", "managedFields": [{"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:": 1, "k:x": {}, "z": {}}}]}}),
        json!({"metadata": {"name": "a"}, "spec": 1, "status": [], "data": 1}),
        json!({"metadata": {"name": "a"}, "spec": {"names": 1, "versions": {}, "finalizers": 1, "template": []}, "status": 1}),
        json!({"metadata": {"name": "a"}, "spec": {"names": {}, "versions": [1, {"schema": 1, "subresources": []}]}, "roleRef": 1, "subjects": [1], "rules": [1]}),
        json!([{"op": "replace", "path": "/metadata", "value": 1}]),
        json!([{"op": "remove", "path": ""}]),
        json!([{"op": "replace", "path": "", "value": null}]),
        json!({"$patch": "delete"}),
        json!({"spec": {"$patch": 1, "$retainKeys": [1]}}),
    ];
    let roots = [
        ("/api/v1/namespaces/default/configmaps", "v1", "ConfigMap"),
        ("/api/v1/namespaces/default/secrets", "v1", "Secret"),
        ("/api/v1/namespaces/default/pods", "v1", "Pod"),
        ("/api/v1/namespaces", "v1", "Namespace"),
        (
            "/apis/apps/v1/namespaces/default/deployments",
            "apps/v1",
            "Deployment",
        ),
        (
            "/apis/example.com/v1/namespaces/default/widgets",
            "example.com/v1",
            "Widget",
        ),
        (
            "/apis/events.k8s.io/v1/namespaces/default/events",
            "events.k8s.io/v1",
            "Event",
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
        ),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
        ),
        (
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "authorization.k8s.io/v1",
            "SelfSubjectAccessReview",
        ),
    ];
    let media = [
        "json-patch+json",
        "merge-patch+json",
        "strategic-merge-patch+json",
        "apply-patch+yaml",
    ];
    let mut answered = 0;
    for (root, api_version, kind) in roots {
        let good = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}});
        for body in odd.iter().chain([&good]) {
            let mut named = body.clone();
            if let Some(fields) = named.as_object_mut() {
                fields.insert("apiVersion".into(), api_version.into());
                fields.insert("kind".into(), kind.into());
            }
            for sent in [body, &named] {
                for path in [
                    root.to_owned(),
                    format!("{root}/a"),
                    format!("{root}/a/status"),
                    format!("{root}/a/scale"),
                    format!("{root}/a/finalize"),
                ] {
                    for (method, media) in [
                        ("POST", "json"),
                        ("PUT", "json"),
                        ("DELETE", "json"),
                        ("GET", "json"),
                    ]
                    .into_iter()
                    .chain(media.map(|media| ("PATCH", media)))
                    {
                        let request = http::Request::builder()
                            .method(method)
                            .uri(format!("{path}?fieldManager=x"))
                            .header("content-type", format!("application/{media}"))
                            .body(kube::client::Body::from(sent.to_string().into_bytes()))
                            .unwrap();
                        let code = client.send(request).await.unwrap().status().as_u16();
                        assert!(
                            code < 500 || code == 501 || code == 500 && media == "apply-patch+yaml",
                            "{code}: {method} {path} {media} {sent}"
                        );
                        answered += 1;
                    }
                }
            }
        }
    }
    assert!(answered > 10_000, "{answered}");
    for path in [
        "//",
        "/api",
        "/apis/",
        "/api/v1/",
        "/api/v1/namespaces//pods",
        "/apis/a/b/c/d/e/f/g",
        "/api/v1/pods?limit=-1",
        "/api/v1/pods?continue=zz",
        "/api/v1/pods?continue=%C3%A9%C3%A9",
        "/api/v1/pods?labelSelector=)(",
        "/api/v1/pods?fieldSelector=,=",
        "/api/v1/pods?watch=1&resourceVersion=x",
        "/api/v1/pods?watch=1&timeoutSeconds=99999999999999999999",
    ] {
        let request = http::Request::get(path)
            .body(kube::client::Body::empty())
            .unwrap();
        let code = client.send(request).await.unwrap().status().as_u16();
        // The real server answers an invalid resource version with 500.
        let is_invalid_version = path.ends_with("resourceVersion=x");
        assert!(code < 500 || is_invalid_version, "{code}: {path}");
    }
}

#[tokio::test]
#[should_panic(expected = "the operator ended before this: a child\n  no gateway")]
async fn eventually_fails_at_once_if_the_operator_has_ended() {
    let server = Server::in_memory();
    server.run(async { Err("no gateway") });
    server.eventually("a child", async || None::<()>).await;
}
