//! The operator looks again after each interval, though nothing changes.

use anyhow::Result;
use kube::{Api, api::PostParams};
use mixed::api::ticker::v1::{Ticker, TickerSpec};

use crate::support;

#[tokio::test]
async fn ticker_ticks_without_changes() -> Result<()> {
    let server = support::start().await?;
    let tickers: Api<Ticker> = Api::namespaced(server.client(), server.namespace());
    let spec = TickerSpec {
        interval_seconds: Some(1),
    };
    tickers
        .create(&PostParams::default(), &Ticker::new("clock", spec))
        .await?;
    server
        .eventually("three ticks", async || {
            let ticks = tickers.get("clock").await.ok()?.status?.ticks?;
            (ticks >= 3).then_some(())
        })
        .await;
    Ok(())
}
