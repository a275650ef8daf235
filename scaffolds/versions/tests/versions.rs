//! Clients of all versions, and objects that were stored before the storage version changed. Runs on an API server in memory, or on a
//! real one with OPERATOR_TEST_SERVER=assets.

use std::time::Duration;

use anyhow::{Context, Result};
use kube::{
    Api, Error,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use versions::api::database::{v1, v1alpha1, v1beta1};

#[path = "all/support/mod.rs"]
mod support;

/// An object as a client of the first version writes it.
fn old() -> Value {
    json!({
        "apiVersion": "programs.example.com/v1alpha1",
        "kind": "Database",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {
            "engine": "postgres:16.2",
            "size": 3,
            "backupSchedule": "0 3 * * *",
            "allowedNetwork": "10.0.0.0/8",
            "mode": "Safe",
            "debug": true,
        },
    })
}

#[tokio::test]
async fn clients_of_all_versions_see_one_object() -> Result<()> {
    let server = support::start().await?;
    let client = server.client();
    let first: Api<v1alpha1::Database> = Api::default_namespaced(client.clone());
    let second: Api<v1beta1::Database> = Api::default_namespaced(client.clone());
    let third: Api<v1::Database> = Api::default_namespaced(client);

    let database = serde_json::from_value(old())?;
    first.create(&PostParams::default(), &database).await?;

    let spec = serde_json::to_value(second.get("orders").await?.spec)?;
    let expected = json!({
        "engine": "postgres",
        "engineVersion": "16.2",
        "replicas": 3,
        "backup": {"schedule": "0 3 * * *"},
        "allowedNetworks": ["10.0.0.0/8"],
        "mode": "Safe",
        "debug": true,
    });
    assert_eq!(spec, expected);
    let spec = serde_json::to_value(third.get("orders").await?.spec)?;
    let expected = json!({
        "engine": {"name": "postgres", "version": "16.2"},
        "replicas": 3,
        "backup": {"schedule": "0 3 * * *", "retentionDays": 7},
        "allowedNetworks": ["10.0.0.0/8"],
        "mode": "Safe",
    });
    assert_eq!(spec, expected);

    // what only v1 can hold survives a change by a client of v1alpha1, and the other way round
    let parameters = PatchParams::default();
    let patch =
        Patch::Merge(json!({"spec": {"mode": "Paranoid", "backup": {"retentionDays": 30}}}));
    third.patch("orders", &parameters, &patch).await?;
    let patch = Patch::Merge(json!({"spec": {"size": 5}}));
    let changed = first.patch("orders", &parameters, &patch).await?;
    let spec = serde_json::to_value(changed.spec)?;
    assert_eq!(
        (&spec["mode"], &spec["debug"]),
        (&json!("Safe"), &json!(true))
    );
    let spec = serde_json::to_value(third.get("orders").await?.spec)?;
    assert_eq!(spec["replicas"], 5);
    assert_eq!(spec["mode"], "Paranoid");
    assert_eq!(spec["backup"]["retentionDays"], 30);

    // but an edit wins
    let patch = Patch::Merge(json!({"spec": {"mode": "Fast"}}));
    first.patch("orders", &parameters, &patch).await?;
    let spec = serde_json::to_value(third.get("orders").await?.spec)?;
    assert_eq!(spec["mode"], "Fast");
    Ok(())
}

#[tokio::test]
async fn clients_apply_their_fields_in_different_versions() -> Result<()> {
    let server = support::start().await?;
    let first: Api<v1alpha1::Database> = Api::default_namespaced(server.client());
    let second: Api<v1beta1::Database> = Api::default_namespaced(server.client());
    let third: Api<v1::Database> = Api::default_namespaced(server.client());
    let apply = |manager: &str| PatchParams::apply(manager);
    let of = |version: &str, spec: Value| {
        let api_version = format!("programs.example.com/{version}");
        let metadata = json!({"name": "orders"});
        Patch::Apply(
            json!({"apiVersion": api_version, "kind": "Database", "metadata": metadata, "spec": spec}),
        )
    };

    let all = json!({"engine": "postgres:16.2", "size": 3, "debug": true});
    first
        .patch("orders", &apply("one"), &of("v1alpha1", all))
        .await?;
    let all = json!({
        "engine": "postgres", "engineVersion": "16.2",
        "allowedNetworks": ["10.0.0.0/8"], "backup": {"schedule": "0 3 * * *"},
    });
    second
        .patch("orders", &apply("two"), &of("v1beta1", all))
        .await?;
    let all = json!({"engine": {"name": "postgres", "version": "16.2"}});
    third
        .patch("orders", &apply("three"), &of("v1", all))
        .await?;
    // they give up fields, of which some are required, and the first one still applies them
    let fewer = json!({"engine": "postgres", "allowedNetworks": ["10.0.0.0/8"]});
    let applied = second
        .patch("orders", &apply("two"), &of("v1beta1", fewer))
        .await?;
    let spec = serde_json::to_value(applied.spec)?;
    let expected = json!({
        "engine": "postgres", "engineVersion": "16.2", "replicas": 3, "debug": true,
        "allowedNetworks": ["10.0.0.0/8"],
    });
    assert_eq!(spec, expected);
    let fewer = json!({"engine": {"name": "postgres"}});
    let applied = third
        .patch("orders", &apply("three"), &of("v1", fewer))
        .await?;
    assert_eq!(applied.spec.engine.version, "16.2");
    let fewer = json!({"engine": "postgres:16.2"});
    let applied = first
        .patch("orders", &apply("one"), &of("v1alpha1", fewer))
        .await?;
    let spec = serde_json::to_value(applied.spec)?;
    let expected = json!({"engine": "postgres:16.2", "size": 1, "allowedNetwork": "10.0.0.0/8"});
    assert_eq!(spec, expected);
    Ok(())
}

#[tokio::test]
async fn a_webhook_judges_requests_of_all_versions() -> Result<()> {
    let server = support::start().await?;
    let first: Api<v1alpha1::Database> = Api::default_namespaced(server.client());
    let database = serde_json::from_value(old())?;
    first.create(&PostParams::default(), &database).await?;

    let patch = Patch::Merge(json!({"spec": {"engine": "mysql:8.4"}}));
    let refused = first.patch("orders", &PatchParams::default(), &patch).await;
    let Err(Error::Api(status)) = refused else {
        anyhow::bail!("another engine is not refused");
    };
    assert_eq!(status.code, 422);
    assert!(
        status.message.contains("spec.engine.name"),
        "{}",
        status.message
    );

    let patch = Patch::Merge(json!({"spec": {"engine": "postgres:17.0"}}));
    first
        .patch("orders", &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_deleted_object_loses_its_finalizer_while_the_operator_is_down() -> Result<()> {
    let mut handle = None;
    let server = support::start_with(|operator| {
        handle = Some(operator.shutdown_handle());
        operator
    })
    .await?;
    let databases: Api<v1::Database> = Api::default_namespaced(server.client());
    let kept: v1::Database = serde_json::from_value(json!({
        "apiVersion": "programs.example.com/v1",
        "kind": "Database",
        "metadata": {"name": "kept", "finalizers": ["example.com/kept"]},
        "spec": {"engine": {"name": "postgres", "version": "16.2"}},
    }))?;
    databases.create(&PostParams::default(), &kept).await?;
    databases.delete("kept", &DeleteParams::default()).await?;
    handle.context("the operator was started")?.shutdown();

    // its webhooks answer until its last request is done
    let mut next = kept;
    for number in 0.. {
        next.metadata.name = Some(format!("next-{number}"));
        match databases.create(&PostParams::default(), &next).await {
            Ok(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            Err(error) => {
                assert!(
                    error.to_string().contains("failed calling webhook"),
                    "{error}"
                );
                break;
            }
        }
    }
    let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    let parameters = PatchParams::default();
    databases.patch("kept", &parameters, &patch).await?;
    assert!(databases.get_opt("kept").await?.is_none());
    Ok(())
}
