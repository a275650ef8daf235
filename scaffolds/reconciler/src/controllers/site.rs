//! The first of a chain: a Site owns a [`Page`], which owns a ConfigMap. It shows two kinds of one operator that know nothing of each other's work:
//! this controller writes a spec, and reads the status that another one writes.

use std::sync::Arc;

use kube::ResourceExt;
use operator_runtime::{Action, Condition, Context, Reconciler, Result, Setup};

use crate::api::{
    page::v1::{Page, PageSpec},
    site::v1::Site,
};

pub async fn setup(_setup: Setup) -> Result<SiteReconciler> {
    Ok(SiteReconciler)
}

pub struct SiteReconciler;

impl Reconciler for SiteReconciler {
    type Resource = Site;

    async fn reconcile(&self, site: Arc<Site>, cx: &Context) -> Result<Action> {
        let page = cx.apply(&page(&site, cx)).await;
        let generation = site.metadata.generation;
        let mut status = site.status.clone().unwrap_or_default();
        ready(&page).set_in(status.conditions.get_or_insert_default(), generation)?;
        cx.update_status(&*site, &status).await?;
        page?;
        Ok(Action::await_change())
    }
}

fn page(site: &Site, cx: &Context) -> Page {
    let spec = PageSpec {
        text: site.spec.text.clone(),
    };
    let mut page = Page::new("", spec);
    page.metadata = cx.child_metadata(site, site.name_any());
    page
}

/// A Site is ready when its Page is, in its current generation.
fn ready(page: &Result<Page>) -> Condition {
    let page = match page {
        Ok(page) => page,
        Err(error) => return Condition::new("Ready", false, "ApplyFailed", error.summary()),
    };
    let mut conditions = page
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let is_ready = conditions.any(|condition| {
        let is_current = condition.observed_generation == page.metadata.generation;
        condition.type_ == "Ready" && condition.status == "True" && is_current
    });
    match is_ready {
        true => Condition::new("Ready", true, "PageReady", "the Page is ready"),
        false => Condition::new("Ready", false, "PageNotReady", "the Page is not ready"),
    }
}
