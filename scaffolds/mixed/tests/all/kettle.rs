//! Daemons that fail to start, that end, and that do not; a timer that waits until its object is idle; and what they share.

use anyhow::Result;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use mixed::{
    api::kettle::v1::{Kettle, KettleSpec},
    controllers::kettle::{GRACE, IDLE, INTERVAL},
    log::Log,
};
use serde_json::json;
use tokio::time::Instant;

use crate::support;

#[tokio::test]
async fn kettle_is_heated_and_measured() -> Result<()> {
    let server = support::start().await?;
    let log = support::shared(&server).get::<Log>();
    let kettles: Api<Kettle> = Api::namespaced(server.client(), server.namespace());
    let with_prefix = |prefix: &str| {
        let lines = log.lines();
        let rests = lines.iter().filter_map(|line| line.strip_prefix(prefix));
        rests.map(str::to_owned).collect::<Vec<String>>()
    };
    let kettle = Kettle::new("tea", KettleSpec { liters: 1 });
    kettles.create(&PostParams::default(), &kettle).await?;
    server
        .eventually("the memo has the heat", async || {
            let measured = with_prefix("1 liters: ");
            let degrees: u32 = measured.last()?.parse().ok()?;
            (degrees > 0).then_some(())
        })
        .await;
    assert_eq!(with_prefix("heat "), ["1", "2", "3"]);

    // a change delays the timer
    let changed = Instant::now();
    let edit = Patch::Merge(json!({"spec": {"liters": 2}}));
    kettles.patch("tea", &PatchParams::default(), &edit).await?;
    let measured = async |times| {
        let is_measured = async || (with_prefix("2 liters: ").len() >= times).then_some(());
        server.eventually("the timer is called", is_measured).await;
    };
    measured(1).await;
    assert!(changed.elapsed() >= IDLE, "{:?}", changed.elapsed());
    measured(3).await;
    let at_least = IDLE + 2 * INTERVAL;
    assert!(changed.elapsed() >= at_least, "{:?}", changed.elapsed());

    let deleted = Instant::now();
    kettles.delete("tea", &DeleteParams::default()).await?;
    server
        .eventually("both daemons have ended", async || {
            let lines = log.lines();
            let expected = ["heat ends", "hiss goes on", "hiss is aborted"];
            let has = |it: &str| lines.iter().any(|line| line == it);
            expected.into_iter().all(has).then_some(())
        })
        .await;
    assert!(deleted.elapsed() >= GRACE, "{:?}", deleted.elapsed());
    Ok(())
}
