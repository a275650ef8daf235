//! Match conditions: a webhook is called if all of them are true.

use serde_json::json;

use super::*;

async fn create(server: &WebhookServer, spec: Value) -> Answer {
    send(&server.client(), "POST", WIDGETS_PATH, &widget(spec)).await
}

fn conditions(expressions: &[&str]) -> String {
    let conditions = expressions
        .iter()
        .enumerate()
        .map(|(at, it)| format!("{{name: c{at}, expression: {it:?}}}"));
    format!(
        "matchConditions: [{}],",
        conditions.collect::<Vec<_>>().join(",")
    )
}

async fn judge(server: &WebhookServer, kind: &str, expressions: &[&str], more: &str) -> Asked {
    let more = format!("{}{more}", conditions(expressions));
    install(server, kind, "judge", &rule("'*'", "widgets"), &more).await;
    answer(server, |_, _| async { allow() })
}

#[tokio::test]
async fn a_webhook_is_called_if_its_conditions_are_true() {
    let server = server().await;
    let expressions = [
        "request.operation != 'CREATE' || object.spec.size > 3",
        "request.operation != 'UPDATE' || object.spec.size != oldObject.spec.size",
        "request.operation != 'DELETE' || object == null",
        "request.userInfo.username != 'nobody' && request.resource.resource == 'widgets'",
        "request.dryRun == false",
    ];
    let asked = judge(&server, "Validating", &expressions, "").await;
    let client = server.client();
    create(&server, json!({"size": 3})).await;
    assert_eq!(asked.all().len(), 0);
    let color = json!({"spec": {"color": "red"}});
    send(&client, "PATCH", WIDGET_PATH, &color).await;
    assert_eq!(asked.all().len(), 0);
    let size = json!({"spec": {"size": 4}});
    let dry = format!("{WIDGET_PATH}?dryRun=All");
    send(&client, "PATCH", &dry, &size).await;
    assert_eq!(asked.all().len(), 0);
    send(&client, "PATCH", WIDGET_PATH, &size).await;
    assert_eq!(asked.all().len(), 1);
    send(&client, "DELETE", WIDGET_PATH, &Value::Null).await;
    assert_eq!(asked.all().len(), 2);
    create(&server, json!({"size": 5})).await;
    assert_eq!(asked.all().len(), 3);
}

#[tokio::test]
async fn conditions_see_what_earlier_webhooks_changed() {
    let server = server().await;
    let rules = rule("CREATE", "widgets");
    let first = hook("first", &rules, "");
    let second = hook(
        "second",
        &rules,
        &conditions(&["object.spec.color == 'blue'"]),
    );
    let both = configuration("Mutating", "both", &[first, second]);
    server.install(&both).await;
    let asked = answer(&server, |path, _| async move {
        match path.as_str() {
            "/first" => patch(&json!([{"op": "add", "path": "/spec/color", "value": "blue"}])),
            _ => allow(),
        }
    });
    let created = create(&server, json!({"color": "red"})).await;
    assert_eq!(created.code, 201, "{}", created.message());
    assert_eq!(asked.paths(), ["/first", "/second"]);
}

#[tokio::test]
async fn a_condition_that_fails_rejects_the_request() {
    let server = server().await;
    let expressions = ["object.spec.color == 'red'", "true"];
    let asked = judge(&server, "Validating", &expressions, "").await;
    let failed = create(&server, json!({})).await;
    assert_eq!(
        (failed.code, &failed.body["reason"]),
        (403, &json!("Forbidden"))
    );
    let expected = "widgets.example.com \"a\" is forbidden: expression 'object.spec.color == 'red'' resulted in error: no such key: color";
    assert_eq!(failed.message(), expected);
    assert_eq!(create(&server, json!({"color": "blue"})).await.code, 201);
    assert_eq!(asked.all().len(), 0);
}

#[tokio::test]
async fn a_condition_that_is_false_decides_also_if_another_fails() {
    let server = server().await;
    let expressions = ["object.spec.color == 'red'", "object.spec.size == 1"];
    let asked = judge(&server, "Mutating", &expressions, "").await;
    assert_eq!(create(&server, json!({"size": 2})).await.code, 201);
    assert_eq!(asked.all().len(), 0);
}

#[tokio::test]
async fn a_condition_that_fails_is_ignored_by_failure_policy() {
    let server = server().await;
    let expressions = ["object.spec.color == 'red'"];
    let asked = judge(&server, "Mutating", &expressions, "failurePolicy: Ignore,").await;
    assert_eq!(create(&server, json!({})).await.code, 201);
    assert_eq!(asked.all().len(), 0);
}

#[tokio::test]
async fn an_unsupported_condition_is_named() {
    let server = server_in_memory().await;
    let expressions = ["authorizer.group('').resource('pods').check('get').allowed()"];
    judge(&server, "Validating", &expressions, "").await;
    let failed = create(&server, json!({})).await;
    assert_eq!(failed.code, 501);
    let expected = "matchConditions of the admission webhook judge.example.com (";
    assert!(failed.message().contains(expected), "{}", failed.message());
}
