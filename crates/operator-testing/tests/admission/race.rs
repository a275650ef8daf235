//! Concurrent writes during an admission: the webhook itself makes them before it answers.

use serde_json::{Value, json};

use super::*;

/// A server with the widget `a`, of size 1, and a webhook for updates that sends a merge patch whenever the size of the live object is
/// below another.
async fn racing(server: &WebhookServer, kind: &str, below: i64) -> Asked {
    let client = server.client();
    send(&client, "POST", WIDGETS_PATH, &widget(json!({"size": 1}))).await;
    install(server, kind, "race", &rule("UPDATE", "widgets"), "").await;
    answer(server, move |_, request| {
        let client = client.clone();
        async move {
            let size = request["oldObject"]["spec"]["size"].as_i64().unwrap();
            let is_own = request["options"]["fieldManager"] == "race";
            if size < below && !is_own {
                let path = format!("{WIDGET_PATH}?fieldManager=race");
                let body = json!({"spec": {"size": size + 1}});
                let patched = send(&client, "PATCH", &path, &body).await;
                assert_eq!(patched.code, 200);
            }
            allow()
        }
    })
}

fn old_sizes(asked: &Asked) -> Vec<i64> {
    asked
        .all()
        .into_iter()
        .map(|(_, request)| request)
        .filter(|request| request["options"]["fieldManager"] != "race")
        .map(|request| request["oldObject"]["spec"]["size"].as_i64().unwrap())
        .collect()
}

#[tokio::test]
async fn a_patch_with_a_concurrent_change_is_recomputed_and_admitted_again() {
    for kind in ["Mutating", "Validating"] {
        let server = server().await;
        let asked = racing(&server, kind, 3).await;
        let body = json!({"spec": {"color": "red"}});
        let patched = send(&server.client(), "PATCH", WIDGET_PATH, &body).await;
        assert_eq!(patched.code, 200, "{}", patched.body);
        let expected = json!({"size": 3, "taste": "sweet", "color": "red"});
        assert_eq!(patched.body["spec"], expected);
        assert_eq!(old_sizes(&asked), [1, 2, 3]);
    }
}

#[tokio::test]
async fn an_apply_with_a_concurrent_change_is_recomputed() {
    let server = server().await;
    let asked = racing(&server, "Mutating", 2).await;
    let path = format!("{WIDGET_PATH}?fieldManager=applier");
    let applied = send(
        &server.client(),
        "PATCH",
        &path,
        &widget(json!({"color": "red"})),
    )
    .await;
    assert_eq!(applied.code, 200, "{}", applied.body);
    let expected = json!({"size": 2, "taste": "sweet", "color": "red"});
    assert_eq!(applied.body["spec"], expected);
    assert_eq!(old_sizes(&asked), [1, 2]);
    let fields = applied.body["metadata"]["managedFields"]
        .as_array()
        .unwrap();
    let managers: Vec<&str> = fields
        .iter()
        .map(|it| it["manager"].as_str().unwrap())
        .collect();
    let mut managers = managers;
    managers.sort_unstable();
    assert_eq!(managers, ["applier", "race", "tester"]);
}

#[tokio::test]
async fn a_put_of_an_outdated_version_is_a_conflict() {
    let server = server().await;
    racing(&server, "Validating", 2).await;
    let mut live = send(&server.client(), "GET", WIDGET_PATH, &Value::Null)
        .await
        .body;
    live["spec"]["color"] = "red".into();
    let refused = send(&server.client(), "PUT", WIDGET_PATH, &live).await;
    assert_eq!(refused.code, 409, "{}", refused.body);
    assert_eq!(
        refused.message(),
        "Operation cannot be fulfilled on widgets.example.com \"a\": the object has been modified; please apply your changes to the latest version and try again"
    );
}

#[tokio::test]
async fn a_put_without_a_version_is_admitted_again() {
    let server = server().await;
    let client = server.client();
    let path = "/api/v1/namespaces/default/configmaps/a";
    let map = |round: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"round": round}});
    send(
        &client,
        "POST",
        "/api/v1/namespaces/default/configmaps",
        &map("0"),
    )
    .await;
    install(
        &server,
        "Validating",
        "race",
        &rule("UPDATE", "configmaps"),
        "",
    )
    .await;
    let asked = answer(&server, move |_, request| {
        let client = client.clone();
        async move {
            let is_first = request["oldObject"]["data"]["round"] == "0";
            if is_first && request["object"]["data"]["round"] == "2" {
                assert_eq!(send(&client, "PUT", path, &map("1")).await.code, 200);
            }
            allow()
        }
    });
    let replaced = send(&server.client(), "PUT", path, &map("2")).await;
    assert_eq!(replaced.code, 200, "{}", replaced.body);
    assert_eq!(replaced.body["data"]["round"], "2");
    let last = asked.request(2);
    assert_eq!(last["oldObject"]["data"]["round"], "1");
}

#[tokio::test]
async fn a_write_with_endless_concurrent_changes_ends() {
    let server = server_in_memory().await;
    let asked = racing(&server, "Mutating", i64::MAX).await;
    // The maximum of the schema would end the changes.
    server.install(&WIDGETS.replace(", maximum: 10", "")).await;
    let body = json!({"spec": {"color": "red"}});
    let ended = send(&server.client(), "PATCH", WIDGET_PATH, &body).await;
    assert_eq!(ended.code, 504, "{}", ended.body);
    assert_eq!(ended.body["reason"], "Timeout");
    assert_eq!(old_sizes(&asked).len(), 100);
}

/// A server with a webhook that creates the widget `a` when it is asked about another that is to be created.
async fn creating() -> WebhookServer {
    let server = server().await;
    let client = server.client();
    install(
        &server,
        "Validating",
        "race",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    answer(&server, move |_, request| {
        let client = client.clone();
        async move {
            if request["object"]["spec"]["size"] != 9 {
                let body = widget(json!({"size": 9}));
                assert_eq!(send(&client, "POST", WIDGETS_PATH, &body).await.code, 201);
            }
            allow()
        }
    });
    server
}

#[tokio::test]
async fn a_name_that_is_taken_concurrently_is_refused() {
    let server = creating().await;
    let refused = send(
        &server.client(),
        "POST",
        WIDGETS_PATH,
        &widget(json!({"size": 1})),
    )
    .await;
    assert_eq!(refused.code, 409);
    assert_eq!(refused.body["reason"], "AlreadyExists");
    let stored = send(&server.client(), "GET", WIDGET_PATH, &Value::Null).await;
    assert_eq!(stored.body["spec"]["size"], 9);
}

#[tokio::test]
async fn an_apply_becomes_an_update_if_the_object_is_created_concurrently() {
    let server = creating().await;
    let path = format!("{WIDGET_PATH}?fieldManager=applier");
    let applied = send(
        &server.client(),
        "PATCH",
        &path,
        &widget(json!({"color": "red"})),
    )
    .await;
    assert_eq!(applied.code, 200, "{}", applied.body);
    let expected = json!({"size": 9, "taste": "sweet", "color": "red"});
    assert_eq!(applied.body["spec"], expected);
}

#[tokio::test]
async fn nothing_is_created_in_a_namespace_that_is_deleted_concurrently() {
    let server = server_in_memory().await;
    server
        .install("{apiVersion: v1, kind: Namespace, metadata: {name: brief}}")
        .await;
    install(
        &server,
        "Validating",
        "race",
        &rule("CREATE", "widgets"),
        "",
    )
    .await;
    let client = server.client();
    answer(&server, move |_, _| {
        let client = client.clone();
        async move {
            let path = "/api/v1/namespaces/brief";
            assert_eq!(send(&client, "DELETE", path, &Value::Null).await.code, 200);
            allow()
        }
    });
    let path = "/apis/example.com/v1/namespaces/brief/widgets";
    let refused = send(&server.client(), "POST", path, &widget(json!({}))).await;
    assert_eq!(refused.code, 404, "{}", refused.body);
}
