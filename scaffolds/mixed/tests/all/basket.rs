//! Each item is packed once, and the one that fails is packed again, alone.

use anyhow::Result;
use kube::{Api, api::PostParams};
use mixed::{
    api::basket::v1::{Basket, BasketSpec},
    log::Log,
};

use crate::support;

#[tokio::test]
async fn basket_packs_each_item_once() -> Result<()> {
    let server = support::start().await?;
    let log = support::shared(&server).get::<Log>();
    let baskets: Api<Basket> = Api::namespaced(server.client(), server.namespace());
    let items = ["bread", "eggs", "milk"].map(String::from).into();
    let basket = Basket::new("picnic", BasketSpec { items });
    baskets.create(&PostParams::default(), &basket).await?;
    server
        .eventually("all items are packed", async || {
            let status = baskets.get("picnic").await.ok()?.status?;
            (status.packed? == 3).then_some(())
        })
        .await;
    let packed = ["pack/bread 1", "pack/eggs 1", "pack/milk 1", "pack/eggs 2"];
    assert_eq!(log.lines(), packed);
    Ok(())
}
