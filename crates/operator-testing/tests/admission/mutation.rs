//! Mutating webhooks: the changes that they make, and the field managers of these.

use serde_json::{Value, json};

use super::*;

fn add(path: &str, value: &str) -> Value {
    json!([{"op": "add", "path": path, "value": value}])
}

#[tokio::test]
async fn mutations_are_returned_and_stored_without_a_field_manager() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "paint", &rules, "").await;
    let asked = answer(&server, |_, _| async { patch(&add("/spec/color", "red")) });
    let client = server.client();
    let created = send(&client, "POST", WIDGETS_PATH, &widget(json!({"size": 1}))).await;
    assert_eq!(created.code, 201, "{}", created.body);
    let expected = json!({"size": 1, "color": "red", "taste": "sweet"});
    assert_eq!(created.body["spec"], expected);
    let stored = send(&client, "GET", WIDGET_PATH, &Value::Null).await;
    assert_eq!(stored.body, created.body);
    let fields = &stored.body["metadata"]["managedFields"];
    assert_eq!(fields.as_array().unwrap().len(), 1);
    assert_eq!(fields[0]["manager"], "tester");
    let owned = json!({"f:spec": {".": {}, "f:size": {}, "f:taste": {}}});
    assert_eq!(fields[0]["fieldsV1"], owned);

    let mut request = asked.request(0);
    let object = request["object"].take();
    assert!(request["uid"].take().is_string());
    assert_eq!(request["userInfo"].take()["username"], "admin");
    assert_eq!(object["spec"], json!({"size": 1, "taste": "sweet"}));
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "tester");
    assert!(object["metadata"]["uid"].is_null(), "it is not stored yet");
    let kind = json!({"group": "example.com", "version": "v1", "kind": "Widget"});
    let resource = json!({"group": "example.com", "version": "v1", "resource": "widgets"});
    assert_eq!(
        request,
        json!({
            "uid": null,
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": "a",
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": null,
            "object": null,
            "oldObject": null,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        })
    );
}

#[tokio::test]
async fn webhooks_are_called_in_the_order_of_their_configurations_names() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    let hooks = ["second", "third"].map(|name| hook(name, &rules, ""));
    let later = configuration("Mutating", "b", &hooks);
    server.install(&later).await;
    install(&server, "Mutating", "first", &rules, "").await;
    let first = configuration("Mutating", "a", &[hook("first", &rules, "")]);
    server.install(&first).await;
    let asked = answer(&server, |path, request| async move {
        let before = request["object"]["spec"]["color"].as_str().unwrap_or("");
        patch(&add("/spec/color", &format!("{before}{path}")))
    });
    let created = send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await;
    assert_eq!(asked.paths(), ["/first", "/second", "/third", "/first"]);
    assert_eq!(created.body["spec"]["color"], "/first/second/third/first");
}

#[tokio::test]
async fn a_webhook_is_reinvoked_after_a_later_mutation_if_it_requests_that() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    let again = "reinvocationPolicy: IfNeeded,";
    let hooks = [
        hook("never", &rules, ""),
        hook("early", &rules, again),
        hook("paint", &rules, again),
        hook("late", &rules, again),
    ];
    server
        .install(&configuration("Mutating", "all", &hooks))
        .await;
    let asked = answer(&server, |path, _| async move {
        match path.as_str() {
            "/paint" => patch(&add("/spec/color", "red")),
            _ => allow(),
        }
    });
    send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await;
    let expected = ["/never", "/early", "/paint", "/late", "/early"];
    assert_eq!(asked.paths(), expected);
}

#[tokio::test]
async fn mutated_objects_are_pruned_defaulted_and_validated() {
    let server = server().await;
    let rules = rule("CREATE, UPDATE", "widgets");
    install(&server, "Mutating", "change", &rules, "").await;
    let client = server.client();
    answer(&server, |_, _| async {
        patch(&json!([{"op": "replace", "path": "/spec", "value": {"unknown": 1}}]))
    });
    let created = send(&client, "POST", WIDGETS_PATH, &widget(json!({"size": 1}))).await;
    assert_eq!(created.body["spec"], json!({"taste": "sweet"}));
    answer(&server, |_, _| async {
        patch(&json!([{"op": "replace", "path": "/spec/size", "value": 11}]))
    });
    let refused = send(&client, "PATCH", WIDGET_PATH, &json!({"spec": {"size": 2}})).await;
    assert_eq!(refused.code, 422, "{}", refused.body);
    assert!(
        refused.message().contains("spec.size"),
        "{}",
        refused.message()
    );
    answer(&server, |_, _| async {
        patch(&json!([{"op": "remove", "path": "/spec/nothing"}]))
    });
    let broken = send(&client, "PATCH", WIDGET_PATH, &json!({"spec": {"size": 2}})).await;
    assert_eq!(broken.code, 500);
    assert_eq!(broken.body["reason"], "InternalError");
}

#[tokio::test]
async fn a_mutating_webhook_does_not_get_the_generated_name() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "early", &rules, "").await;
    install(&server, "Validating", "late", &rules, "").await;
    let asked = answer(&server, |_, _| async { allow() });
    let mut body = widget(json!({}));
    body["metadata"] = json!({"generateName": "a-"});
    let created = send(&server.client(), "POST", WIDGETS_PATH, &body).await;
    assert_eq!(created.code, 201);
    let (early, late) = (asked.request(0), asked.request(1));
    assert!(early["object"]["metadata"]["name"].is_null());
    let name = &late["object"]["metadata"]["name"];
    assert_eq!(*name, created.body["metadata"]["name"]);
    assert!(early["name"].is_null());
    assert_eq!(late["name"], *name);
}

#[tokio::test]
async fn webhooks_get_a_pod_with_the_fields_that_the_server_adds() {
    let server = server().await;
    let rules = rule("CREATE", "pods");
    install(&server, "Mutating", "inject", &rules, "").await;
    let asked = answer(&server, |_, _| async {
        patch(
            &json!([{"op": "add", "path": "/spec/containers/-", "value": {"name": "side", "image": "side"}}]),
        )
    });
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "main", "image": "main"}]},
    });
    let pods = "/api/v1/namespaces/default/pods";
    let created = send(&server.client(), "POST", pods, &pod).await;
    assert_eq!(created.code, 201, "{}", created.body);
    let side = &created.body["spec"]["containers"][1];
    assert_eq!(side["name"], "side");
    assert_eq!(side["imagePullPolicy"], "Always", "it has its defaults");
    let seen = asked.request(0);
    assert_eq!(seen["object"]["spec"]["serviceAccountName"], "default");
}

#[tokio::test]
async fn a_status_is_admitted_by_the_rules_of_the_subresource() {
    let server = server().await;
    let client = server.client();
    install(
        &server,
        "Mutating",
        "ready",
        &rule("UPDATE", "widgets/status"),
        "",
    )
    .await;
    let asked = answer(&server, |_, _| async {
        patch(&json!([
            {"op": "add", "path": "/status/ready", "value": true},
            {"op": "add", "path": "/spec/color", "value": "red"},
        ]))
    });
    send(&client, "POST", WIDGETS_PATH, &widget(json!({"size": 1}))).await;
    send(&client, "PATCH", WIDGET_PATH, &json!({"spec": {"size": 2}})).await;
    assert!(asked.all().is_empty(), "the object itself is not named");
    let status = format!("{WIDGET_PATH}/status");
    let patched = send(
        &client,
        "PATCH",
        &status,
        &json!({"status": {"ready": false}}),
    )
    .await;
    assert_eq!(patched.code, 200, "{}", patched.body);
    assert_eq!(patched.body["status"], json!({"ready": true}));
    assert!(patched.body["spec"]["color"].is_null(), "a status only");
    let request = asked.request(0);
    assert_eq!(request["subResource"], "status");
    assert_eq!(request["requestSubResource"], "status");
    assert_eq!(request["operation"], "UPDATE");
    assert_eq!(request["options"]["kind"], "UpdateOptions");
    assert!(request["oldObject"]["status"].is_null());
}

#[tokio::test]
async fn managed_fields_that_a_webhook_breaks_are_restored() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "change", &rules, "").await;
    answer(&server, |_, _| async {
        patch(
            &json!([{"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "x"}]),
        )
    });
    let created = send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await;
    assert_eq!(created.code, 201, "{}", created.body);
    let fields = &created.body["metadata"]["managedFields"];
    assert_eq!(fields[0]["operation"], "Update");
    let warning = &created.warnings[0];
    assert!(warning.contains("managedFields was in an invalid state after admission"));
}

#[tokio::test]
async fn a_webhook_can_make_requests_to_the_server() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "count", &rules, "").await;
    let client = server.client();
    answer(&server, move |_, _| {
        let client = client.clone();
        async move {
            let maps = "/api/v1/namespaces/default/configmaps";
            let map = json!({"metadata": {"name": "seen"}});
            assert_eq!(send(&client, "POST", maps, &map).await.code, 201);
            let listed = send(&client, "GET", WIDGETS_PATH, &Value::Null).await;
            assert_eq!(listed.body["items"], json!([]));
            allow()
        }
    });
    let created = send(&server.client(), "POST", WIDGETS_PATH, &widget(json!({}))).await;
    assert_eq!(created.code, 201);
}

#[tokio::test]
async fn a_forked_server_calls_the_same_webhooks() {
    let server = server_in_memory().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "paint", &rules, "").await;
    answer(&server, |_, _| async { patch(&add("/spec/color", "red")) });
    let fork = server.service().unwrap().fork();
    let client = Client::new(fork, "default");
    let created = send(&client, "POST", WIDGETS_PATH, &widget(json!({}))).await;
    assert_eq!(created.body["spec"]["color"], "red");
}
