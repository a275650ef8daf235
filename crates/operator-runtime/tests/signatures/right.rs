//! Compiles: what the others have wrong is right here.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use operator_runtime::{
    Result,
    handlers::{Call, FieldUpdate, Handlers, Registry, Update},
};

pub struct Copies;

impl Handlers for Copies {
    type Resource = ConfigMap;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("created", Self::created);
        on.update("changed", Self::changed);
        on.field("data", |config| config.data.clone(), Self::data);
    }
}

type Data = Option<std::collections::BTreeMap<String, String>>;

impl Copies {
    async fn created(self: Arc<Self>, _: Call<ConfigMap>) -> Result<()> {
        Ok(())
    }

    async fn changed(self: Arc<Self>, _: Update<ConfigMap>) -> Result<()> {
        Ok(())
    }

    async fn data(self: Arc<Self>, _: FieldUpdate<ConfigMap, Data>) -> Result<()> {
        Ok(())
    }
}
