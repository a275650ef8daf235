//! The handler of an update takes the call of a creation.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use operator_runtime::{
    Result,
    handlers::{Call, Handlers, Registry},
};

pub struct Copies;

impl Handlers for Copies {
    type Resource = ConfigMap;

    fn register(&self, on: &mut Registry<Self>) {
        on.update("changed", Self::changed);
    }
}

impl Copies {
    async fn changed(self: Arc<Self>, _: Call<ConfigMap>) -> Result<()> {
        Ok(())
    }
}
