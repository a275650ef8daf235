//! The scenarios: sequences of changes to which the controllers react.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Value, json};

use crate::stage::Stage;

type Running<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;
type Scenario = for<'a> fn(&'a mut Stage) -> Running<'a>;

/// The scenarios, by the namespaces in which they run.
pub fn all() -> Vec<(&'static str, Scenario)> {
    vec![
        ("rollout", |stage| Box::pin(rollout(stage))),
        ("stuck", |stage| Box::pin(stuck(stage))),
        ("recreate", |stage| Box::pin(recreate(stage))),
        ("orphans", |stage| Box::pin(orphans(stage))),
        ("ordered", |stage| Box::pin(ordered(stage))),
        ("daemons", |stage| Box::pin(daemons(stage))),
        ("work", |stage| Box::pin(work(stage))),
        ("failures", |stage| Box::pin(failures(stage))),
        ("suspended", |stage| Box::pin(suspended(stage))),
        ("indexed", |stage| Box::pin(indexed(stage))),
        ("crons", |stage| Box::pin(crons(stage))),
        ("refused", |stage| Box::pin(refused(stage))),
        ("budgets", |stage| Box::pin(budgets(stage))),
    ]
}

/// The maximum number of steps in which a new template is rolled out.
const STEPS: usize = 3;

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "of the template"}},
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [{"name": "main", "image": "web:1", "ports": [{"containerPort": 80}]}],
        },
    })
}

fn workload(kind: &str, spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "web", "labels": {"own": "label"}, "annotations": {"own": "annotation"}},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template()},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

fn image(tag: &str) -> Value {
    let container =
        json!({"name": "main", "image": format!("web:{tag}"), "ports": [{"containerPort": 80}]});
    json!({"spec": {"template": {"spec": {"containers": [container]}}}})
}

async fn rollout(stage: &mut Stage) {
    let spec = json!({"replicas": 3, "revisionHistoryLimit": 1});
    stage
        .create("deployments", workload("Deployment", spec))
        .await;
    stage.run_pods().await;
    stage.lose_pod().await;
    stage.run_pods().await;
    stage
        .patch("deployments/web", json!({"spec": {"replicas": 5}}))
        .await;
    stage.run_pods().await;
    stage.patch("deployments/web", image("2")).await;
    for _ in 0..STEPS {
        stage.run_pods().await;
    }
    stage.patch("deployments/web", image("3")).await;
    for _ in 0..STEPS {
        stage.run_pods().await;
    }
    stage.patch("deployments/web", image("2")).await;
    stage
        .patch(
            "deployments/web",
            json!({"metadata": {"annotations": {"more": "text"}}}),
        )
        .await;
    for _ in 0..STEPS {
        stage.run_pods().await;
    }
    stage
        .patch("deployments/web", json!({"spec": {"replicas": 0}}))
        .await;
    stage
        .delete(
            "deployments/web",
            json!({"propagationPolicy": "Background"}),
        )
        .await;
}

async fn stuck(stage: &mut Stage) {
    let spec =
        json!({"replicas": 4, "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}});
    stage
        .create("deployments", workload("Deployment", spec))
        .await;
    stage.run_pods().await;
    // the new pods never run, and the Deployment is scaled meanwhile
    stage.patch("deployments/web", image("bad")).await;
    stage
        .patch("deployments/web", json!({"spec": {"replicas": 8}}))
        .await;
    stage
        .patch("deployments/web", json!({"spec": {"replicas": 3}}))
        .await;
    stage
        .patch("deployments/web", json!({"spec": {"paused": true}}))
        .await;
    stage.patch("deployments/web", image("worse")).await;
    stage
        .patch("deployments/web", json!({"spec": {"paused": null}}))
        .await;
    stage.patch("deployments/web", image("1")).await;
    stage.run_pods().await;
    stage.run_pods().await;
}

async fn recreate(stage: &mut Stage) {
    let spec = json!({"replicas": 2, "strategy": {"type": "Recreate"}});
    stage
        .create("deployments", workload("Deployment", spec))
        .await;
    stage.run_pods().await;
    stage.patch("deployments/web", image("2")).await;
    stage.run_pods().await;
    stage
        .delete(
            "deployments/web",
            json!({"propagationPolicy": "Foreground"}),
        )
        .await;
}

async fn orphans(stage: &mut Stage) {
    let spec = json!({"replicas": 2});
    stage
        .create("deployments", workload("Deployment", spec.clone()))
        .await;
    stage.run_pods().await;
    stage
        .delete("deployments/web", json!({"propagationPolicy": "Orphan"}))
        .await;
    stage
        .create("deployments", workload("Deployment", spec))
        .await;
}

async fn ordered(stage: &mut Stage) {
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let spec = json!({"replicas": 2, "serviceName": "web", "volumeClaimTemplates": [claim]});
    stage
        .create("statefulsets", workload("StatefulSet", spec))
        .await;
    stage.run_pods().await;
    stage.run_pods().await;
    stage.patch("statefulsets/web", image("2")).await;
    stage.run_pods().await;
    stage.run_pods().await;
    stage.patch("statefulsets/web", image("1")).await;
    stage.run_pods().await;
    stage.run_pods().await;
    stage
        .patch("statefulsets/web", json!({"spec": {"replicas": 1}}))
        .await;
    stage
        .delete(
            "statefulsets/web",
            json!({"propagationPolicy": "Background"}),
        )
        .await;
}

async fn daemons(stage: &mut Stage) {
    stage.node("one").await;
    stage
        .create("daemonsets", workload("DaemonSet", json!({})))
        .await;
    stage.run_pods().await;
    stage.patch("daemonsets/web", image("2")).await;
    stage.run_pods().await;
    stage.delete("daemonsets/web", json!({})).await;
}

fn job(spec: Value) -> Value {
    let mut template = template();
    template["spec"]["restartPolicy"] = "Never".into();
    let mut object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "job"},
        "spec": {"template": template},
    });
    for (field, value) in spec.as_object().unwrap() {
        object["spec"][field] = value.clone();
    }
    object
}

async fn work(stage: &mut Stage) {
    stage
        .create("jobs", job(json!({"completions": 3, "parallelism": 2})))
        .await;
    stage.run_pods().await;
    stage.end_pods("Succeeded").await;
    stage.run_pods().await;
    stage.end_pods("Succeeded").await;
}

async fn failures(stage: &mut Stage) {
    stage
        .create(
            "jobs",
            job(json!({"completions": 2, "parallelism": 2, "backoffLimit": 1})),
        )
        .await;
    stage.run_pods().await;
    stage.end_pods("Failed").await;
}

async fn suspended(stage: &mut Stage) {
    stage.create("jobs", job(json!({"suspend": true}))).await;
    stage
        .patch("jobs/job", json!({"spec": {"suspend": false}}))
        .await;
    stage.run_pods().await;
    stage.end_pods("Succeeded").await;
}

async fn indexed(stage: &mut Stage) {
    stage
        .create(
            "jobs",
            job(json!({"completions": 2, "parallelism": 2, "completionMode": "Indexed"})),
        )
        .await;
    stage.run_pods().await;
    stage.end_pods("Succeeded").await;
}

async fn crons(stage: &mut Stage) {
    let job = job(json!({}));
    let cron = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "cron"},
        "spec": {
            "schedule": "* * * * *",
            "concurrencyPolicy": "Forbid",
            "jobTemplate": {"metadata": {"labels": {"of": "template"}}, "spec": job["spec"]},
        },
    });
    stage.begin("cronjobs", cron).await;
    stage.await_some("jobs").await;
    stage
        .patch("cronjobs/cron", json!({"spec": {"suspend": true}}))
        .await;
    stage.run_pods().await;
    stage.end_pods("Succeeded").await;
}

async fn refused(stage: &mut Stage) {
    let mut web = workload("Deployment", json!({"replicas": 2}));
    web["spec"]["template"]["spec"]["serviceAccountName"] = "robot".into();
    stage.create("deployments", web).await;
    let account = json!({"spec": {"template": {"spec": {"serviceAccountName": "default"}}}});
    stage.patch("deployments/web", account).await;
    stage.run_pods().await;
}

async fn budgets(stage: &mut Stage) {
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    });
    stage.create("poddisruptionbudgets", budget).await;
    let web = workload("Deployment", json!({"replicas": 3}));
    stage.create("deployments", web).await;
    stage.run_pods().await;
    let share = json!({"spec": {"minAvailable": "50%"}});
    stage.patch("poddisruptionbudgets/web", share).await;
    let share = json!({"spec": {"minAvailable": null, "maxUnavailable": "50%"}});
    stage.patch("poddisruptionbudgets/web", share).await;
    stage
        .patch("deployments/web", json!({"spec": {"replicas": 5}}))
        .await;
    stage.run_pods().await;
    stage.lose_pod().await;
}
