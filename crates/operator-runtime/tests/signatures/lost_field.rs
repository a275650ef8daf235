//! The schema has lost the field of a handler.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use operator_runtime::{
    Result,
    handlers::{FieldUpdate, Handlers, Registry},
};

pub struct Copies;

impl Handlers for Copies {
    type Resource = ConfigMap;

    fn register(&self, on: &mut Registry<Self>) {
        on.field("size", |config| config.size, Self::size);
    }
}

impl Copies {
    async fn size(self: Arc<Self>, _: FieldUpdate<ConfigMap, i32>) -> Result<()> {
        Ok(())
    }
}
