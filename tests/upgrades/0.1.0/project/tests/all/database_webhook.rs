//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use kube::{
    Api, Error, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use operator_testing::sample_file;
use serde_json::json;
use versions::api::database::v1::Database;
use versions::controllers::webhooks::database::CREATED_BY;

use crate::support;

#[tokio::test]
async fn database_is_admitted_by_its_webhooks() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let object: Database = sample_file("manifests/samples/databases.programs.example.com.yaml")?;
    let name = object.name_any();
    let objects: Api<Database> = Api::namespaced(server.client(), server.namespace());
    let created = objects.create(&PostParams::default(), &object).await?;
    assert!(
        created.annotations().contains_key(CREATED_BY),
        "the webhook records who created it"
    );

    // a change to which no webhook objects
    let labelled = json!({"metadata": {"labels": {"checked": "yes"}}});
    objects
        .patch(&name, &PatchParams::default(), &Patch::Merge(labelled))
        .await?;

    // one that the webhook refuses
    let stolen = json!({"metadata": {"annotations": {"versions/created-by": "somebody-else"}}});
    let refused = objects
        .patch(&name, &PatchParams::default(), &Patch::Merge(stolen))
        .await;
    let Err(Error::Api(status)) = refused else {
        anyhow::bail!("the webhook refuses nothing");
    };
    assert!(
        status.message.contains("versions/created-by"),
        "{}",
        status.message
    );
    Ok(())
}
