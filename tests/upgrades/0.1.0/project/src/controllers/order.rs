//! Packs the items of an [`Order`], each on its own.

use std::{sync::Arc, time::Duration};

use operator_runtime::{
    Error, Result, Setup,
    handlers::{Call, Handlers, Registry},
};

use crate::api::order::v1::Order;

pub async fn setup(_setup: Setup) -> Result<OrderHandlers> {
    Ok(OrderHandlers)
}

pub struct OrderHandlers;

impl Handlers for OrderHandlers {
    type Resource = Order;
    const FINALIZER: Option<&'static str> = Some("example.com/versions");

    fn register(&self, on: &mut Registry<Self>) {
        on.progress_in_status("handlers");
        on.create("pack", Self::pack);
        on.delete("unpack", Self::unpack);
    }
}

impl OrderHandlers {
    async fn pack(self: Arc<Self>, call: Call<Order>) -> Result<()> {
        for item in &call.object().spec.items {
            let packed = async move |_call: Call<Order>| match item.as_str() {
                "broken" => Err(Error::permanent(anyhow::anyhow!("it is broken"))),
                "rare" => {
                    let hour = Duration::from_secs(3600);
                    Err(Error::temporary(
                        hour,
                        anyhow::anyhow!("it is not in stock"),
                    ))
                }
                _ => Ok(()),
            };
            call.sub_handler(item, packed).await?;
        }
        Ok(())
    }

    async fn unpack(self: Arc<Self>, _call: Call<Order>) -> Result<()> {
        Ok(())
    }
}
