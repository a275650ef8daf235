//! Each handler fails in its way, is called as often as that demands, and the object is handled in the end.

use anyhow::Result;
use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{ListParams, PostParams},
};
use mixed::{
    api::errand::v1::{Errand, ErrandSpec},
    log::Log,
};

use crate::support;

#[tokio::test]
async fn errand_fails_in_four_ways() -> Result<()> {
    let server = support::start().await?;
    let log = support::shared(&server).get::<Log>();
    let errands: Api<Errand> = Api::namespaced(server.client(), server.namespace());
    let errand = Errand::new("milk", ErrandSpec::default());
    errands.create(&PostParams::default(), &errand).await?;
    let handled = server
        .eventually("all handlers have ended", async || {
            let errand = errands.get("milk").await.ok()?;
            let is_handled = errand.annotations().contains_key("mixed/handled");
            is_handled.then_some(errand)
        })
        .await;
    assert!(!handled.annotations().contains_key("mixed/progress"));

    let attempts = |handler: &str| {
        let lines = log.lines();
        let attempts = lines.iter().filter_map(|line| line.strip_prefix(handler));
        attempts.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(attempts("hopeless "), ["1"]);
    assert_eq!(attempts("patient "), ["1", "2", "3", "4"]);
    assert_eq!(attempts("stubborn "), ["1", "2", "3"]);
    assert_eq!(attempts("strict "), ["1"]);
    // a handler that waits does not keep others from their first attempt
    let first = ["hopeless 1", "patient 1", "stubborn 1", "strict 1"];
    assert_eq!(log.lines()[..4], first);

    let events: Api<Event> = Api::namespaced(server.client(), server.namespace());
    let events = events.list(&ListParams::default()).await?;
    let failed = events
        .iter()
        .filter(|event| event.reason.as_deref() == Some("HandlerFailed"));
    let mut failed: Vec<&str> = failed.filter_map(|it| it.message.as_deref()).collect();
    failed.sort_unstable();
    assert_eq!(
        failed,
        [
            "create handler hopeless: nobody can do this",
            "create handler strict: invalid digit found in string",
            "create handler stubborn: no luck",
        ]
    );
    Ok(())
}
