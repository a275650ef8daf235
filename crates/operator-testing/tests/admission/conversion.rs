//! Kinds whose versions a webhook converts: `v1` has an address, `v2` has its two parts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use kube::core::{DynamicObject, WatchEvent};
use serde_json::{Value, json};

use super::endpoint::signed_by_unknown;
use super::listener::params;
use super::*;

const ADDRESSES: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: servers.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: servers, kind: Server}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {service: {name: hooks, namespace: default, path: /convert}}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties: {address: {type: string}, note: {type: string}, color: {type: string, default: red}}
            status: {type: object, properties: {ready: {type: boolean}}}
    - name: v2
      served: true
      storage: false
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                host: {type: string}
                port: {type: string, maxLength: 5}
                note: {type: string}
                shape: {type: string, default: round}
            status: {type: object, properties: {ready: {type: boolean}}}
";

const HOOK: &str = "conversion webhook for example.com/v1, Kind=Server ";

fn path(version: &str) -> String {
    format!("/apis/example.com/{version}/namespaces/default/servers")
}

fn named(version: &str) -> String {
    format!("{}/a", path(version))
}

fn object(version: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Server",
        "metadata": {"name": "a"},
        "spec": spec,
    })
}

/// What the test changes in the answers.
type Change = Arc<Mutex<Option<Alter>>>;

/// Changes the answer of the webhook.
type Alter = fn(&mut Value);

/// A server with the kind and its webhook.
struct Converting {
    webhook_server: WebhookServer,
    client: Client,
    /// Changes the answers.
    change: Change,
    /// The requests of the reviews.
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Converting {
    async fn start() -> Self {
        Self::of(WebhookServer::start().await).await
    }

    async fn of(webhook_server: WebhookServer) -> Self {
        let change = Change::default();
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let (changing, log) = (change.clone(), asked.clone());
        webhook_server.serve(tower::service_fn(move |request: Request<Bytes>| {
            assert_eq!(request.uri().path(), "/convert");
            let review: Value = serde_json::from_slice(request.body()).unwrap();
            assert_eq!(review["apiVersion"], "apiextensions.k8s.io/v1");
            assert_eq!(review["kind"], "ConversionReview");
            log.lock().unwrap().push(review["request"].clone());
            let mut answer = convert(&review);
            if let Some(change) = *changing.lock().unwrap() {
                change(&mut answer);
            }
            async move {
                match answer["fails"].as_str() {
                    Some(why) => Err(why.to_owned()),
                    None => Ok(Response::new(Bytes::from(answer.to_string()))),
                }
            }
        }));
        webhook_server.install(ADDRESSES).await;
        let client = webhook_server.client();
        Self {
            webhook_server,
            client,
            change,
            asked,
        }
    }

    fn change(&self, change: Alter) {
        *self.change.lock().unwrap() = Some(change);
    }

    fn change_nothing(&self) {
        *self.change.lock().unwrap() = None;
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> Answer {
        send(&self.client, method, path, body).await
    }

    async fn get(&self, version: &str) -> Value {
        let answer = self.send("GET", &named(version), &Value::Null).await;
        assert_eq!(answer.code, 200, "{}", answer.message());
        answer.body
    }

    async fn create(&self, version: &str, spec: Value) -> Value {
        let object = object(version, spec);
        let answer = self.send("POST", &path(version), &object).await;
        assert_eq!(answer.code, 201, "{}", answer.message());
        answer.body
    }
}

/// The answer of a webhook that converts correctly.
fn convert(review: &Value) -> Value {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap();
    let objects = request["objects"].as_array().unwrap();
    let objects = objects.iter().map(|object| {
        let mut object = object.clone();
        object["apiVersion"] = to.into();
        let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
            return object;
        };
        if to.ends_with("v2") {
            spec.remove("color");
            if let Some(address) = spec.remove("address") {
                let (host, port) = address.as_str().unwrap().split_once(':').unwrap();
                spec.insert("host".into(), host.into());
                spec.insert("port".into(), port.into());
            }
        } else if let (Some(host), Some(port)) = (spec.remove("host"), spec.remove("port")) {
            spec.remove("shape");
            let address = format!("{}:{}", host.as_str().unwrap(), port.as_str().unwrap());
            spec.insert("address".into(), address.into());
        }
        object
    });
    json!({
        "apiVersion": review["apiVersion"],
        "kind": "ConversionReview",
        "response": {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": objects.collect::<Vec<_>>(),
        },
    })
}

fn no_such_server(answer: &mut Value) {
    answer["response"]["result"] = json!({"status": "Failure", "message": "no such server"});
}

#[tokio::test]
async fn objects_are_read_in_both_versions() {
    let server = Converting::start().await;
    let created = server
        .create("v2", json!({"host": "a", "port": "80"}))
        .await;
    // the webhook drops what v1 does not have, also the default
    assert_eq!(created["spec"], json!({"host": "a", "port": "80"}));
    let first = server.get("v1").await;
    assert_eq!(first["spec"], json!({"address": "a:80", "color": "red"}));
    assert_eq!(first["metadata"]["uid"], created["metadata"]["uid"]);
    let second = server.get("v2").await;
    assert_eq!(second, created);
    let list = server.send("GET", &path("v2"), &Value::Null).await;
    assert_eq!(list.body["items"][0]["spec"], second["spec"]);
    assert_eq!(list.body["items"][0]["apiVersion"], "example.com/v2");
    let asked = server.asked.lock().unwrap().clone();
    let stored = &asked.last().unwrap()["objects"][0];
    assert_eq!(stored["metadata"].get("resourceVersion"), None);
}

#[tokio::test]
async fn writes_in_another_version_are_validated_there_and_stored_converted() {
    let server = Converting::start().await;
    server.create("v1", json!({"address": "a:80"})).await;
    let port = json!({"spec": {"port": "123456"}});
    let refused = server.send("PATCH", &named("v2"), &port).await;
    assert_eq!(refused.code, 422, "{}", refused.message());
    let port = json!({"spec": {"port": "81"}});
    let patched = server.send("PATCH", &named("v2"), &port).await;
    assert_eq!(patched.code, 200, "{}", patched.message());
    assert_eq!(patched.body["metadata"]["generation"], 2);
    assert_eq!(server.get("v1").await["spec"]["address"], "a:81");
    let mut object = server.get("v2").await;
    object["spec"]["host"] = "b".into();
    let updated = server.send("PUT", &named("v2"), &object).await;
    assert_eq!(updated.code, 200, "{}", updated.message());
    assert_eq!(server.get("v1").await["spec"]["address"], "b:81");
    let stale = server.send("PUT", &named("v2"), &object).await;
    assert_eq!(stale.code, 409);
    let ready = json!({"status": {"ready": true}});
    let status = format!("{}/status", named("v2"));
    let patched = server.send("PATCH", &status, &ready).await;
    assert_eq!(patched.code, 200, "{}", patched.message());
    let seen = server.get("v1").await;
    assert_eq!(seen["status"], json!({"ready": true}));
    assert_eq!(seen["metadata"]["generation"], 3);
    let version = &seen["metadata"]["resourceVersion"];
    let again = server.send("PATCH", &status, &ready).await;
    assert_eq!(
        again.body["metadata"]["resourceVersion"], *version,
        "nothing changed"
    );
    let dry = format!("{}?dryRun=All", named("v2"));
    let dry = server
        .send("PATCH", &dry, &json!({"spec": {"host": "c"}}))
        .await;
    assert_eq!(dry.body["spec"]["host"], "c");
    assert_eq!(
        server.get("v1").await["metadata"]["resourceVersion"],
        *version
    );
}

/// The fields that a manager owns, by its name and version.
fn managed(object: &Value) -> Vec<(String, Value)> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let mut managed: Vec<_> = entries
        .iter()
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            let who = format!("{} {}", text("manager"), text("apiVersion"));
            (who, entry["fieldsV1"].clone())
        })
        .collect();
    managed.sort_by(|a, b| a.0.cmp(&b.0));
    managed
}

#[tokio::test]
async fn field_managers_of_other_versions_are_converted() {
    let server = Converting::start().await;
    let apply = |version: &str, manager: &str, more: &str| {
        format!("{}?fieldManager=applier{manager}{more}", named(version))
    };
    let one = object("v1", json!({"address": "a:80", "note": "mine"}));
    let created = server.send("PATCH", &apply("v1", "", ""), &one).await;
    assert_eq!(created.code, 201, "{}", created.message());
    // the other manager changes a field that v1 has under another name
    let two = object("v2", json!({"host": "b"}));
    let other = "fieldManager=other";
    let media = "application/apply-patch+yaml";
    let send_as = |version: &str, force: &str, body: &Value| {
        let request = Request::builder()
            .method("PATCH")
            .uri(format!("{}?{other}{force}", named(version)))
            .header("content-type", media)
            .body(body.to_string().into_bytes())
            .unwrap();
        let client = server.client.clone();
        async move { client.request::<Value>(request).await }
    };
    let conflict = send_as("v2", "", &two).await.unwrap_err();
    let kube::Error::Api(status) = conflict else {
        panic!("{conflict}")
    };
    let causes = status.details.as_ref().unwrap().causes.clone();
    let causes: Vec<_> = causes
        .into_iter()
        .map(|it| (it.message, it.field))
        .collect();
    let of_address = (
        "conflict with \"applier\"".to_owned(),
        ".spec.address".to_owned(),
    );
    assert_eq!((status.code, causes), (409, vec![of_address]));
    let forced = send_as("v2", "&force=true", &two).await.unwrap();
    assert_eq!(server.get("v1").await["spec"]["address"], "b:80");
    let note = json!({"f:spec": {"f:note": {}}});
    let host = json!({"f:spec": {"f:host": {}}});
    let first = "applier example.com/v1".to_owned();
    let second = "other example.com/v2".to_owned();
    assert_eq!(
        managed(&forced),
        [(first.clone(), note), (second.clone(), host.clone())]
    );
    // a manager of the stored version leaves the fields of the other version alone
    let color = json!({"spec": {"color": "blue"}});
    let patched = server.send("PATCH", &named("v1"), &color).await;
    assert_eq!(patched.code, 200, "{}", patched.message());
    assert_eq!(patched.body["metadata"]["generation"], 3);
    assert!(managed(&patched.body).contains(&(second.clone(), host.clone())));
    server
        .send("PATCH", &named("v1"), &json!({"spec": {"color": "red"}}))
        .await;
    // the first manager gives up its note, which the object then lacks in all versions
    let less = object("v1", json!({}));
    let applied = server.send("PATCH", &apply("v1", "", ""), &less).await;
    assert_eq!(applied.code, 200, "{}", applied.message());
    assert_eq!(
        applied.body["spec"],
        json!({"address": "b:80", "color": "red"})
    );
    let none = json!({"f:spec": {}});
    let mine = |object: &Value| -> Vec<_> {
        managed(object)
            .into_iter()
            .filter(|(who, _)| !who.starts_with("tester"))
            .collect()
    };
    let expected = [(first.clone(), none.clone()), (second.clone(), host)];
    assert_eq!(mine(&applied.body), expected);
    // without its host, the webhook makes no address
    let gone = send_as("v2", "", &object("v2", json!({}))).await.unwrap();
    assert_eq!(gone["spec"], json!({}));
    assert_eq!(mine(&gone), [(first, none.clone()), (second, none)]);
}

#[tokio::test]
async fn a_watch_gets_the_events_of_both_versions() {
    let server = Converting::start().await;
    let watch = |version: &str| {
        let uri = format!("{}?watch=1&timeoutSeconds=20", path(version));
        let request = Request::builder().uri(uri).body(Vec::new()).unwrap();
        let client = server.client.clone();
        async move {
            loop {
                let events = client
                    .request_events::<DynamicObject>(request.clone())
                    .await;
                match events {
                    Ok(events) => return events.boxed(),
                    // the watch cache of a new kind is not ready yet
                    Err(kube::Error::Api(status)) if status.code == 429 => {
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        }
    };
    let mut second = watch("v2").await;
    let mut first = watch("v1").await;
    server.create("v1", json!({"address": "a:80"})).await;
    server
        .send("PATCH", &named("v2"), &json!({"spec": {"port": "81"}}))
        .await;
    for (watch, expected) in [
        (&mut first, [json!("a:80"), json!("a:81")]),
        (&mut second, [json!("80"), json!("81")]),
    ] {
        for value in expected {
            let event = watch.next().await.unwrap().unwrap();
            let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else {
                panic!("{event:?}");
            };
            let spec = &object.data["spec"];
            let field = match spec.get("address") {
                Some(it) => it,
                None => &spec["port"],
            };
            assert_eq!(*field, value);
        }
    }
}

#[tokio::test]
async fn a_failing_conversion_fails_what_needs_it() {
    let server = Converting::start().await;
    server.create("v1", json!({"address": "a:80"})).await;
    server.change(no_such_server);
    let failed = format!("{HOOK}failed: no such server");
    for (method, path, body) in [
        ("GET", named("v2"), Value::Null),
        ("PATCH", named("v2"), json!({"spec": {"port": "81"}})),
        (
            "PUT",
            named("v2"),
            object("v2", json!({"host": "a", "port": "81"})),
        ),
        ("DELETE", named("v2"), Value::Null),
    ] {
        let answer = server.send(method, &path, &body).await;
        assert_eq!(answer.code, 500);
        // a real server that has the object in its watch cache already fails only for what it would store
        let cached = failed.replace("/v1,", "/v2,");
        let message = answer.message();
        let is_expected = message.contains(&failed) || method != "GET" && message.contains(&cached);
        assert!(is_expected, "{method}: {message}");
    }
    let post = server
        .send(
            "POST",
            &path("v2"),
            &object("v2", json!({"host": "b", "port": "1"})),
        )
        .await;
    assert_eq!(post.code, 500);
    assert_eq!(server.get("v1").await["spec"]["address"], "a:80");
    let changed = server
        .send("PATCH", &named("v1"), &json!({"spec": {"note": "x"}}))
        .await;
    assert_eq!(changed.code, 200, "{}", changed.message());
    server.change_nothing();
    assert_eq!(server.get("v2").await["spec"]["note"], "x");
}

#[tokio::test]
async fn an_object_that_cannot_be_converted_fails_its_collection() {
    let server = Converting::start().await;
    server.change(no_such_server);
    server.create("v1", json!({"address": "a:80"})).await;
    for (method, query) in [("GET", ""), ("GET", "?limit=1"), ("DELETE", "")] {
        let path = format!("{}{query}", path("v2"));
        let answer = server.send(method, &path, &Value::Null).await;
        let (message, failed) = (answer.message(), format!("{HOOK}failed: no such server"));
        // a real server whose watch cache of the version began after the change has not listed it
        let is_cache =
            server.webhook_server.is_real() && answer.code == 429 && message.contains(&failed);
        assert!(
            is_cache || answer.code == 500 && message == failed,
            "{}: {message}",
            answer.code
        );
    }
    assert_eq!(server.get("v1").await["spec"]["address"], "a:80");
}

#[tokio::test]
async fn garbage_is_collected_while_nobody_converts() {
    let server = Converting::of(WebhookServer::in_memory()).await;
    let owner = server.create("v1", json!({"address": "a:80"})).await;
    let reference = json!({
        "apiVersion": "example.com/v2",
        "kind": "Server",
        "name": "a",
        "uid": owner["metadata"]["uid"],
    });
    let owned = json!({
        "apiVersion": "example.com/v1",
        "kind": "Server",
        "metadata": {"name": "b", "ownerReferences": [reference], "finalizers": ["example.com/x"]},
        "spec": {"address": "b:80"},
    });
    server.send("POST", &path("v1"), &owned).await;
    server.change(no_such_server);
    let deleted = server.send("DELETE", &named("v1"), &Value::Null).await;
    assert_eq!(deleted.code, 200, "{}", deleted.message());
    let owned = server
        .send("GET", &format!("{}/b", path("v1")), &Value::Null)
        .await;
    assert!(owned.body["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(owned.body["spec"]["address"], "b:80");
}

#[tokio::test(start_paused = true)]
async fn a_conversion_has_its_timeout() {
    let webhook_server = WebhookServer::in_memory();
    webhook_server.install(ADDRESSES).await;
    webhook_server.serve(tower::service_fn(|_: Request<Bytes>| async {
        tokio::time::sleep(Duration::from_secs(31)).await;
        Ok::<_, std::io::Error>(Response::new(Bytes::new()))
    }));
    let object = object("v2", json!({"host": "a", "port": "80"}));
    let start = tokio::time::Instant::now();
    let failed = send(&webhook_server.client(), "POST", &path("v2"), &object).await;
    assert_eq!((failed.code, start.elapsed().as_secs()), (500, 30));
    let expected = "conversion webhook for example.com/v2, Kind=Server failed: Post \"https://hooks.default.svc:443/convert?timeout=30s\": context deadline exceeded";
    assert_eq!(failed.message(), expected);
}

#[tokio::test]
async fn bad_answers_are_refused() {
    let server = Converting::start().await;
    server.create("v1", json!({"address": "a:80"})).await;
    let changes: [(Alter, &str); 12] = [
        (
            |it| it["response"]["uid"] = "x".into(),
            "failed: expected response.uid=",
        ),
        (
            |it| it["apiVersion"] = "apiextensions.k8s.io/v2".into(),
            "failed: ",
        ),
        (
            |it| it["response"] = Value::Null,
            "failed: no response provided",
        ),
        (
            |it| it["response"]["result"] = json!({"status": "Failure"}),
            "failed: response.result.status was 'Failure', not 'Success'",
        ),
        (
            |it| it["response"]["convertedObjects"] = json!([]),
            "returned 0 objects, expected 1",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["apiVersion"] = "example.com/v1".into(),
            "returned invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v1)",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["kind"] = "Sever".into(),
            "returned invalid object at index 0: invalid kind (expected Server, received Sever)",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["metadata"]["name"] = "b".into(),
            "returned invalid object: must have the same name: a != b",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["metadata"]["uid"] = "u".into(),
            "returned invalid object: must have the same UID: ",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["metadata"]["labels"] = json!({"a b": "c"}),
            "returned invalid metadata: metadata.labels: ",
        ),
        (
            |it| it["response"]["convertedObjects"][0]["metadata"]["annotations"] = json!({"a": 1}),
            "returned invalid metadata: metadata.annotations[a] must be a string, but is ",
        ),
        (
            |it| *it = json!({"fails": "gone"}),
            "failed: Post \"https://",
        ),
    ];
    for (change, expected) in changes {
        server.change(change);
        let answer = server.send("GET", &named("v2"), &Value::Null).await;
        assert_eq!(answer.code, 500, "{expected}");
        let expected = format!("{HOOK}{expected}");
        assert!(
            answer.message().starts_with(&expected),
            "{}",
            answer.message()
        );
    }
}

#[tokio::test]
async fn only_labels_and_annotations_are_taken_from_the_webhook() {
    let server = Converting::start().await;
    let created = server.create("v1", json!({"address": "a:80"})).await;
    server.change(|answer| {
        let metadata = &mut answer["response"]["convertedObjects"][0]["metadata"];
        metadata["labels"] = json!({"a": "b"});
        metadata["finalizers"] = json!(["example.com/x"]);
        metadata["generation"] = 7.into();
        metadata["creationTimestamp"] = Value::Null;
    });
    let seen = server.get("v2").await;
    let mut expected = created["metadata"].clone();
    expected["labels"] = json!({"a": "b"});
    assert_eq!(seen["metadata"], expected);
}

#[tokio::test]
async fn objects_of_another_version_are_deleted() {
    let server = Converting::start().await;
    server.create("v1", json!({"address": "a:80"})).await;
    let finalizers = json!({"metadata": {"finalizers": ["example.com/x"]}});
    server.send("PATCH", &named("v2"), &finalizers).await;
    let deleting = server.send("DELETE", &named("v2"), &Value::Null).await;
    assert_eq!(deleting.code, 200, "{}", deleting.message());
    assert_eq!(deleting.body["apiVersion"], "example.com/v2");
    assert_eq!(deleting.body["spec"]["host"], "a");
    assert!(deleting.body["metadata"]["deletionTimestamp"].is_string());
    // the first patch added the default of v2 to the spec
    assert_eq!(deleting.body["metadata"]["generation"], 3);
    let seen = server.get("v2").await;
    assert_eq!(seen, deleting.body);
    let done = json!({"metadata": {"finalizers": null}});
    let done = server.send("PATCH", &named("v2"), &done).await;
    assert_eq!(done.code, 200, "{}", done.message());
    let gone = server.send("GET", &named("v1"), &Value::Null).await;
    assert_eq!(gone.code, 404);
    server.create("v1", json!({"address": "a:80"})).await;
    let all = server.send("DELETE", &path("v2"), &Value::Null).await;
    assert_eq!(all.code, 200, "{}", all.message());
    assert_eq!(all.body["items"][0]["spec"]["host"], "a");
    let gone = server.send("GET", &named("v1"), &Value::Null).await;
    assert_eq!(gone.code, 404);
}

#[tokio::test]
async fn the_storage_version_changes() {
    let server = Converting::start().await;
    server.create("v1", json!({"address": "a:80"})).await;
    let swapped = ADDRESSES
        .replace("storage: true", "storage: first")
        .replace("storage: false", "storage: true")
        .replace("storage: first", "storage: false");
    server.webhook_server.install(&swapped).await;
    tokio::time::sleep(Duration::from_millis(if server.webhook_server.is_real() {
        1500
    } else {
        0
    }))
    .await;
    assert_eq!(
        server.get("v1").await["spec"],
        json!({"address": "a:80", "color": "red"})
    );
    assert_eq!(server.get("v2").await["spec"]["host"], "a");
    let rewritten = server
        .send("PATCH", &named("v2"), &json!({"spec": {"port": "81"}}))
        .await;
    assert_eq!(rewritten.code, 200, "{}", rewritten.message());
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/servers.example.com";
    let crd = server.send("GET", path, &Value::Null).await;
    assert_eq!(crd.body["status"]["storedVersions"], json!(["v1", "v2"]));
    server.change(|answer| *answer = json!({"fails": "gone"}));
    assert_eq!(
        server.get("v2").await["spec"]["port"],
        "81",
        "it is stored in this version now"
    );
    assert_eq!(
        server.send("GET", &named("v1"), &Value::Null).await.code,
        500
    );
}

#[tokio::test]
async fn a_conversion_over_tls() {
    let server = Converting::of(WebhookServer::presenting(signed_by_unknown(params())).await).await;
    server
        .create("v2", json!({"host": "a", "port": "80"}))
        .await;
    assert_eq!(server.get("v1").await["spec"]["address"], "a:80");
}

#[tokio::test]
async fn a_webhook_for_another_version_gets_converted_objects() {
    let server = Converting::start().await;
    let rules =
        "{operations: ['*'], apiGroups: [example.com], apiVersions: [v1], resources: [servers]}";
    for kind in ["Mutating", "Validating"] {
        install(&server.webhook_server, kind, "judge", rules, "").await;
    }
    let reviews: Arc<Mutex<Vec<Value>>> = Arc::default();
    let log = reviews.clone();
    server
        .webhook_server
        .serve(tower::service_fn(move |request: Request<Bytes>| {
            let mut review: Value = serde_json::from_slice(request.body()).unwrap();
            let answer = match review["kind"].as_str() {
                Some("ConversionReview") => convert(&review),
                _ => {
                    let request = review["request"].take();
                    // a conversion adds and drops no note, which both versions have
                    let patch = json!([{"op": "add", "path": "/spec/note", "value": "seen"}]);
                    let mut response = match &request["object"]["spec"] {
                        Value::Object(spec) if !spec.contains_key("note") => super::patch(&patch),
                        _ => allow(),
                    };
                    response["uid"] = request["uid"].clone();
                    log.lock().unwrap().push(request);
                    review["response"] = response;
                    review
                }
            };
            async move { Ok::<_, std::io::Error>(Response::new(Bytes::from(answer.to_string()))) }
        }));
    let created = server
        .create("v2", json!({"host": "a", "port": "80"}))
        .await;
    assert_eq!(
        created["spec"],
        json!({"host": "a", "port": "80", "note": "seen"})
    );
    let asked = reviews.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    for (request, note) in asked.iter().zip([Value::Null, json!("seen")]) {
        assert_eq!(request["kind"]["version"], "v1");
        assert_eq!(request["resource"]["version"], "v1");
        assert_eq!(request["requestKind"]["version"], "v2");
        assert_eq!(request["requestResource"]["version"], "v2");
        assert_eq!(request["object"]["apiVersion"], "example.com/v1");
        assert_eq!(request["object"]["spec"]["address"], "a:80");
        assert_eq!(request["object"]["spec"]["note"], note);
    }
    let port = json!({"spec": {"port": "81"}});
    let patched = server.send("PATCH", &named("v2"), &port).await;
    assert_eq!(patched.body["spec"]["port"], "81", "{}", patched.message());
    let asked = reviews.lock().unwrap().clone();
    assert_eq!(asked[2]["oldObject"]["spec"]["address"], "a:80");
    assert_eq!(asked[2]["object"]["spec"]["address"], "a:81");
    let deleted = server.send("DELETE", &named("v2"), &Value::Null).await;
    assert_eq!(deleted.code, 200, "{}", deleted.message());
    let asked = reviews.lock().unwrap().clone();
    let last = asked.last().unwrap();
    assert_eq!(
        (&last["operation"], &last["object"]),
        (&json!("DELETE"), &Value::Null)
    );
    assert_eq!(last["oldObject"]["spec"]["address"], "a:81");
}

#[tokio::test]
async fn selectors_see_the_object_before_it_is_converted() {
    let server = Converting::start().await;
    let rules =
        "{operations: ['*'], apiGroups: [example.com], apiVersions: [v2], resources: [servers]}";
    let selector = "objectSelector: {matchLabels: {judged: 'yes'}},";
    install(
        &server.webhook_server,
        "Validating",
        "judge",
        rules,
        selector,
    )
    .await;
    server.change(no_such_server);
    // neither the webhook nor the conversion is needed
    server.create("v1", json!({"address": "a:80"})).await;
}

#[tokio::test]
async fn the_first_rule_chooses_the_version_of_a_webhook() {
    let server = server().await;
    let version = |name: &str, storage: bool| {
        format!(
            "{{name: {name}, served: true, storage: {storage}, schema: {{openAPIV3Schema: {{type: object}}}}}}"
        )
    };
    let versions = [
        version("v1", true),
        version("v2", false),
        version("v3", false),
    ]
    .join(",");
    server
        .install(&format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: things.example.com}},
               spec: {{group: example.com, scope: Namespaced, names: {{plural: things, kind: Thing}}, versions: [{versions}]}}}}"
        ))
        .await;
    let rule = |version: &str| {
        format!(
            "{{operations: [CREATE], apiGroups: [example.com], apiVersions: [{version}], resources: [things]}}"
        )
    };
    let rules = format!("{},{}", rule("v2"), rule("v1"));
    install(&server, "Validating", "judge", &rules, "").await;
    let asked = answer(&server, |_, _| async { allow() });
    let thing = json!({"apiVersion": "example.com/v3", "kind": "Thing", "metadata": {"name": "a"}});
    let things = "/apis/example.com/v3/namespaces/default/things";
    let created = send(&server.client(), "POST", things, &thing).await;
    assert_eq!(created.code, 201, "{}", created.message());
    assert_eq!(asked.request(0)["object"]["apiVersion"], "example.com/v2");
    assert_eq!(asked.request(0)["requestKind"]["version"], "v3");
}

#[tokio::test]
async fn a_page_converts_only_its_own_objects() {
    let server = Converting::of(WebhookServer::in_memory()).await;
    for name in ["a", "b", "c"] {
        let mut object = object("v1", json!({"address": "a:80"}));
        object["metadata"]["name"] = name.into();
        server.send("POST", &path("v1"), &object).await;
    }
    let page = format!("{}?limit=1", path("v2"));
    let page = server.send("GET", &page, &Value::Null).await;
    assert_eq!(page.body["items"][0]["spec"]["host"], "a");
    assert_eq!(page.body["metadata"]["remainingItemCount"], 2);
    assert_eq!(server.asked.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_watch_ends_if_an_object_cannot_be_converted() {
    let server = Converting::of(WebhookServer::in_memory()).await;
    let uri = format!("{}?watch=1", path("v2"));
    let request = Request::builder().uri(uri).body(Vec::new()).unwrap();
    let events = server.client.request_events::<DynamicObject>(request);
    let mut events = events.await.unwrap().boxed();
    server.change(no_such_server);
    server.create("v1", json!({"address": "a:80"})).await;
    let Some(Ok(WatchEvent::Error(status))) = events.next().await else {
        panic!("no error");
    };
    assert_eq!(status.code, 410);
    assert!(
        status.message.contains("no such server"),
        "{}",
        status.message
    );
    assert!(events.next().await.is_none());
}
