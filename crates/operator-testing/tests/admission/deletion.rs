//! Deletions that webhooks are asked about.

use serde_json::{Value, json};

use super::*;

async fn create(server: &WebhookServer, names: &[&str]) {
    for name in names {
        let mut body = widget(json!({"size": 1}));
        body["metadata"]["name"] = (*name).into();
        let created = send(&server.client(), "POST", WIDGETS_PATH, &body).await;
        assert_eq!(created.code, 201);
    }
}

async fn names(server: &WebhookServer) -> Vec<String> {
    let listed = send(&server.client(), "GET", WIDGETS_PATH, &Value::Null).await;
    let items = listed.body["items"].as_array().unwrap().iter();
    let name = |item: &Value| item["metadata"]["name"].as_str().unwrap().to_owned();
    items.map(name).collect()
}

#[tokio::test]
async fn a_webhook_can_deny_a_deletion() {
    let server = server().await;
    install(
        &server,
        "Validating",
        "keep",
        &rule("DELETE", "widgets"),
        "",
    )
    .await;
    let asked = answer(&server, |_, _| async {
        json!({"allowed": false, "status": {"message": "it stays", "code": 403}})
    });
    create(&server, &["a"]).await;
    let options = json!({"propagationPolicy": "Background"});
    let refused = send(&server.client(), "DELETE", WIDGET_PATH, &options).await;
    assert_eq!(refused.code, 403);
    let expected = "admission webhook \"keep.example.com\" denied the request: it stays";
    assert_eq!(refused.message(), expected);
    assert_eq!(names(&server).await, ["a"]);
    let request = asked.request(0);
    assert_eq!(request["operation"], "DELETE");
    assert_eq!(request["name"], "a");
    assert_eq!(request["object"], Value::Null);
    assert_eq!(request["oldObject"]["spec"]["size"], 1);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "propagationPolicy": "Background"});
    assert_eq!(request["options"], options);
}

#[tokio::test]
async fn an_allowed_deletion_has_the_usual_response() {
    let server = server().await;
    create(&server, &["a"]).await;
    install(
        &server,
        "Validating",
        "keep",
        &rule("DELETE", "widgets"),
        "",
    )
    .await;
    install(&server, "Mutating", "see", &rule("DELETE", "widgets"), "").await;
    let asked = answer(&server, |_, _| async { allow() });
    let deleted = send(&server.client(), "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(deleted.code, 200);
    assert_eq!(deleted.body["status"], "Success");
    assert_eq!(deleted.body["details"]["name"], "a");
    assert_eq!(asked.paths(), ["/see", "/keep"]);
    assert!(names(&server).await.is_empty());
    let missing = send(&server.client(), "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(missing.code, 404);
    assert_eq!(asked.paths().len(), 2, "there is nothing to ask about");
}

#[tokio::test]
async fn a_webhook_cannot_mutate_a_deletion() {
    let server = server().await;
    create(&server, &["a"]).await;
    install(&server, "Mutating", "see", &rule("DELETE", "widgets"), "").await;
    answer(&server, |_, _| async {
        patch(&json!([{"op": "add", "path": "/spec/color", "value": "red"}]))
    });
    let refused = send(&server.client(), "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.message(),
        "Internal error occurred: admission webhook \"see.example.com\" attempted to modify the object, which is not supported for this operation"
    );
}

#[tokio::test]
async fn a_webhook_is_called_for_each_object_of_a_collection() {
    let server = server().await;
    create(&server, &["a", "b", "c"]).await;
    install(
        &server,
        "Validating",
        "keep",
        &rule("DELETE", "widgets"),
        "",
    )
    .await;
    let asked = answer(&server, |_, request| async move {
        json!({"allowed": request["oldObject"]["metadata"]["name"] != "b"})
    });
    let refused = send(&server.client(), "DELETE", WIDGETS_PATH, &Value::Null).await;
    assert_eq!(refused.code, 400, "{}", refused.body);
    assert_eq!(names(&server).await, ["b", "c"]);
    assert!(asked.request(0)["name"].is_null());
    answer(&server, |_, _| async { allow() });
    let deleted = send(&server.client(), "DELETE", WIDGETS_PATH, &Value::Null).await;
    assert_eq!(deleted.code, 200);
    assert_eq!(deleted.body["items"].as_array().unwrap().len(), 2);
    assert!(names(&server).await.is_empty());
}

#[tokio::test]
async fn preconditions_are_checked_again_after_a_concurrent_change() {
    let server = server().await;
    create(&server, &["a"]).await;
    install(
        &server,
        "Validating",
        "keep",
        &rule("DELETE", "widgets"),
        "",
    )
    .await;
    let client = server.client();
    let asked = answer(&server, move |_, request| {
        let client = client.clone();
        async move {
            // Only once: the second time, the size is different.
            if request["oldObject"]["spec"]["size"] == 1 {
                send(&client, "PATCH", WIDGET_PATH, &json!({"spec": {"size": 2}})).await;
            }
            allow()
        }
    });
    let live = send(&server.client(), "GET", WIDGET_PATH, &Value::Null).await;
    let version = &live.body["metadata"]["resourceVersion"];
    let options = json!({"preconditions": {"resourceVersion": version}});
    let refused = send(&server.client(), "DELETE", WIDGET_PATH, &options).await;
    assert_eq!(refused.code, 409, "{}", refused.body);
    assert_eq!(asked.all().len(), 1);
    assert_eq!(names(&server).await, ["a"]);

    send(
        &server.client(),
        "PATCH",
        WIDGET_PATH,
        &json!({"spec": {"size": 1}}),
    )
    .await;
    let deleted = send(&server.client(), "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(deleted.code, 200);
    assert_eq!(asked.all().len(), 3, "asked again about the changed object");
    assert!(names(&server).await.is_empty());
}

#[tokio::test]
async fn an_object_of_a_collection_may_be_deleted_concurrently() {
    let server = server().await;
    create(&server, &["a", "b", "c"]).await;
    let rules = rule("DELETE", "widgets");
    install(&server, "Validating", "keep", &rules, "").await;
    let client = server.client();
    answer(&server, move |_, request| {
        let client = client.clone();
        async move {
            if request["oldObject"]["metadata"]["name"] == "a" {
                let path = format!("{WIDGETS_PATH}/b");
                let deleted = send(&client, "DELETE", &path, &Value::Null).await;
                assert_eq!(deleted.code, 200);
            }
            allow()
        }
    });
    let deleted = send(&server.client(), "DELETE", WIDGETS_PATH, &Value::Null).await;
    assert_eq!(deleted.code, 200, "{}", deleted.body);
    assert!(names(&server).await.is_empty());
}
