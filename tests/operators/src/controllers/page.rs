//! Reconciles [`Page`]: a ConfigMap holds its title.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{Action, Context, EventType, Reconciler, Result, Setup};

use crate::{
    api::page::v1::{Page, PageStatus},
    variant::Variant,
};

pub async fn setup(setup: Setup) -> Result<PageReconciler> {
    let variant = *setup.get::<Variant>().expect("the operator provides it");
    if variant == Variant::SlowStart {
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    Ok(PageReconciler {
        variant,
        seen: Mutex::default(),
    })
}

pub struct PageReconciler {
    variant: Variant,
    /// The pages that were seen, by their names, for variants that remember them.
    seen: Mutex<HashMap<String, Page>>,
}

impl Reconciler for PageReconciler {
    type Resource = Page;

    async fn reconcile(&self, page: Arc<Page>, cx: &Context) -> Result<Action> {
        match self.variant {
            Variant::PanicsAtTheSecondObject => self.only_one(&page),
            Variant::SharedState => self.remember(&page),
            Variant::StaleCache => {
                let cached = self.cached(&page);
                cx.apply(&config_map(&cached, cx, page.name_any())?).await?;
                return status(&page, cx).await;
            }
            Variant::ObservedTooEarly => {
                status(&page, cx).await?;
                cx.apply(&config_map(&page, cx, page.name_any())?).await?;
                return Ok(Action::await_change());
            }
            Variant::NoChildren => return status(&page, cx).await,
            Variant::OnlyEvents => {
                let title = &page.spec.title;
                cx.event(&*page, EventType::Normal, "Seen", title).await;
                return status(&page, cx).await;
            }
            Variant::SlowReconcile => tokio::time::sleep(Duration::from_millis(300)).await,
            Variant::ManyChildren => {
                for part in ["a", "b", "c", "d"] {
                    let name = format!("{}-{part}", page.name_any());
                    cx.apply(&config_map(&page, cx, name)?).await?;
                }
            }
            _ => {}
        }
        cx.apply(&config_map(&page, cx, page.name_any())?).await?;
        status(&page, cx).await
    }
}

impl PageReconciler {
    fn remember(&self, page: &Page) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(page.name_any(), page.clone());
    }

    /// The mistake: state of one object where there are many.
    fn only_one(&self, page: &Page) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(page.name_any(), page.clone());
        assert_eq!(seen.len(), 1, "the page was set already");
    }

    /// The mistake: what was seen first is never brought up to date.
    fn cached(&self, page: &Page) -> Page {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(page.name_any()).or_insert(page.clone()).clone()
    }
}

async fn status(page: &Page, cx: &Context) -> Result<Action> {
    let status = PageStatus {
        observed_generation: page.metadata.generation,
        title: Some(page.spec.title.clone()),
    };
    cx.update_status(page, &status).await?;
    Ok(Action::await_change())
}

fn config_map(page: &Page, cx: &Context, name: String) -> Result<ConfigMap> {
    let spec = serde_json::to_string(&page.spec)?;
    Ok(ConfigMap {
        metadata: cx.child_metadata(page, name),
        data: Some(BTreeMap::from([("spec.json".into(), spec)])),
        ..Default::default()
    })
}
