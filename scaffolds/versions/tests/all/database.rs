//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams},
};
use operator_testing::{condition, sample_file};
use serde_json::json;
use versions::api::database::v1::Database;

use crate::support;

#[tokio::test]
async fn database_manages_its_config_map() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let database: Database = sample_file("manifests/samples/databases.programs.example.com.yaml")?;
    let name = database.name_any();
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());

    // the name is already in use by a ConfigMap that the operator does not control
    let metadata = ObjectMeta {
        name: Some(name.clone()),
        ..Default::default()
    };
    let foreign = ConfigMap {
        metadata,
        ..Default::default()
    };
    let foreign = config_maps.create(&PostParams::default(), &foreign).await?;
    let databases: Api<Database> = Api::namespaced(server.client(), server.namespace());
    databases.create(&PostParams::default(), &database).await?;
    server
        .eventually("Ready is False because the name is in use", async || {
            let database = databases.get(&name).await.ok()?;
            (condition(&database, "Ready")? == "False").then_some(())
        })
        .await;
    assert!(
        config_maps.get(&name).await?.data.is_none(),
        "the operator must not change this ConfigMap"
    );

    // once it is deleted, the operator creates its own
    config_maps.delete(&name, &DeleteParams::default()).await?;
    let created = server
        .eventually("the ConfigMap is created", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.uid() != foreign.uid())
        })
        .await;
    server
        .eventually("Ready is True", async || {
            let database = databases.get(&name).await.ok()?;
            (condition(&database, "Ready")? == "True").then_some(())
        })
        .await;

    assert!(
        created
            .data
            .as_ref()
            .is_some_and(|data| data.contains_key("spec.json"))
    );

    // the operator reverts changes to the ConfigMap
    let drift = json!({"data": {"spec.json": "changed"}});
    config_maps
        .patch(&name, &PatchParams::default(), &Patch::Merge(drift))
        .await?;
    server
        .eventually("the change is reverted", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.data == created.data)
        })
        .await;

    // the operator recreates a deleted ConfigMap
    config_maps.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the ConfigMap is recreated", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .filter(|current| current.uid() != created.uid())
        })
        .await;

    // the ConfigMap is deleted together with the object
    databases.delete(&name, &DeleteParams::default()).await?;
    server
        .eventually("the object is deleted", async || {
            databases.get_opt(&name).await.ok()?.is_none().then_some(())
        })
        .await;
    server
        .eventually("the ConfigMap is deleted", async || {
            config_maps
                .get_opt(&name)
                .await
                .ok()?
                .is_none()
                .then_some(())
        })
        .await;
    Ok(())
}
