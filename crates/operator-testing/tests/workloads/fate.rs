//! Annotations that set the fate of pods, and the status that workloads have then.

use super::*;

#[tokio::test(start_paused = true)]
async fn an_annotation_of_the_object_sets_the_fate_of_its_pods() {
    for (outcome, expected) in [
        ("not-ready", "Running"),
        ("fails", "Running CrashLoopBackOff"),
        ("unschedulable", "Pending"),
    ] {
        let server = server();
        let mut web = deployment(1);
        web["spec"]["template"]["metadata"]["annotations"] =
            json!({"operator-testing/outcome": outcome});
        install(&server, web).await;
        sleep(DELAY).await;
        assert_eq!(state(&server).await, expected, "{outcome}");
        assert_eq!(counts(&server).await, "0/1/1", "{outcome}");
        sleep(Duration::from_secs(610)).await;
        assert_eq!(
            condition(&server, "Progressing").await,
            "False ProgressDeadlineExceeded"
        );
        // the same pod recovers
        let pod = pods(&server).await[0].name_any();
        let annotation = json!({"metadata": {"annotations": {"operator-testing/outcome": null}}});
        patch(&api::<Pod>(&server), &pod, annotation).await;
        sleep(2 * DELAY).await;
        assert_eq!(counts(&server).await, "1/1/1", "{outcome}");
        assert_eq!(
            condition(&server, "Progressing").await,
            "True NewReplicaSetAvailable"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_annotation_of_the_namespace_sets_the_fate_of_its_pods() {
    let server = server();
    let namespaces = Api::<Namespace>::all(server.client());
    let outcome = |outcome: Value| json!({"metadata": {"annotations": {"operator-testing/outcome": outcome}}});
    install(&server, deployment(1)).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
    patch(&namespaces, "default", outcome("not-ready".into())).await;
    assert_eq!(counts(&server).await, "0/1/1");
    patch(&namespaces, "default", outcome(Value::Null)).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn an_invalid_image_cannot_be_pulled() {
    let server = server();
    let mut web = deployment(1);
    web["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.invalid/web:1".into();
    install(&server, web).await;
    assert_eq!(state(&server).await, "Pending ContainerCreating");
    sleep(DELAY).await;
    assert_eq!(state(&server).await, "Pending ImagePullBackOff");
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:1"}]}}}});
    patch(&api::<Deployment>(&server), "web", image).await;
    sleep(4 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn pods_are_available_after_min_ready_seconds() {
    let server = server();
    let mut web = deployment(1);
    web["spec"]["minReadySeconds"] = 30.into();
    install(&server, web).await;
    sleep(DELAY + Duration::from_secs(28)).await;
    assert_eq!(
        condition(&server, "Available").await,
        "False MinimumReplicasUnavailable"
    );
    sleep(Duration::from_secs(3)).await;
    assert_eq!(
        condition(&server, "Available").await,
        "True MinimumReplicasAvailable"
    );
}

#[tokio::test(start_paused = true)]
async fn the_number_of_pods_is_limited() {
    let server = server();
    let mut set = deployment(2_000_000_000);
    set["kind"] = "StatefulSet".into();
    set["spec"]["podManagementPolicy"] = "Parallel".into();
    let mut job = deployment(0);
    job["apiVersion"] = "batch/v1".into();
    job["kind"] = "Job".into();
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "web:1"}]}});
    job["spec"] =
        json!({"parallelism": 2_000_000_000, "completions": 2_000_000_000, "template": template});
    install(&server, deployment(2_000_000_000)).await;
    install(&server, set).await;
    install(&server, job).await;
    assert_eq!(pods(&server).await.len(), 500);
    assert_eq!(
        condition(&server, "ReplicaFailure").await,
        "True FailedCreate"
    );
}
