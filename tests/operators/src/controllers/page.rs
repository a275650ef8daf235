//! Reconciles [`Page`]: a ConfigMap holds its title.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt, api::ListParams};
use operator_runtime::{Action, Context, EventType, Reconciler, Result, Setup};

use crate::{
    api::page::v1::{Page, PageSpec, PageStatus},
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
        order: Mutex::default(),
    })
}

pub struct PageReconciler {
    variant: Variant,
    /// The pages that were seen, by their names, for variants that remember them.
    seen: Mutex<HashMap<String, Page>>,
    /// The pages in the order in which they were seen, for variants that number them.
    order: Mutex<Vec<Page>>,
}

impl Reconciler for PageReconciler {
    type Resource = Page;

    async fn reconcile(&self, page: Arc<Page>, cx: &Context) -> Result<Action> {
        match self.variant {
            Variant::PanicsAtTheSecondObject => self.only_one(&page),
            Variant::SharedState => self.remember(&page),
            // the mistake: what belongs to one object is done once
            Variant::FirstObjectOnly if self.number(&page).0 > 0 => {
                return Ok(Action::await_change());
            }
            Variant::FirstSpecForAll => {
                let mut like_first = Page::clone(&page);
                like_first.spec = self.number(&page).1;
                cx.apply(&config_map(&like_first, cx, page.name_any())?)
                    .await?;
                return status(&page, cx).await;
            }
            Variant::NumbersItsObjects => {
                let mut child = config_map(&page, cx, page.name_any())?;
                let (number, _) = self.number(&page);
                let data = child.data.get_or_insert_default();
                data.insert("number".into(), number.to_string());
                cx.apply(&child).await?;
                return status(&page, cx).await;
            }
            Variant::OneObjectOnly if another_is_published(&page, cx).await? => {
                let refused = PageStatus {
                    observed_generation: page.metadata.generation,
                    title: Some("another page is published".into()),
                };
                cx.update_status(&*page, &refused).await?;
                return Ok(Action::requeue(Duration::from_secs(30)));
            }
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
                let shown = page.status.as_ref().and_then(|it| it.title.as_ref());
                if shown != Some(title) {
                    cx.event(&*page, EventType::Normal, "Seen", title).await;
                }
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

    /// The number of the page, in the order in which pages were seen, and the spec of the first one.
    fn number(&self, page: &Page) -> (usize, PageSpec) {
        let mut order = self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let known = order.iter().position(|it| it.uid() == page.uid());
        let number = known.unwrap_or_else(|| {
            order.push(page.clone());
            order.len() - 1
        });
        (number, order[0].spec.clone())
    }

    /// The mistake: what was seen first is never brought up to date.
    fn cached(&self, page: &Page) -> Page {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(page.name_any()).or_insert(page.clone()).clone()
    }
}

async fn another_is_published(page: &Page, cx: &Context) -> Result<bool> {
    let pages = Api::<Page>::namespaced(cx.client(), &page.namespace().unwrap_or_default());
    let pages = pages.list(&ListParams::default()).await?;
    let is_published = |it: &&Page| {
        let status = it.status.as_ref();
        it.uid() != page.uid()
            && status.is_some_and(|status| status.title.as_ref() == Some(&it.spec.title))
    };
    Ok(pages.iter().find(is_published).is_some())
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
