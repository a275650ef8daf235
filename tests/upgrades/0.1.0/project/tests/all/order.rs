//! Runs the operator on an API server in memory.

use anyhow::Result;
use kube::{Api, api::PostParams};
use versions::api::order::v1::{Order, OrderSpec};

use crate::support;

#[tokio::test]
async fn order_is_packed() -> Result<()> {
    let server = support::start().await?;
    let items = ["cup", "broken"].map(str::to_owned).into();
    let orders: Api<Order> = Api::namespaced(server.client(), server.namespace());
    orders
        .create(
            &PostParams::default(),
            &Order::new("a", OrderSpec { items }),
        )
        .await?;
    server
        .eventually("it is packed", async || {
            let records = orders.get("a").await.ok()?.status?.handlers?;
            (records.contains_key("handled") && !records.contains_key("progress")).then_some(())
        })
        .await;
    Ok(())
}
