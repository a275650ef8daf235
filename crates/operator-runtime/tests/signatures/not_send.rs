//! The handler keeps something during an `await` that must stay in its thread.

use std::{rc::Rc, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use operator_runtime::{
    Result,
    handlers::{Call, Handlers, Registry},
};

pub struct Copies;

impl Handlers for Copies {
    type Resource = ConfigMap;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("created", Self::created);
    }
}

impl Copies {
    async fn created(self: Arc<Self>, call: Call<ConfigMap>) -> Result<()> {
        let kept = Rc::new(1);
        call.sub_handler("part", async |_| Ok(())).await?;
        drop(kept);
        Ok(())
    }
}
