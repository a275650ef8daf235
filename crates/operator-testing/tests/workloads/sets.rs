//! StatefulSets and DaemonSets.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_pods_of_a_stateful_set_are_created_and_deleted_in_order() {
    let server = server();
    install(&server, stateful_set(3)).await;
    assert_eq!(members(&server).await, ["web-0 Pending"]);
    sleep(DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running", "web-1 Pending"]);
    sleep(2 * DELAY).await;
    let running = ["web-0 Running", "web-1 Running", "web-2 Running"];
    assert_eq!(members(&server).await, running);
    let claims: Api<PersistentVolumeClaim> = api(&server);
    let claims = async || claims.list(&ListParams::default()).await.unwrap().items;
    let names = |claims: Vec<PersistentVolumeClaim>| {
        claims.iter().map(ResourceExt::name_any).collect::<Vec<_>>()
    };
    assert_eq!(
        names(claims().await),
        ["data-web-0", "data-web-1", "data-web-2"]
    );
    let sets = api::<StatefulSet>(&server);
    let status = async || sets.get("web").await.unwrap().status.unwrap();
    let first = status().await;
    assert_eq!(
        (first.ready_replicas, first.current_revision.clone()),
        (Some(3), first.update_revision)
    );
    // a new template is rolled out from the last pod to the first
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&sets, "web", image).await;
    assert_eq!(
        members(&server).await,
        ["web-0 Running", "web-1 Running", "web-2 Running leaving"]
    );
    sleep(7 * DELAY).await;
    assert_eq!(members(&server).await, running);
    let second = status().await;
    assert_eq!(second.current_revision, second.update_revision);
    assert_ne!(second.current_revision, first.current_revision);
    patch(&sets, "web", json!({"spec": {"replicas": 1}})).await;
    assert_eq!(
        members(&server).await,
        ["web-0 Running", "web-1 Running", "web-2 Running leaving"]
    );
    sleep(3 * DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running"]);
    assert_eq!(claims().await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_parallel_stateful_set_creates_all_pods_at_once() {
    let server = server();
    let mut set = stateful_set(3);
    set["spec"]["podManagementPolicy"] = "Parallel".into();
    set["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenScaled": "Delete", "whenDeleted": "Delete"});
    install(&server, set).await;
    assert_eq!(members(&server).await.len(), 3);
    sleep(DELAY).await;
    let sets = api::<StatefulSet>(&server);
    patch(&sets, "web", json!({"spec": {"replicas": 1}})).await;
    sleep(DELAY).await;
    assert_eq!(members(&server).await, ["web-0 Running"]);
    let claims = api::<PersistentVolumeClaim>(&server);
    assert_eq!(
        claims
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        1
    );
    sets.delete("web", &DeleteParams::default()).await.unwrap();
    sleep(DELAY).await;
    assert_eq!(
        claims
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_daemon_set_has_a_pod_on_each_node() {
    let server = server();
    let mut set = deployment(0);
    set["kind"] = "DaemonSet".into();
    set["spec"].as_object_mut().unwrap().remove("replicas");
    install(&server, set).await;
    sleep(DELAY).await;
    let sets = api::<DaemonSet>(&server);
    let status = async || {
        let status = sets.get("web").await.unwrap().status.unwrap();
        (
            status.number_ready,
            status.desired_number_scheduled,
            status.updated_number_scheduled,
        )
    };
    assert_eq!(status().await, (1, 1, Some(1)));
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
    install(&server, node).await;
    assert_eq!(status().await, (1, 2, Some(2)));
    sleep(DELAY).await;
    assert_eq!(status().await, (2, 2, Some(2)));
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&sets, "web", image).await;
    assert_eq!(status().await, (2, 2, None), "one stops");
    sleep(DELAY).await;
    assert_eq!(status().await, (1, 2, Some(1)));
    sleep(4 * DELAY).await;
    assert_eq!(status().await, (2, 2, Some(2)));
    patch(
        &sets,
        "web",
        json!({"spec": {"template": {"spec": {"nodeSelector": {"disk": "fast"}}}}}),
    )
    .await;
    sleep(DELAY).await;
    assert_eq!(status().await, (0, 0, None));
    assert_eq!(members(&server).await.len(), 0);
}
