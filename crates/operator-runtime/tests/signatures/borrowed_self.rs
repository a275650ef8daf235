//! The handler borrows the controller, which a call cannot lend for so long.

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
    async fn created(&self, _: Call<ConfigMap>) -> Result<()> {
        Ok(())
    }
}
