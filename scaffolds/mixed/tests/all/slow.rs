//! The wall time falls with the workers, on a clock that jumps ahead.

use std::{num::NonZeroU16, time::Duration};

use anyhow::Result;
use k8s_openapi::api::batch::v1::CronJob;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use mixed::{calls::Calls, controllers::slow::Workers};
use operator_runtime::Settings;
use operator_testing::{Server, sample_file};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::support;

#[tokio::test(start_paused = true)]
async fn slow_takes_less_time_with_more_workers() -> Result<()> {
    for (workers, seconds) in [(1, 8), (2, 4), (4, 2), (8, 1)] {
        let server = Server::in_memory();
        server.install_kustomization("manifests").await?;
        let cron_jobs: Api<CronJob> = Api::default_namespaced(server.client());
        let mut cron_job: CronJob = sample_file("manifests/samples/cronjobs.batch.yaml")?;
        let names: Vec<String> = (0..8).map(|index| format!("job-{index}")).collect();
        for name in &names {
            cron_job.metadata.name = Some(name.clone());
            cron_jobs.create(&PostParams::default(), &cron_job).await?;
        }
        let calls = Calls::default();
        let user = format!("system:serviceaccount:{0}:{0}", support::NAME);
        let client = server.client_as(&user);
        let operator = support::operator(client, Settings::for_tests(), server.outcomes()).await?;
        let operator = operator
            .provide(Workers(NonZeroU16::new(workers).unwrap()))
            .provide(calls.clone());
        server.run(operator.run());

        let start = Instant::now();
        let all_have_begun = async {
            while names.iter().any(|name| calls.of(name) == 0) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(60), all_have_begun).await?;
        // the last ones have begun; each takes a second
        let took = start.elapsed() + Duration::from_secs(1);
        let expected = Duration::from_secs(seconds);
        let fits = took >= expected && took < expected + Duration::from_millis(500);
        assert!(fits, "{took:?} with {workers} workers");

        // each of these changes an object that is being reconciled
        for number in 0..6 {
            let change =
                Patch::Merge(json!({"metadata": {"labels": {"number": number.to_string()}}}));
            cron_jobs
                .patch("job-0", &PatchParams::default(), &change)
                .await?;
            sleep(Duration::from_millis(300)).await;
        }
        assert!(calls.of("job-0") > 1 && !calls.overlaps());
        assert!(calls.most_at_once() <= usize::from(workers));
    }
    Ok(())
}
