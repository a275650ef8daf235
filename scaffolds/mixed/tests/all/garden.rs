//! One object has all kinds of handlers.

use anyhow::Result;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::garden::v1::{Garden, GardenSpec},
    log::Log,
};
use serde_json::json;

use crate::support;

#[tokio::test]
async fn garden_has_all_kinds_of_handlers() -> Result<()> {
    let server = support::start().await?;
    let log = support::shared(&server).get::<Log>();
    let logged = async |expected: &[&str]| {
        server
            .eventually(&format!("{expected:?} are logged"), async || {
                let lines = log.lines();
                let mut expected = expected.iter();
                expected
                    .all(|it| lines.iter().any(|line| line == it))
                    .then_some(())
            })
            .await;
        log.take()
    };

    let gardens: Api<Garden> = Api::namespaced(server.client(), server.namespace());
    let plants = ["rose", "oak"].map(str::to_owned).into();
    let mut garden = Garden::new(
        "park",
        GardenSpec {
            plants,
            watered: None,
        },
    );
    garden.labels_mut().insert("public".into(), "yes".into());
    gardens.create(&PostParams::default(), &garden).await?;
    logged(&[
        "park is watched",
        "park rose is planted",
        "park oak is planted",
        "park grows; roses are in [\"park\"]",
    ])
    .await;
    server
        .eventually("the result is in the status", async || {
            let status = gardens.get("park").await.ok()?.status?;
            (status.planted == Some(2)).then_some(())
        })
        .await;

    let edit = Patch::Merge(json!({"spec": {"watered": true}}));
    gardens
        .patch("park", &PatchParams::default(), &edit)
        .await?;
    let lines = logged(&[
        "park has another spec.watered",
        "park watered: Some(true)",
        "park was seen: Modified",
    ])
    .await;
    assert!(
        !lines.iter().any(|line| line.contains("planted")),
        "{lines:?}"
    );

    gardens.delete("park", &DeleteParams::default()).await?;
    let end = ["park is watched no more", "park is cleared", "park is gone"];
    let lines = logged(&end).await;
    let of_end = lines.iter().filter(|line| end.contains(&line.as_str()));
    assert_eq!(of_end.collect::<Vec<_>>(), end);
    Ok(())
}
