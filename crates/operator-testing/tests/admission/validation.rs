//! Webhooks that deny or warn, and requests for which no webhook is called.

use serde_json::{Value, json};

use super::*;

async fn post(server: &WebhookServer) -> Answer {
    send(
        &server.client(),
        "POST",
        WIDGETS_PATH,
        &widget(json!({"size": 1})),
    )
    .await
}

#[tokio::test]
async fn a_denial_is_answered_with_the_status_of_the_webhook() {
    let server = server().await;
    install(
        &server,
        "Validating",
        "judge",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    for (status, code, reason, message) in [
        (
            json!({"code": 403, "reason": "Forbidden", "message": "too blue"}),
            403,
            json!("Forbidden"),
            ": too blue",
        ),
        (
            json!({"reason": "Invalid"}),
            400,
            json!("Invalid"),
            ": Invalid",
        ),
        (Value::Null, 400, Value::Null, " without explanation"),
    ] {
        answer(&server, move |_, _| {
            let status = status.clone();
            async move { json!({"allowed": false, "status": status}) }
        });
        let denied = post(&server).await;
        assert_eq!(denied.code, code);
        assert_eq!(denied.body["reason"], reason);
        assert_eq!(
            denied.message(),
            format!("admission webhook \"judge.example.com\" denied the request{message}")
        );
    }
    let found = send(&server.client(), "GET", WIDGET_PATH, &Value::Null).await;
    assert_eq!(found.code, 404);
}

#[tokio::test]
async fn what_is_validated_is_what_is_stored() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Validating", "judge", &rules, "").await;
    install(&server, "Mutating", "paint", &rules, "").await;
    let asked = answer(&server, |path, _| async move {
        match path.as_str() {
            "/paint" => patch(&json!([{"op": "add", "path": "/spec/color", "value": "red"}])),
            _ => allow(),
        }
    });
    let created = post(&server).await.body;
    let (path, judged) = &asked.all()[1];
    assert_eq!(path, "/judge");
    let mut stored = created.clone();
    let metadata = stored["metadata"].as_object_mut().unwrap();
    metadata.shift_remove("resourceVersion");
    assert_eq!(judged["object"], stored);
}

#[tokio::test]
async fn validating_webhooks_do_not_get_invalid_objects() {
    let server = server().await;
    install(
        &server,
        "Validating",
        "judge",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    let asked = answer(&server, |_, _| async { allow() });
    let body = widget(json!({"size": 11}));
    let refused = send(&server.client(), "POST", WIDGETS_PATH, &body).await;
    assert_eq!(refused.code, 422);
    assert!(asked.all().is_empty());
}

#[tokio::test]
async fn warnings_reach_the_client_also_with_a_denial() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    install(&server, "Mutating", "paint", &rules, "").await;
    install(&server, "Validating", "judge", &rules, "").await;
    answer(&server, |path, _| async move {
        json!({"allowed": path == "/paint", "warnings": [format!("of {path}")]})
    });
    let denied = post(&server).await;
    assert_eq!(denied.code, 400);
    assert_eq!(
        denied.warnings,
        ["299 - \"of /paint\"", "299 - \"of /judge\""]
    );
}

#[tokio::test]
async fn selectors_choose_namespaces_and_objects() {
    let server = server().await;
    let rules = rule("'*'", "widgets");
    let spaces = "namespaceSelector: {matchLabels: {judged: 'yes'}},";
    install(&server, "Validating", "spaces", &rules, spaces).await;
    let objects = "objectSelector: {matchLabels: {judged: 'yes'}},";
    install(&server, "Validating", "objects", &rules, objects).await;
    let asked = answer(&server, |_, _| async { allow() });
    let client = server.client();
    post(&server).await;
    assert!(asked.all().is_empty());
    let label = json!({"metadata": {"labels": {"judged": "yes"}}});
    send(&client, "PATCH", WIDGET_PATH, &label).await;
    assert_eq!(asked.paths(), ["/objects"], "the new object is selected");
    let label = json!({"metadata": {"labels": null}});
    send(&client, "PATCH", WIDGET_PATH, &label).await;
    assert_eq!(asked.paths().len(), 2, "the old object is selected");
    send(&client, "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(asked.paths().len(), 2);
    server
        .install(
            "{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {judged: 'yes'}}}",
        )
        .await;
    post(&server).await;
    assert_eq!(asked.paths()[2..], ["/spaces"]);
}

#[tokio::test]
async fn a_namespace_is_selected_by_its_new_labels() {
    let server = server().await;
    let spaces = "namespaceSelector: {matchLabels: {judged: 'yes'}},";
    install(
        &server,
        "Validating",
        "spaces",
        &rule("CREATE", "namespaces"),
        spaces,
    )
    .await;
    let asked = answer(&server, |_, _| async { allow() });
    for labels in [json!({"judged": "no"}), json!({"judged": "yes"})] {
        let name = format!("court-{}", labels["judged"].as_str().unwrap());
        let body = json!({"metadata": {"name": name, "labels": labels}});
        let created = send(&server.client(), "POST", "/api/v1/namespaces", &body).await;
        assert_eq!(created.code, 201, "{}", created.body);
    }
    assert_eq!(asked.paths().len(), 1);
    assert_eq!(asked.request(0)["name"], "court-yes");
    assert_eq!(asked.request(0)["namespace"], "court-yes");
}

#[tokio::test]
async fn a_dry_run_is_admitted_and_not_stored() {
    let server = server().await;
    install(&server, "Mutating", "judge", &rule("CREATE", "widgets"), "").await;
    let asked = answer(&server, |_, _| async {
        patch(&json!([{"op": "add", "path": "/spec/color", "value": "red"}]))
    });
    let (client, path) = (server.client(), format!("{WIDGETS_PATH}?dryRun=All"));
    let tried = send(&client, "POST", &path, &widget(json!({}))).await;
    assert_eq!(tried.code, 201);
    assert_eq!(tried.body["spec"]["color"], "red");
    assert_eq!(asked.request(0)["dryRun"], true);
    assert_eq!(asked.request(0)["options"]["dryRun"], json!(["All"]));
    let found = send(&client, "GET", WIDGET_PATH, &Value::Null).await;
    assert_eq!(found.code, 404);
}

#[tokio::test]
async fn a_webhook_with_side_effects_is_not_accepted() {
    let server = server().await;
    let hooks = hook("judge", &rule("CREATE", "widgets"), "");
    let hooks = hooks.replace("sideEffects: None,", "sideEffects: Some,");
    let configuration = configuration("Mutating", "judge", &[hooks]);
    let configuration = server.addressed(&configuration);
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    let refused = send(&server.client(), "POST", path, &configuration).await;
    assert_eq!(refused.code, 422);
    let expected = "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"";
    assert!(
        refused.message().ends_with(expected),
        "{}",
        refused.message()
    );
}

#[tokio::test]
async fn an_apply_is_a_create_or_an_update() {
    let server = server().await;
    install(&server, "Validating", "judge", &rule("'*'", "widgets"), "").await;
    let asked = answer(&server, |_, _| async { allow() });
    let (client, path) = (
        server.client(),
        format!("{WIDGET_PATH}?fieldManager=applier"),
    );
    for (size, code) in [(1, 201), (2, 200)] {
        let applied = send(&client, "PATCH", &path, &widget(json!({"size": size}))).await;
        assert_eq!(applied.code, code, "{}", applied.body);
    }
    let asked = asked.all();
    let operations = asked
        .iter()
        .map(|(_, request)| request["operation"].clone());
    assert_eq!(operations.collect::<Vec<_>>(), ["CREATE", "UPDATE"]);
    let (_, update) = &asked[1];
    assert_eq!(update["oldObject"]["spec"]["size"], 1);
    assert_eq!(update["object"]["spec"]["size"], 2);
    let options =
        json!({"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "applier"});
    assert_eq!(update["options"], options);
}

#[tokio::test]
async fn a_creating_apply_has_no_resource_version_in_the_review() {
    let server = server().await;
    install(&server, "Mutating", "see", &rule("'*'", "widgets"), "").await;
    let asked = answer(&server, |_, _| async { allow() });
    let path = format!("{WIDGET_PATH}?fieldManager=applier");
    send(&server.client(), "PATCH", &path, &widget(json!({}))).await;
    let request = asked.request(0);
    let metadata = request["object"]["metadata"].as_object().unwrap();
    assert!(!metadata.contains_key("resourceVersion"));
}
