//! What prevents pods from being created, or from starting: Pod Security, and missing accounts, volumes, variables and claims.

use k8s_openapi::api::core::v1::Event;

use super::*;

const ENFORCED_LEVEL: &str = "pod-security.kubernetes.io/enforce";

/// `reason: message` of the warnings so far.
async fn warnings(server: &Server) -> Vec<String> {
    let events = api::<Event>(server).list(&ListParams::default()).await;
    events
        .unwrap()
        .items
        .into_iter()
        .filter(|event| event.type_.as_deref() == Some("Warning"))
        .map(|event| {
            let (reason, message) = (event.reason, event.message);
            format!(
                "{}: {}",
                reason.unwrap_or_default(),
                message.unwrap_or_default()
            )
        })
        .collect()
}

fn with(pod_spec: Value) -> Value {
    let mut web = deployment(1);
    let spec = &mut web["spec"]["template"]["spec"];
    for (field, value) in pod_spec.as_object().unwrap() {
        spec[field] = value.clone();
    }
    web
}

/// A container with more fields.
fn container(fields: Value) -> Value {
    let mut container = json!({"name": "main", "image": "web:1"});
    for (field, value) in fields.as_object().unwrap() {
        container[field] = value.clone();
    }
    json!({"containers": [container]})
}

#[tokio::test(start_paused = true)]
async fn a_restricted_namespace_rejects_privileged_pods() {
    let server = server();
    let namespaces = Api::<Namespace>::all(server.client());
    let level = |level: Value| json!({"metadata": {"labels": {ENFORCED_LEVEL: level}}});
    patch(&namespaces, "default", level("restricted".into())).await;
    install(&server, deployment(1)).await;
    assert!(pods(&server).await.is_empty());
    assert_eq!(
        condition(&server, "ReplicaFailure").await,
        "True FailedCreate"
    );
    let said = warnings(&server).await.remove(0);
    assert!(
        said.starts_with("FailedCreate: Error creating: pods \"web-"),
        "{said}"
    );
    assert!(
        said.contains("violates PodSecurity \"restricted:latest\""),
        "{said}"
    );
    // the controller retries without a change of the workload
    patch(&namespaces, "default", level(Value::Null)).await;
    sleep(10 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
    let deployment: Deployment = api(&server).get("web").await.unwrap();
    let conditions = deployment.status.unwrap().conditions.unwrap();
    assert!(conditions.iter().all(|it| it.type_ != "ReplicaFailure"));
}

#[tokio::test(start_paused = true)]
async fn every_workload_retries_until_its_service_account_exists() {
    let server = server();
    let account = json!({"serviceAccountName": "robot"});
    install(&server, with(account.clone())).await;
    for kind in ["StatefulSet", "DaemonSet"] {
        let mut set = with(account.clone());
        set["kind"] = kind.into();
        // with one name, both would need the same ControllerRevision
        set["metadata"]["name"] = kind.to_lowercase().into();
        if kind == "DaemonSet" {
            set["spec"].as_object_mut().unwrap().remove("replicas");
        }
        install(&server, set).await;
    }
    let spec = json!({"restartPolicy": "Never", "serviceAccountName": "robot", "containers": [{"name": "main", "image": "web:1"}]});
    install(&server, json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "web"}, "spec": {"template": {"spec": spec}}})).await;
    sleep(5 * DELAY).await;
    assert!(pods(&server).await.is_empty());
    let daemons: DaemonSet = api(&server).get("daemonset").await.unwrap();
    assert_eq!(daemons.status.unwrap().desired_number_scheduled, 1);
    let missing =
        "error looking up service account default/robot: serviceaccount \"robot\" not found";
    let said = warnings(&server).await;
    assert!(
        said.iter().filter(|it| it.ends_with(missing)).count() >= 4,
        "{said:?}"
    );
    install(
        &server,
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
    )
    .await;
    sleep(20 * DELAY).await;
    assert_eq!(pods(&server).await.len(), 4);
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_source_of_a_volume() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "v"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"k": "v"}});
    for (volume, object, why) in [
        (
            json!({"secret": {"secretName": "s"}}),
            &secret,
            "secret \"s\" not found",
        ),
        (
            json!({"configMap": {"name": "m"}}),
            &map,
            "configmap \"m\" not found",
        ),
        (
            json!({"projected": {"sources": [{"secret": {"name": "s"}}]}}),
            &secret,
            "secret \"s\" not found",
        ),
    ] {
        let server = server();
        let mut volume = volume;
        volume["name"] = "v".into();
        install(&server, with(json!({"volumes": [volume]}))).await;
        sleep(5 * DELAY).await;
        assert_eq!(state(&server).await, "Pending ContainerCreating");
        let said = format!("FailedMount: MountVolume.SetUp failed for volume \"v\" : {why}");
        assert_eq!(warnings(&server).await, [said]);
        install(&server, object.clone()).await;
        sleep(2 * DELAY).await;
        assert_eq!(counts(&server).await, "1/1/1");
    }
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_keys_of_a_volume() {
    let server = server();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b"}});
    install(&server, map).await;
    let items = json!([{"key": "k", "path": "k"}]);
    let volume = json!({"name": "v", "configMap": {"name": "m", "items": items}});
    install(&server, with(json!({"volumes": [volume]}))).await;
    sleep(5 * DELAY).await;
    let said = "FailedMount: MountVolume.SetUp failed for volume \"v\" : references non-existent config key: k";
    assert_eq!(warnings(&server).await, [said]);
    let data = json!({"data": {"k": "v"}});
    patch(
        &api::<k8s_openapi::api::core::v1::ConfigMap>(&server),
        "m",
        data,
    )
    .await;
    sleep(2 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_the_source_of_a_variable() {
    let from = |reference: &str, key: Option<&str>| {
        let mut reference = json!({reference: {"name": "o"}});
        if let Some(key) = key {
            let field = reference
                .as_object_mut()
                .unwrap()
                .values_mut()
                .next()
                .unwrap();
            field["key"] = key.into();
            return container(json!({"env": [{"name": "A", "valueFrom": reference}]}));
        }
        container(json!({"envFrom": [reference]}))
    };
    let object = |kind: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "o"}, "data": {"k": "dg=="}});
    for (spec, kind, why) in [
        (
            from("secretKeyRef", Some("k")),
            "Secret",
            "secret \"o\" not found",
        ),
        (
            from("configMapKeyRef", Some("k")),
            "ConfigMap",
            "configmap \"o\" not found",
        ),
        (from("secretRef", None), "Secret", "secret \"o\" not found"),
        (
            from("configMapRef", None),
            "ConfigMap",
            "configmap \"o\" not found",
        ),
    ] {
        let server = server();
        install(&server, with(spec)).await;
        sleep(5 * DELAY).await;
        assert_eq!(state(&server).await, "Pending CreateContainerConfigError");
        assert_eq!(warnings(&server).await, [format!("Failed: Error: {why}")]);
        assert_eq!(counts(&server).await, "0/1/1");
        install(&server, object(kind)).await;
        sleep(2 * DELAY).await;
        assert_eq!(counts(&server).await, "1/1/1", "{why}");
    }
    let server = server();
    install(&server, object("Secret")).await;
    install(&server, with(from("secretKeyRef", Some("other")))).await;
    sleep(5 * DELAY).await;
    let why = "Failed: Error: couldn't find key other in Secret default/o";
    assert_eq!(warnings(&server).await, [why]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_does_not_wait_for_optional_sources() {
    let server = server();
    let spec = container(json!({
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "o", "key": "k", "optional": true}}}],
        "envFrom": [{"configMapRef": {"name": "o", "optional": true}}],
    }));
    let mut web = with(spec);
    web["spec"]["template"]["spec"]["volumes"] = json!([
        {"name": "a", "secret": {"secretName": "o", "optional": true}},
        {"name": "b", "projected": {"sources": [{"configMap": {"name": "o", "optional": true}}]}},
        {"name": "c", "emptyDir": {}},
    ]);
    install(&server, web).await;
    sleep(2 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}

#[tokio::test(start_paused = true)]
async fn a_pod_waits_for_its_claim() {
    let server = server();
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}});
    install(&server, with(json!({"volumes": [volume]}))).await;
    sleep(5 * DELAY).await;
    let said =
        "FailedScheduling: 0/1 nodes are available: persistentvolumeclaim \"data\" not found.";
    assert_eq!(warnings(&server).await, [said]);
    let [pod] = pods(&server).await.try_into().unwrap();
    let conditions = pod.status.unwrap().conditions.unwrap();
    assert_eq!(conditions[0].reason.as_deref(), Some("Unschedulable"));
    let claim =
        json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    install(&server, json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": claim})).await;
    sleep(2 * DELAY).await;
    assert_eq!(counts(&server).await, "1/1/1");
}
