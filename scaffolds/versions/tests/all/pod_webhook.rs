//! Runs the operator on an API server in memory, or on a real one with OPERATOR_TEST_SERVER=assets.

use anyhow::Result;
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Error, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use operator_testing::sample_file;
use serde_json::json;
use versions::controllers::webhooks::pod::CREATED_BY;

use crate::support;

#[tokio::test]
async fn pod_is_admitted_by_its_webhooks() -> Result<()> {
    // start an API server and the operator, which has the permissions of its service account
    let server = support::start().await?;

    let object: Pod = sample_file("manifests/samples/pods.yaml")?;
    let name = object.name_any();
    let objects: Api<Pod> = Api::namespaced(server.client(), server.namespace());
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
