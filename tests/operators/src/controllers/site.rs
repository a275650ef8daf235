//! Reconciles [`Site`]: by the steps of `src/site/`, or by those of the variant.

use std::{sync::Arc, time::Duration};

use operator_runtime::{
    Action, Changed, Context, EventType, ObjectRef, Reconciler, Result, Setup, Store,
};

use crate::{
    api::site::v1::Site,
    site::{broken, steps, unusual},
    variant::Variant,
};

pub async fn setup(setup: Setup) -> Result<SiteReconciler> {
    let variant = *setup.get::<Variant>().expect("the operator provides it");
    Ok(SiteReconciler { variant })
}

pub struct SiteReconciler {
    variant: Variant,
}

impl Reconciler for SiteReconciler {
    type Resource = Site;
    const FINALIZER: Option<&'static str> = Some("web.example.com/operators");

    async fn reconcile(&self, site: Arc<Site>, cx: &Context) -> Result<Action> {
        match self.variant {
            Variant::TransitionTimeNow => broken::transition_time_now(&site, cx).await,
            Variant::ChildOfUnknownName => broken::child_of_unknown_name(&site, cx).await,
            Variant::PanicsWithoutSecret => broken::panics_without_secret(&site, cx).await,
            Variant::NeverUpdatesAChild => broken::never_updates_a_child(&site, cx).await,
            Variant::HashOrder => broken::hash_order(&site, cx).await,
            Variant::ReadyDespiteErrors => broken::ready_despite_errors(&site, cx).await,
            Variant::SkipsWhatItObserved => broken::skips_what_it_observed(&site, cx).await,
            Variant::WritesWholeObject => broken::writes_whole_object(&site, cx).await,
            Variant::ListsEverywhere => broken::lists_everywhere(&site, cx).await,
            Variant::AlwaysFails => broken::always_fails(&site, cx).await,
            Variant::DoesNothing => Ok(Action::await_change()),
            Variant::AnotherValueEachTime => broken::another_value_each_time(&site, cx).await,
            Variant::AdoptsAnothersChild => broken::adopts_anothers_child(&site, cx).await,
            Variant::IgnoresTheDeletion => broken::ignores_the_deletion(&site, cx).await,
            Variant::BlocksItsThread => broken::blocks_its_thread(&site, cx).await,
            Variant::ForgetsAChildOnError => broken::forgets_a_child_on_error(&site, cx).await,
            Variant::SwallowsAConflict => broken::swallows_a_conflict(&site, cx).await,
            Variant::RetriesWithoutDelay => broken::retries_without_delay(&site, cx).await,
            Variant::NeedsAnUndeclaredRight => broken::needs_an_undeclared_right(&site, cx).await,
            Variant::DeclaresAnUnneededRight => broken::declares_an_unneeded_right(&site, cx).await,
            Variant::TakesForeignStatus => broken::takes_foreign_status(&site, cx).await,
            Variant::DropsForeignStatus => broken::drops_foreign_status(&site, cx).await,
            Variant::GenerationPlusOne => broken::generation_plus_one(&site, cx).await,
            Variant::ReadyOfAStaleStatus => broken::ready_of_a_stale_status(&site, cx).await,
            Variant::ReadyOfNoGeneration => broken::ready_of_no_generation(&site, cx).await,
            Variant::SharedSelector => broken::shared_selector(&site, cx).await,
            Variant::SilentFailure => broken::silent_failure(&site, cx).await,
            Variant::HidesAnError => broken::hides_an_error(&site, cx).await,
            Variant::ForgetsAField => broken::forgets_a_field(&site, cx).await,
            Variant::GenerationOfConditions => unusual::generation_of_conditions(&site, cx).await,
            Variant::ReadyWhenApplied => unusual::ready_when_applied(&site, cx).await,
            Variant::ReadyOfTheOld => unusual::ready_of_the_old(&site, cx).await,
            Variant::BestEffortChild => unusual::best_effort_child(&site, cx).await,
            Variant::NeverReady => unusual::never_ready(&site, cx).await,
            Variant::TwoStatusWrites => unusual::two_status_writes(&site, cx).await,
            Variant::ChildByClient => unusual::child_by_client(&site, cx).await,
            Variant::ChildrenAtOnce => unusual::children_at_once(&site, cx).await,
            Variant::LongRequeue => {
                steps::reconcile(&site, cx).await?;
                Ok(Action::requeue(Duration::from_secs(3600)))
            }
            Variant::RegularResync => {
                steps::reconcile(&site, cx).await?;
                Ok(Action::requeue(Duration::from_secs(2)))
            }
            Variant::PollsEachSecond => {
                steps::reconcile(&site, cx).await?;
                Ok(Action::requeue(Duration::from_secs(1)))
            }
            Variant::HotLoop => {
                steps::reconcile(&site, cx).await?;
                Ok(Action::requeue(Duration::from_millis(1)))
            }
            Variant::LoopWithoutDelay => Ok(Action::requeue(Duration::ZERO)),
            Variant::PresentTime => broken::present_time(&site, cx).await,
            Variant::TimeOfAChange => unusual::time_of_a_change(&site, cx).await,
            Variant::EventOfAChange => {
                if steps::observed(&site) != site.metadata.generation {
                    cx.event(&*site, EventType::Normal, "Reconciling", &site.spec.host)
                        .await;
                }
                steps::reconcile(&site, cx).await
            }
            Variant::EventEachTime => {
                cx.event(&*site, EventType::Normal, "Reconciling", &site.spec.host)
                    .await;
                steps::reconcile(&site, cx).await
            }
            _ => steps::reconcile(&site, cx).await,
        }
    }

    async fn cleanup(&self, site: Arc<Site>, cx: &Context) -> Result<()> {
        match self.variant {
            Variant::CleanupNotTwice => broken::cleanup_not_twice(&site, cx).await,
            Variant::NeverLetsGo => broken::never_lets_go(&site).await,
            Variant::LeaksAChild => Ok(()),
            _ => steps::cleanup(&site, cx).await,
        }
    }

    fn parents(&self, changed: &Changed, cache: &Store<Site>) -> Vec<ObjectRef<Site>> {
        if self.variant == Variant::PanicsInParents {
            return broken::panics_in_parents(changed);
        }
        let uses = |site: &Arc<Site>| {
            site.metadata.namespace == changed.metadata.namespace
                && Some(&site.spec.secret_name) == changed.metadata.name.as_ref()
        };
        let sites = cache.state();
        let using = sites.iter().filter(|site| uses(site));
        using.map(|site| ObjectRef::from_obj(&**site)).collect()
    }
}
