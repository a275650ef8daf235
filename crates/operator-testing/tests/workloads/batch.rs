//! Jobs and CronJobs.

use std::time::Duration;

use k8s_openapi::api::batch::v1::{CronJob, Job, JobStatus};
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use operator_testing::Server;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{DELAY, api, deployment, install, members, patch, pods, server};

fn job(spec: Value) -> Value {
    let containers = json!([{"name": "main", "image": "work:1"}]);
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": containers}}},
    });
    for (field, value) in spec.as_object().unwrap() {
        job["spec"][field] = value.clone();
    }
    job
}

fn failing(mut job: Value) -> Value {
    job["spec"]["template"]["metadata"]["annotations"] =
        json!({"operator-testing/outcome": "fails"});
    job
}

async fn status(server: &Server) -> JobStatus {
    let job: Job = api(server).get("work").await.unwrap();
    job.status.unwrap_or_default()
}

/// The conditions that are true, as `type reason`.
async fn conditions(server: &Server) -> Vec<String> {
    let conditions = status(server)
        .await
        .conditions
        .unwrap_or_default()
        .into_iter();
    conditions
        .filter(|condition| condition.status == "True")
        .map(|condition| format!("{} {}", condition.type_, condition.reason.unwrap()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_complete_when_its_pods_have_succeeded() {
    let server = server();
    install(&server, job(json!({"completions": 3, "parallelism": 2}))).await;
    let begun = status(&server).await;
    assert_eq!(
        (begun.active, begun.ready, begun.succeeded),
        (Some(2), Some(0), None)
    );
    sleep(DELAY).await;
    assert_eq!(status(&server).await.ready, Some(2));
    sleep(DELAY).await;
    let halfway = status(&server).await;
    assert_eq!((halfway.active, halfway.succeeded), (Some(1), Some(2)));
    assert_eq!(conditions(&server).await, Vec::<String>::new());
    sleep(2 * DELAY).await;
    let done = status(&server).await;
    assert_eq!(
        (done.active, done.succeeded, done.failed),
        (None, Some(3), None)
    );
    assert!(done.completion_time >= done.start_time && done.start_time.is_some());
    assert_eq!(
        conditions(&server).await,
        [
            "SuccessCriteriaMet CompletionsReached",
            "Complete CompletionsReached"
        ]
    );
    let left = pods(&server).await;
    assert_eq!(left.len(), 3);
    assert!(left.iter().all(|pod| pod.finalizers().is_empty()));
}

#[tokio::test(start_paused = true)]
async fn a_job_retries_until_its_backoff_limit() {
    let server = server();
    install(&server, failing(job(json!({"backoffLimit": 2})))).await;
    sleep(DELAY).await;
    assert_eq!(status(&server).await.failed, Some(1));
    assert_eq!(pods(&server).await.len(), 1, "the next try waits");
    sleep(2 * DELAY).await;
    assert_eq!(status(&server).await.failed, Some(2));
    sleep(3 * DELAY).await;
    let failed = status(&server).await;
    assert_eq!(
        (failed.active, failed.failed, failed.completion_time),
        (None, Some(3), None)
    );
    assert_eq!(
        conditions(&server).await,
        [
            "FailureTarget BackoffLimitExceeded",
            "Failed BackoffLimitExceeded"
        ]
    );
    assert_eq!(pods(&server).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn restarts_of_a_pod_count_against_the_backoff_limit() {
    let server = server();
    let mut job = failing(job(json!({"backoffLimit": 2})));
    job["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure".into();
    install(&server, job).await;
    sleep(DELAY).await;
    assert_eq!(members(&server).await.len(), 1);
    sleep(20 * DELAY).await;
    assert_eq!(
        conditions(&server).await,
        [
            "FailureTarget BackoffLimitExceeded",
            "Failed BackoffLimitExceeded"
        ]
    );
    assert_eq!(members(&server).await.len(), 0);
    assert_eq!(status(&server).await.failed, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_recovers_is_complete() {
    let server = server();
    install(&server, failing(job(json!({"backoffLimit": 0})))).await;
    let pod = pods(&server).await[0].name_any();
    let cure = json!({"metadata": {"annotations": {"operator-testing/outcome": null}}});
    patch(&api::<k8s_openapi::api::core::v1::Pod>(&server), &pod, cure).await;
    sleep(2 * DELAY).await;
    assert_eq!(status(&server).await.succeeded, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_at_its_deadline() {
    let server = server();
    let mut job = job(json!({"activeDeadlineSeconds": 30}));
    job["spec"]["template"]["metadata"]["annotations"] =
        json!({"operator-testing/outcome": "ready"});
    install(&server, job).await;
    sleep(Duration::from_secs(28)).await;
    assert_eq!(conditions(&server).await, Vec::<String>::new());
    sleep(Duration::from_secs(4)).await;
    assert_eq!(
        conditions(&server).await,
        ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_has_no_pods_until_it_is_resumed() {
    let server = server();
    install(&server, job(json!({"suspend": true}))).await;
    assert_eq!(conditions(&server).await, ["Suspended JobSuspended"]);
    assert_eq!(pods(&server).await.len(), 0);
    patch(
        &api::<Job>(&server),
        "work",
        json!({"spec": {"suspend": false}}),
    )
    .await;
    sleep(2 * DELAY).await;
    assert_eq!(status(&server).await.succeeded, Some(1));
}

#[tokio::test(start_paused = true)]
async fn the_pods_of_an_indexed_job_have_indexes() {
    let server = server();
    install(
        &server,
        job(json!({"completions": 4, "parallelism": 3, "completionMode": "Indexed"})),
    )
    .await;
    sleep(2 * DELAY).await;
    assert_eq!(
        status(&server).await.completed_indexes.as_deref(),
        Some("0-2")
    );
    sleep(2 * DELAY).await;
    assert_eq!(
        status(&server).await.completed_indexes.as_deref(),
        Some("0-3")
    );
    assert_eq!(conditions(&server).await.len(), 2);
    let last = pods(&server).await.pop().unwrap();
    assert_eq!(last.spec.unwrap().hostname.as_deref(), Some("work-3"));
}

#[tokio::test(start_paused = true)]
async fn a_job_is_deleted_after_its_time_to_live() {
    let server = server();
    install(&server, job(json!({"ttlSecondsAfterFinished": 60}))).await;
    sleep(Duration::from_secs(59)).await;
    assert_eq!(conditions(&server).await.len(), 2);
    sleep(Duration::from_secs(5)).await;
    assert!(api::<Job>(&server).get_opt("work").await.unwrap().is_none());
    assert_eq!(pods(&server).await.len(), 0);
}

fn cron_job(spec: Value) -> Value {
    let mut cron = job(json!({}));
    cron["kind"] = "CronJob".into();
    let template = json!({"spec": cron["spec"].take()});
    cron["spec"] = json!({"schedule": "*/10 * * * *", "jobTemplate": template});
    for (field, value) in spec.as_object().unwrap() {
        cron["spec"][field] = value.clone();
    }
    cron
}

async fn jobs(server: &Server) -> Vec<Job> {
    let jobs: Api<Job> = api(server);
    jobs.list(&ListParams::default()).await.unwrap().items
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_starts_scheduled_jobs_and_keeps_its_history_limit() {
    const TIME: Duration = Duration::from_secs(600);
    let server = server();
    install(&server, cron_job(json!({"successfulJobsHistoryLimit": 2}))).await;
    assert_eq!(jobs(&server).await.len(), 0);
    sleep(TIME).await;
    let [first] = jobs(&server).await.try_into().unwrap();
    let cron: CronJob = api(&server).get("work").await.unwrap();
    let begun = cron
        .status
        .as_ref()
        .unwrap()
        .last_schedule_time
        .clone()
        .unwrap();
    let minutes = begun.0.as_second() / 60;
    assert_eq!(minutes % 10, 0);
    assert_eq!(first.name_any(), format!("work-{minutes}"));
    assert_eq!(first.owner_references()[0].uid, cron.uid().unwrap());
    sleep(4 * TIME + 3 * DELAY).await;
    assert_eq!(jobs(&server).await.len(), 2);
    let cron: CronJob = api(&server).get("work").await.unwrap();
    let status = cron.status.unwrap();
    assert!(status.last_successful_time >= status.last_schedule_time);
    let ahead = status
        .last_schedule_time
        .unwrap()
        .0
        .duration_since(Timestamp::now());
    assert!(
        ahead.as_secs() > 2000,
        "the times are those of the test's clock: {ahead}"
    );
    // after a year without a request, only one missed time is caught up
    sleep(Duration::from_secs(365 * 24 * 3600)).await;
    jobs(&server).await;
    sleep(3 * DELAY).await;
    assert_eq!(jobs(&server).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_waits_for_its_time_after_an_earlier_pod_event() {
    const TIME: i128 = 600_000_000_000;
    let server = server();
    install(&server, cron_job(json!({}))).await;
    let until = TIME - Timestamp::now().as_nanosecond() % TIME;
    let until = Duration::from_nanos(u64::try_from(until + TIME).unwrap());
    sleep(until.checked_sub(DELAY).unwrap() - DELAY / 8).await;
    let before = jobs(&server).await.len();
    install(&server, deployment(1)).await;
    // the pod is ready an eighth of a delay before the CronJob's next time
    sleep(2 * DELAY).await;
    assert_eq!(jobs(&server).await.len(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_cron_job_can_forbid_concurrent_jobs() {
    for (policy, expected) in [("Allow", 3), ("Forbid", 1), ("Replace", 1)] {
        let server = server();
        let mut cron = cron_job(json!({"concurrencyPolicy": policy}));
        let template = &mut cron["spec"]["jobTemplate"]["spec"]["template"];
        template["metadata"]["annotations"] = json!({"operator-testing/outcome": "ready"});
        install(&server, cron).await;
        sleep(Duration::from_secs(1800)).await;
        let jobs = jobs(&server).await;
        assert_eq!(jobs.len(), expected, "{policy}");
        let cron: CronJob = api(&server).get("work").await.unwrap();
        let active = cron.status.unwrap().active.unwrap();
        assert_eq!(active.len(), expected, "{policy}");
    }
}
