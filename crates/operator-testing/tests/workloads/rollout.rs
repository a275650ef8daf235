//! Deployments: their children, and how a new template replaces the old one.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_deployment_becomes_ready_after_the_delay() {
    let server = server();
    install(&server, deployment(3)).await;
    assert_eq!(counts(&server).await, "0/3/3");
    sleep(DELAY.checked_sub(Duration::from_millis(10)).unwrap()).await;
    assert_eq!(counts(&server).await, "0/3/3");
    sleep(Duration::from_millis(20)).await;
    assert_eq!(counts(&server).await, "3/3/3");
}

#[tokio::test(start_paused = true)]
async fn children_have_the_names_labels_and_owners_of_real_ones() {
    let server = server();
    install(&server, deployment(2)).await;
    let deployment: Deployment = api(&server).get("web").await.unwrap();
    let sets = api::<ReplicaSet>(&server)
        .list(&ListParams::default())
        .await;
    let [set] = sets.unwrap().items.try_into().unwrap();
    let hash = set.labels()["pod-template-hash"].clone();
    assert_eq!(set.name_any(), format!("web-{hash}"));
    assert_eq!(set.owner_references()[0].uid, deployment.uid().unwrap());
    assert_eq!(set.annotations()["deployment.kubernetes.io/revision"], "1");
    assert_eq!(
        deployment.annotations()["deployment.kubernetes.io/revision"],
        "1"
    );
    for pod in pods(&server).await {
        assert_eq!(pod.labels()["pod-template-hash"], hash);
        assert_eq!(
            pod.metadata.generate_name.as_deref(),
            Some(&*format!("web-{hash}-"))
        );
        let owner = &pod.owner_references()[0];
        assert_eq!(
            (owner.kind.as_str(), owner.controller),
            ("ReplicaSet", Some(true))
        );
        assert_eq!(pod.spec.unwrap().node_name.as_deref(), Some("node"));
    }
    let nodes = Api::<Node>::all(server.client())
        .list(&ListParams::default())
        .await;
    assert_eq!(nodes.unwrap().items.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rolling_update_keeps_pods_available() {
    let server = server();
    install(&server, deployment(3)).await;
    sleep(DELAY).await;
    assert_eq!(
        condition(&server, "Progressing").await,
        "True NewReplicaSetAvailable"
    );
    let api = api::<Deployment>(&server);
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&api, "web", image).await;
    // maxSurge is 1 of 3, maxUnavailable none
    assert_eq!(counts(&server).await, "3/1/4");
    assert_eq!(
        condition(&server, "Progressing").await,
        "True ReplicaSetUpdated"
    );
    let begin = Instant::now();
    while counts(&server).await != "3/3/3" {
        assert_eq!(
            condition(&server, "Available").await,
            "True MinimumReplicasAvailable"
        );
        assert!(begin.elapsed() < 10 * DELAY, "{}", counts(&server).await);
        sleep(DELAY / 4).await;
    }
    // the last of the old pods stops
    sleep(DELAY).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:2"; 3]);
    assert_eq!(
        api.get("web").await.unwrap().annotations()["deployment.kubernetes.io/revision"],
        "2"
    );
    // back to the first, whose ReplicaSet is still there
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:1"}]}}}});
    patch(&api, "web", image).await;
    sleep(10 * DELAY).await;
    let sets = Api::<ReplicaSet>::default_namespaced(server.client());
    let mut sets = sets.list(&ListParams::default()).await.unwrap().items;
    sets.sort_by_key(|set| set.annotations()["deployment.kubernetes.io/revision"].clone());
    let shown = sets.iter().map(|set| {
        (
            set.spec.as_ref().unwrap().replicas,
            set.annotations()
                .get("deployment.kubernetes.io/revision-history")
                .map(String::as_str),
        )
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [(Some(0), None), (Some(3), Some("1"))]
    );
}

#[tokio::test(start_paused = true)]
async fn recreate_waits_until_the_old_pods_are_deleted() {
    let server = server();
    let mut web = deployment(2);
    web["spec"]["strategy"] = json!({"type": "Recreate"});
    install(&server, web).await;
    sleep(DELAY).await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}});
    patch(&api::<Deployment>(&server), "web", image).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:1"; 2]);
    assert_eq!(
        condition(&server, "Available").await,
        "False MinimumReplicasUnavailable"
    );
    sleep(DELAY).await;
    let images = pods(&server)
        .await
        .into_iter()
        .map(|pod| pod.spec.unwrap().containers[0].image.clone().unwrap());
    assert_eq!(images.collect::<Vec<_>>(), ["web:2"; 2]);
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "2/2/2");
}

#[tokio::test(start_paused = true)]
async fn a_deployment_is_scaled_and_its_pods_are_replaced() {
    let server = server();
    install(&server, deployment(1)).await;
    sleep(DELAY).await;
    let api = api::<Deployment>(&server);
    patch(&api, "web", json!({"spec": {"replicas": 3}})).await;
    assert_eq!(counts(&server).await, "1/3/3");
    sleep(DELAY).await;
    let lost = pods(&server).await[0].name_any();
    let pods_api = Api::<Pod>::default_namespaced(server.client());
    pods_api
        .delete(&lost, &DeleteParams::default())
        .await
        .unwrap();
    assert_eq!(counts(&server).await, "2/3/3");
    assert_eq!(
        pods(&server).await.len(),
        4,
        "the one that stops is still there"
    );
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "3/3/3");
    assert!(pods_api.get_opt(&lost).await.unwrap().is_none());
    patch(&api, "web", json!({"spec": {"replicas": 0}})).await;
    sleep(DELAY).await;
    assert_eq!(counts(&server).await, "0/0/0");
    assert_eq!(pods(&server).await.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_children_of_a_deployment_are_deleted_with_it() {
    for policy in [PropagationPolicy::Background, PropagationPolicy::Foreground] {
        let server = server();
        install(&server, deployment(2)).await;
        sleep(DELAY).await;
        let params = DeleteParams {
            propagation_policy: Some(policy),
            ..DeleteParams::default()
        };
        api::<Deployment>(&server)
            .delete("web", &params)
            .await
            .unwrap();
        sleep(DELAY).await;
        assert_eq!(pods(&server).await.len(), 0);
        assert!(
            api::<Deployment>(&server)
                .get_opt("web")
                .await
                .unwrap()
                .is_none()
        );
        let sets = api::<ReplicaSet>(&server)
            .list(&ListParams::default())
            .await;
        assert_eq!(sets.unwrap().items.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn orphans_are_adopted_by_the_next_owner() {
    let server = server();
    install(&server, deployment(2)).await;
    sleep(DELAY).await;
    let before = pods(&server).await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    api::<Deployment>(&server)
        .delete("web", &orphan)
        .await
        .unwrap();
    install(&server, deployment(2)).await;
    assert_eq!(counts(&server).await, "2/2/2");
    let names = |pods: &[Pod]| pods.iter().map(ResourceExt::name_any).collect::<Vec<_>>();
    assert_eq!(names(&pods(&server).await), names(&before));
}
