//! A sub-handler for each item of a [`Basket`]: one that fails is retried alone.

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use operator_runtime::{
    Error, Result, Setup,
    handlers::{Call, Handlers, Registry},
};

use crate::{api::basket::v1::Basket, log::Log};

pub async fn setup(setup: Setup) -> Result<BasketHandlers> {
    Ok(BasketHandlers {
        log: setup.shared(),
    })
}

pub struct BasketHandlers {
    log: Arc<Log>,
}

impl Handlers for BasketHandlers {
    type Resource = Basket;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("pack", Self::pack).result("packed");
    }
}

impl BasketHandlers {
    /// Called again until all sub-handlers have ended. Returns the number of items, which the runtime writes to the status.
    async fn pack(self: Arc<Self>, call: Call<Basket>) -> Result<usize> {
        let items = &call.object().spec.items;
        for item in items {
            call.sub_handler(item, async |call| self.pack_item(item, &call))
                .await?;
        }
        Ok(items.len())
    }

    fn pack_item(&self, item: &str, call: &Call<Basket>) -> Result<()> {
        self.log
            .add(format!("{} {}", call.handler(), call.attempt()));
        if item == "eggs" && call.attempt() == 1 {
            let delay = Duration::from_millis(100);
            return Err(Error::temporary(delay, anyhow!("they fell down")));
        }
        Ok(())
    }
}
