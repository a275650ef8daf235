//! Injects faults into the calls of a provider, which manages external resources, and records which of these exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::lock;
use crate::schedule::{NamedFault, Schedule};

/// How late an answer is.
const LATE: Duration = Duration::from_secs(20);

/// A fault that is injected into one call of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProviderFault {
    /// The call fails, and has no effect.
    FailBefore,
    /// The call has its effect, and fails.
    FailAfter,
    /// The call never returns, and has no effect.
    HangBefore,
    /// The call has its effect, and never returns.
    HangAfter,
    /// The call returns 20 seconds later.
    Late,
    /// The operator crashes before the effect of the call.
    CrashBefore,
    /// The operator crashes after the effect of the call, before it returns.
    CrashAfter,
}

impl NamedFault for ProviderFault {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::FailBefore, "fail-before"),
        (Self::FailAfter, "fail-after"),
        (Self::HangBefore, "hang-before"),
        (Self::HangAfter, "hang-after"),
        (Self::Late, "late"),
        (Self::CrashBefore, "crash-before"),
        (Self::CrashAfter, "crash-after"),
    ];
}

/// Injects faults into the calls of a provider, in the runs of [`Trial::assert_survives_provider_faults`]; otherwise it only makes them.
/// [`Outcomes::shared`] returns the one of the run; clones share it.
///
/// [`Trial::assert_survives_provider_faults`]: crate::Trial::assert_survives_provider_faults
/// [`Outcomes::shared`]: crate::Outcomes::shared
#[derive(Clone, Default)]
pub struct ProviderFaults(Arc<Inner>);

#[derive(Default)]
struct Inner {
    schedule: Schedule<ProviderFault>,
    state: Mutex<State>,
    crash: Notify,
}

#[derive(Default)]
struct State {
    /// The calls so far, such as `create of Bucket.example.com default/a`.
    calls: Vec<String>,
    /// The ids of the external resources that exist, by their objects.
    external_resources: BTreeMap<String, BTreeSet<String>>,
    /// The id that the last call of `find` returned.
    last_found: Option<String>,
    /// The first object for which two external resources existed at once, with their ids.
    duplicates: Option<String>,
}

impl ProviderFaults {
    pub(crate) fn new(schedule: Schedule<ProviderFault>) -> Self {
        Self(Arc::new(Inner {
            schedule,
            ..Inner::default()
        }))
    }

    /// Makes a call, with the fault that the schedule has for it. `object` is the kind, the namespace and the name of the object; `method`
    /// is `create`, `delete` or another one; `effect` is the call, which returns the id of its external resource; `failure` creates the
    /// error of a fault.
    pub fn around<'a, E: Send + 'a>(
        &self,
        object: String,
        method: &str,
        effect: BoxFuture<'a, Result<Option<String>, E>>,
        failure: impl FnOnce(&'static str) -> E + Send + 'a,
    ) -> BoxFuture<'a, Result<Option<String>, E>> {
        let (this, method) = (self.clone(), method.to_owned());
        async move {
            use ProviderFault::{
                CrashAfter, CrashBefore, FailAfter, FailBefore, HangAfter, HangBefore, Late,
            };
            let fault = this.begin(&object, &method);
            match fault {
                Some(FailBefore) => return Err(failure("a fault before the effect of the call")),
                Some(HangBefore) => return pending().await,
                Some(CrashBefore) => return this.crash().await,
                _ => {}
            }
            let id = effect.await?;
            this.record(&object, &method, id.as_deref());
            match fault {
                Some(FailAfter) => Err(failure("a fault after the effect of the call")),
                Some(HangAfter) => pending().await,
                Some(CrashAfter) => this.crash().await,
                Some(Late) => {
                    sleep(LATE).await;
                    Ok(id)
                }
                _ => Ok(id),
            }
        }
        .boxed()
    }

    fn begin(&self, object: &str, method: &str) -> Option<ProviderFault> {
        let mut state = self.state();
        let number = state.calls.len();
        state.calls.push(format!("{method} of {object}"));
        self.0.schedule.0.get(&number).copied()
    }

    fn record(&self, object: &str, method: &str, id: Option<&str>) {
        let mut state = self.state();
        if method == "find" {
            state.last_found = id.map(str::to_owned);
        }
        let Some(id) = id else {
            return;
        };
        let ids = state
            .external_resources
            .entry(object.to_owned())
            .or_default();
        match method {
            "create" => drop(ids.insert(id.to_owned())),
            "delete" => drop(ids.remove(id)),
            _ => {}
        }
        if ids.len() > 1 {
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            let duplicates = format!(
                "{object} has two external resources at once: {}",
                ids.join(", ")
            );
            state.duplicates.get_or_insert(duplicates);
        }
    }

    /// Ends the operator, and never returns.
    async fn crash<T>(&self) -> T {
        self.0.crash.notify_one();
        pending().await
    }

    /// Waits for a crash.
    pub(crate) async fn crashed(&self) {
        self.0.crash.notified().await;
    }

    pub(crate) fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    /// The id that the last call of `find` returned.
    pub(crate) fn last_found(&self) -> Option<String> {
        self.state().last_found.clone()
    }

    /// The ids of the external resources that exist, by their objects.
    pub(crate) fn external_resources(&self) -> BTreeMap<String, BTreeSet<String>> {
        let all = self.state().external_resources.clone();
        all.into_iter().filter(|(_, ids)| !ids.is_empty()).collect()
    }

    /// Describes two external resources that existed at once for one object.
    pub(crate) fn duplicates(&self) -> Option<String> {
        self.state().duplicates.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0.state)
    }
}

impl fmt::Debug for ProviderFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderFaults")
            .field("schedule", &self.0.schedule)
            .finish_non_exhaustive()
    }
}
