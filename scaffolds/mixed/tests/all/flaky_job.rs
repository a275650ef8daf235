//! An error is retried, and each failed attempt is counted.

use anyhow::Result;
use kube::{Api, api::PostParams};
use mixed::api::flaky_job::v1::{FlakyJob, FlakyJobSpec};

use crate::support;

#[tokio::test]
async fn flaky_job_is_retried_until_it_succeeds() -> Result<()> {
    let server = support::start().await?;
    let jobs: Api<FlakyJob> = Api::namespaced(server.client(), server.namespace());
    let spec = FlakyJobSpec { failures: Some(3) };
    jobs.create(&PostParams::default(), &FlakyJob::new("flaky", spec))
        .await?;
    server
        .eventually("three attempts have failed", async || {
            let failures = jobs.get("flaky").await.ok()?.status?.failures?;
            (failures == 3).then_some(())
        })
        .await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert_eq!(
        jobs.get("flaky")
            .await?
            .status
            .and_then(|status| status.failures),
        Some(3)
    );
    Ok(())
}
