//! Takes a second for each CronJob. It shows that the wall time falls with the number of workers, and that one object is never reconciled twice
//! at once.

use std::{num::NonZeroU16, sync::Arc, time::Duration};

use k8s_openapi::api::batch::v1::CronJob;
use kube::ResourceExt;
use operator_runtime::{Action, Context, ControllerOptions, Reconciler, Result, Setup};

use crate::calls::Calls;

/// How many CronJobs are handled at once.
#[derive(Clone, Copy)]
pub struct Workers(pub NonZeroU16);

pub async fn setup(setup: Setup) -> Result<Slow> {
    let calls = setup.get::<Calls>().map(|calls| Calls::clone(&calls));
    Ok(Slow {
        calls: calls.unwrap_or_default(),
        workers: setup.get::<Workers>().map(|workers| *workers),
    })
}

pub struct Slow {
    calls: Calls,
    workers: Option<Workers>,
}

impl Reconciler for Slow {
    type Resource = CronJob;

    fn options(&self) -> ControllerOptions<CronJob> {
        match self.workers {
            Some(Workers(workers)) => ControllerOptions::default().workers(workers),
            None => ControllerOptions::default(),
        }
    }

    async fn reconcile(&self, cron_job: Arc<CronJob>, _cx: &Context) -> Result<Action> {
        let _running = self.calls.begin(cron_job.name_any());
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(Action::await_change())
    }
}
