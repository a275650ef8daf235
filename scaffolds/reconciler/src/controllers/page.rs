//! The second of a chain: a Page, which a [`Site`](crate::api::site::v1::Site) owns, owns a ConfigMap. Nothing here depends on the owner: a Page
//! without one works as well.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{Action, Condition, Context, Reconciler, Result, Setup};

use crate::api::page::v1::Page;

pub async fn setup(_setup: Setup) -> Result<PageReconciler> {
    Ok(PageReconciler)
}

pub struct PageReconciler;

impl Reconciler for PageReconciler {
    type Resource = Page;

    async fn reconcile(&self, page: Arc<Page>, cx: &Context) -> Result<Action> {
        let applied = cx.apply(&config_map(&page, cx)).await;
        let ready = match &applied {
            Ok(_) => Condition::new("Ready", true, "Published", "the ConfigMap has the text"),
            Err(error) => Condition::new("Ready", false, "ApplyFailed", error.summary()),
        };
        let generation = page.metadata.generation;
        let mut status = page.status.clone().unwrap_or_default();
        ready.set_in(status.conditions.get_or_insert_default(), generation)?;
        cx.update_status(&*page, &status).await?;
        applied?;
        Ok(Action::await_change())
    }
}

fn config_map(page: &Page, cx: &Context) -> ConfigMap {
    let html = format!("<p>{}</p>", page.spec.text);
    ConfigMap {
        metadata: cx.child_metadata(page, page.name_any()),
        data: Some(BTreeMap::from([("index.html".into(), html)])),
        ..Default::default()
    }
}
