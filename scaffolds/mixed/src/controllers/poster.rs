//! A ConfigMap for each [`Poster`], which Kubernetes deletes with it, and which gets a new text when that of the poster changes.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{
    Result, Setup,
    handlers::{Call, FieldUpdate, Handlers, Registry},
};

use crate::api::poster::v1::Poster;

pub async fn setup(_setup: Setup) -> Result<PosterHandlers> {
    Ok(PosterHandlers)
}

pub struct PosterHandlers;

impl Handlers for PosterHandlers {
    type Resource = Poster;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("print", Self::print).result("configMap");
        on.field("text", |poster| poster.spec.text.clone(), Self::reprint);
    }
}

impl PosterHandlers {
    /// Returns the name of the ConfigMap, which the runtime writes to the status.
    async fn print(self: Arc<Self>, call: Call<Poster>) -> Result<String> {
        let child = call.cx().apply(&config_map(&call)).await?;
        Ok(child.name_any())
    }

    async fn reprint(self: Arc<Self>, text: FieldUpdate<Poster, String>) -> Result<()> {
        if text.old().is_some() {
            text.cx().apply(&config_map(&text)).await?;
        }
        Ok(())
    }
}

/// The child, with the owner reference.
fn config_map(call: &Call<Poster>) -> ConfigMap {
    let poster = call.object();
    let text = ("text".to_owned(), poster.spec.text.clone());
    ConfigMap {
        metadata: call.cx().child_metadata(&**poster, poster.name_any()),
        data: Some([text].into()),
        ..ConfigMap::default()
    }
}
