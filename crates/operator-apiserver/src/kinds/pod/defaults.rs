//! The defaults of pods and their templates, and the fields that the server sets in new pods.

use serde_json::{Value, json};

use crate::kinds::value::{drop_fields, items, set_if_empty, set_if_null};
use crate::model::metadata;

/// Sets the defaults of a pod, which are more than those of a template.
pub(crate) fn set_defaults(pod: &mut Value) {
    let status = &mut pod["status"];
    let ip = status["podIP"].as_str().unwrap_or_default().to_owned();
    if !ip.is_empty() && status["podIPs"][0]["ip"] != *ip {
        status["podIPs"] = json!([{"ip": ip}]);
    }
    set_spec_defaults(&mut pod["spec"]);
    set_host_ports_defaults(&mut pod["spec"]);
    let spec = &mut pod["spec"];
    set_if_empty(spec, &[("enableServiceLinks", json!(true))]);
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            let Some(limits) = container["resources"]["limits"].as_object().cloned() else {
                continue;
            };
            for (resource, limit) in limits {
                set_if_null(&mut container["resources"]["requests"][resource], limit);
            }
        }
    }
}

/// Sets the initial status of a pod.
pub(crate) fn set_status(pod: &mut Value) {
    pod["status"] = json!({"phase": "Pending", "qosClass": qos_class(&pod["spec"])});
    let gates = pod["spec"]["schedulingGates"].as_array();
    if gates.is_some_and(|gates| !gates.is_empty()) {
        pod["status"]["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": null,
            "lastTransitionTime": metadata::now(),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
}

/// Adds the tolerations that the admission plugin DefaultTolerationSeconds adds to each pod, also in updates.
pub(crate) fn tolerate(spec: &mut Value) {
    set_if_null(&mut spec["tolerations"], json!([]));
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let is = |found: &Value, wanted: &str| found.is_null() || *found == "" || *found == wanted;
        let covers = |toleration: &Value| {
            is(&toleration["key"], key) && is(&toleration["effect"], "NoExecute")
        };
        if let Some(tolerations) = spec["tolerations"].as_array_mut()
            && !tolerations.iter().any(covers)
        {
            tolerations.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}));
        }
    }
}

/// The quality of service class of a pod.
fn qos_class(spec: &Value) -> &'static str {
    let containers = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| spec[list].as_array().into_iter().flatten());
    let asks = |resources: &Value| {
        ["limits", "requests"]
            .map(|list| &resources[list])
            .iter()
            .any(|list| list["cpu"].is_string() || list["memory"].is_string())
    };
    // resources of the pod as a whole take the place of those of its containers
    let resources: Vec<&Value> = if asks(&spec["resources"]) {
        vec![&spec["resources"]]
    } else {
        containers
            .map(|container| &container["resources"])
            .collect()
    };
    let is_bound = |resources: &&Value| {
        ["cpu", "memory"].iter().all(|name| {
            let limit = &resources["limits"][name];
            limit.is_string() && *limit == resources["requests"][name]
        })
    };
    if !resources.iter().any(|it| asks(it)) {
        "BestEffort"
    } else if resources.iter().all(is_bound) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Sets the defaults of a workload's pod template.
pub(crate) fn set_template_defaults(template: &mut Value) {
    if template.is_object() {
        set_spec_defaults(&mut template["spec"]);
    }
}

fn set_spec_defaults(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    set_if_empty(
        spec,
        &[
            ("dnsPolicy", json!("ClusterFirst")),
            ("restartPolicy", json!("Always")),
            ("securityContext", json!({})),
            ("terminationGracePeriodSeconds", json!(30)),
            ("schedulerName", json!("default-scheduler")),
        ],
    );
    // `serviceAccount` is the deprecated name of `serviceAccountName`
    let (old, new) = (&spec["serviceAccount"], &spec["serviceAccountName"]);
    let account = if new.is_null() { old } else { new }.clone();
    if !account.is_null() {
        spec["serviceAccount"] = account.clone();
        spec["serviceAccountName"] = account;
    }
    for list in ["initContainers", "containers"] {
        for container in items(spec, list) {
            set_container_defaults(container);
        }
    }
    for volume in items(spec, "volumes") {
        set_volume_defaults(volume);
    }
}

/// Sets the host ports of a pod that uses the network of its node.
fn set_host_ports_defaults(spec: &mut Value) {
    if spec["hostNetwork"] != true {
        return;
    }
    for container in items(spec, "containers") {
        for port in items(container, "ports") {
            let number = port["containerPort"].clone();
            set_if_null(&mut port["hostPort"], number);
        }
    }
}

/// The default pull policy of an image.
fn pull_policy(image: &Value) -> &'static str {
    let image = image.as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    let is_pinned =
        name.contains('@') || name.split_once(':').is_some_and(|(_, tag)| tag != "latest");
    if is_pinned || image.is_empty() {
        "IfNotPresent"
    } else {
        "Always"
    }
}

fn set_container_defaults(container: &mut Value) {
    let policy = pull_policy(&container["image"]);
    set_if_empty(
        container,
        &[
            ("imagePullPolicy", json!(policy)),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
        ],
    );
    for port in items(container, "ports") {
        set_if_empty(port, &[("protocol", json!("TCP"))]);
    }
    for variable in items(container, "env") {
        if let Some(source) = variable.get_mut("valueFrom") {
            set_ref_defaults(source);
        }
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            set_probe_defaults(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if container["lifecycle"][hook]["httpGet"].is_object() {
            set_http_defaults(&mut container["lifecycle"][hook]["httpGet"]);
        }
    }
}

fn set_probe_defaults(probe: &mut Value) {
    for (field, default) in [
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ] {
        if probe[field].is_null() || probe[field] == 0 {
            probe[field] = default.into();
        }
    }
    if probe["httpGet"].is_object() {
        set_http_defaults(&mut probe["httpGet"]);
    }
    if probe["grpc"].is_object() {
        set_if_null(&mut probe["grpc"]["service"], "");
    }
}

fn set_http_defaults(get: &mut Value) {
    set_if_empty(get, &[("path", json!("/")), ("scheme", json!("HTTP"))]);
}

fn set_volume_defaults(volume: &mut Value) {
    let has_source = volume.as_object().is_some_and(|volume| volume.len() > 1);
    if !has_source {
        volume["emptyDir"] = json!({});
    }
    set_source_defaults(volume);
}

/// Sets the defaults of the source of a pod's volume or of a PersistentVolume.
pub(crate) fn set_source_defaults(volume: &mut Value) {
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if volume[source].is_object() {
            set_if_null(&mut volume[source]["defaultMode"], 420);
        }
    }
    if volume["hostPath"].is_object() {
        set_if_null(&mut volume["hostPath"]["type"], "");
    }
    if let Some(image) = volume.get_mut("image") {
        let policy = pull_policy(&image["reference"]);
        set_if_empty(image, &[("pullPolicy", json!(policy))]);
    }
    if let Some(claim) = volume.pointer_mut("/ephemeral/volumeClaimTemplate") {
        set_if_empty(&mut claim["spec"], &[("volumeMode", json!("Filesystem"))]);
    }
    for (source, defaults) in [
        ("iscsi", &[("iscsiInterface", json!("default"))][..]),
        (
            "rbd",
            &[
                ("pool", json!("rbd")),
                ("user", json!("admin")),
                ("keyring", json!("/etc/ceph/keyring")),
            ],
        ),
        (
            "azureDisk",
            &[
                ("cachingMode", json!("ReadWrite")),
                ("fsType", json!("ext4")),
                ("kind", json!("Shared")),
                ("readOnly", json!(false)),
            ],
        ),
        (
            "scaleIO",
            &[
                ("fsType", json!("xfs")),
                ("storageMode", json!("ThinProvisioned")),
            ],
        ),
    ] {
        if let Some(found) = volume.get_mut(source).filter(|it| it.is_object()) {
            set_if_empty(found, defaults);
        }
    }
    if let Some(projected) = volume.get_mut("projected").filter(|it| it.is_object()) {
        set_if_null(&mut projected["sources"], Value::Null);
        for source in items(projected, "sources") {
            if source["serviceAccountToken"].is_object() {
                set_if_null(
                    &mut source["serviceAccountToken"]["expirationSeconds"],
                    3600,
                );
            }
            set_field_ref_defaults(source);
        }
    }
    set_field_ref_defaults(volume);
}

fn set_field_ref_defaults(source: &mut Value) {
    let Some(volume) = source.get_mut("downwardAPI") else {
        return;
    };
    for item in items(volume, "items") {
        set_ref_defaults(item);
    }
}

/// Sets the defaults of references to fields of the pod.
fn set_ref_defaults(source: &mut Value) {
    if source["fieldRef"].is_object() {
        set_if_empty(&mut source["fieldRef"], &[("apiVersion", json!("v1"))]);
    }
    if source["resourceFieldRef"].is_object() {
        set_if_null(&mut source["resourceFieldRef"]["divisor"], "0");
    }
}

/// Sets the defaults of a workload's pod template. Returns the spec of the workload, if it has one.
pub(crate) fn set_workload_defaults(workload: &mut Value) -> Option<&mut Value> {
    let spec = workload.get_mut("spec").filter(|spec| spec.is_object())?;
    set_template_defaults(&mut spec["template"]);
    Some(spec)
}

/// Drops the field `lifecycle.stopSignal`, whose feature gate is off by default.
pub(crate) fn drop_signals(spec: Option<&mut Value>) {
    let Some(spec) = spec else {
        return;
    };
    for containers in ["containers", "initContainers"] {
        for container in items(spec, containers) {
            let Some(lifecycle) = container.get_mut("lifecycle") else {
                continue;
            };
            if lifecycle.get("stopSignal").is_none() {
                continue;
            }
            drop_fields(lifecycle, &["stopSignal"]);
            if lifecycle == &json!({}) {
                drop_fields(container, &["lifecycle"]);
            }
        }
    }
}
