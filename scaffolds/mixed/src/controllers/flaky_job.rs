//! Errors are retried: the first attempts for each [`FlakyJob`] fail, and its status counts them.

use operator_runtime::{Applied, Declarative, Desired, Error, Observed, Result, Setup, Status};

use crate::api::flaky_job::v1::{FlakyJob, FlakyJobStatus};

pub async fn setup(_setup: Setup) -> Result<FlakyJobController> {
    Ok(FlakyJobController)
}

pub struct FlakyJobController;

impl Declarative for FlakyJobController {
    type Resource = FlakyJob;

    fn desired(&self, job: &FlakyJob, _observed: &Observed) -> Result<Desired<FlakyJob>> {
        let failures = failures(job);
        if failures < job.spec.failures() {
            return Err(anyhow::anyhow!("attempt {} fails", failures + 1).into());
        }
        Ok(Desired::new())
    }

    fn status(
        &self,
        job: &FlakyJob,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<FlakyJob>> {
        let failures = failures(job) + i32::from(result.is_err());
        Ok(Status::new(FlakyJobStatus {
            failures: Some(failures),
        }))
    }
}

fn failures(job: &FlakyJob) -> i32 {
    job.status
        .as_ref()
        .and_then(|status| status.failures)
        .unwrap_or_default()
}
