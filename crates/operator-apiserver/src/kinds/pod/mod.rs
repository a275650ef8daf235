//! Pods and their templates.

mod change;
mod container;
mod defaults;
mod probe;
mod status;
mod variable;
mod volume;

pub(crate) use self::defaults::set_template_defaults;
pub(crate) use self::defaults::{drop_signals, set_source_defaults, set_workload_defaults};

use serde_json::Value;

use super::rule::field::{
    annotations, between, duplicate, invalid, is_empty, label, labels, list, number, one_of, only,
    refuse, text,
};
use crate::kinds::resource::{
    DAEMON_SETS, DISRUPTION_BUDGETS, JOBS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS,
};
use crate::kinds::strategy::{Controller, Enqueue, Strategy};
use crate::model::json::items;
use crate::model::{Cause, name};

pub(crate) const POD: Strategy = Strategy {
    set_defaults: defaults::set_defaults,
    admit: |pod| defaults::tolerate(&mut pod["spec"]),
    after_admission: defaults::set_status,
    drop_disabled_fields: |_, pod| drop_signals(pod.pointer_mut("/spec")),
    prepare_for_update,
    validate: check,
    kept_by_status: &["ownerReferences"],
    has_generation: true,
    template: Some(""),
    selectable_fields: Some(&[
        ("spec.host", ""),
        ("spec.nodeName", ""),
        ("spec.restartPolicy", ""),
        ("spec.schedulerName", ""),
        ("spec.serviceAccountName", ""),
        ("spec.hostNetwork", "false"),
        ("status.phase", ""),
        ("status.podIP", ""),
        ("status.podIPs", ""),
        ("status.nominatedNodeName", ""),
    ]),
    has_grace_period: true,
    returns_deleted: true,
    enqueues: &[
        Enqueue::Owner(&[DAEMON_SETS, JOBS, REPLICA_SETS, STATEFUL_SETS]),
        Enqueue::InNamespace(DISRUPTION_BUDGETS),
        Enqueue::InNamespace(SERVICES),
        Enqueue::Claims,
    ],
    controller: Some(Controller::Pod),
    cells: cells!(pod::pod),
    ..Strategy::of(PODS)
};

pub(crate) const POD_TEMPLATE: Strategy = Strategy {
    set_defaults: |object| set_template_defaults(&mut object["template"]),
    validate: |_, object, causes| template(&object["template"], "template", causes),
    validates_updates_as_new: false,
    has_generation: true,
    template: Some("/template"),
    returns_deleted: true,
    ..Strategy::of(("", "podtemplates"))
};

fn prepare_for_update(subresource: Option<&str>, live: &Value, pod: &mut Value) {
    if subresource == Some("status") {
        pod["status"]["qosClass"] = live["status"]["qosClass"].clone();
    }
    defaults::tolerate(&mut pod["spec"]);
}

fn check(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    spec(&object["spec"], "spec", causes);
    for containers in ["containers", "initContainers"] {
        let path = format!("spec.{containers}");
        spaces(list(&object["spec"], containers), &path, causes);
    }
    if let Some(live) = live {
        change::check(&live["spec"], &object["spec"], causes);
        status::check(live, object, causes);
    }
}

/// Checks the pod template at `path`.
pub(crate) fn template(template: &Value, path: &str, causes: &mut Vec<Cause>) {
    metadata(template, path, causes);
    spec(&template["spec"], &format!("{path}.spec"), causes);
}

/// Checks the metadata of a template. As in a real server, its path lacks `metadata`: `template.labels`.
pub(crate) fn metadata(template: &Value, path: &str, causes: &mut Vec<Cause>) {
    let metadata = &template["metadata"];
    labels(&format!("{path}.labels"), &metadata["labels"], causes);
    let field = format!("{path}.annotations");
    annotations(&field, &metadata["annotations"], causes);
}

fn spec(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let volumes = volume::check(spec, path, causes);
    container::check(spec, path, &volumes, causes);
    let known = ["Always", "OnFailure", "Never"];
    let field = format!("{path}.restartPolicy");
    one_of(&field, &spec["restartPolicy"], &known, causes);
    let known = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(
        &format!("{path}.dnsPolicy"),
        &spec["dnsPolicy"],
        &known,
        causes,
    );
    let field = format!("{path}.nodeSelector");
    labels(&field, &spec["nodeSelector"], causes);
    let ids = ["fsGroup", "runAsUser", "runAsGroup"];
    let field = format!("{path}.securityContext");
    container::users(&spec["securityContext"], &field, &ids, causes);
    dns(spec, path, causes);
    for (at, gate) in list(spec, "readinessGates").iter().enumerate() {
        let field = format!("{path}.readinessGates[{at}].conditionType");
        let found = text(gate, "conditionType");
        refuse(&field, found, name::bad_label_key(found), causes);
    }
    for field in ["serviceAccountName", "nodeName"] {
        let found = text(spec, field);
        if !found.is_empty() {
            let wrong = name::bad_subdomain(found);
            refuse(&format!("{path}.{field}"), found, wrong, causes);
        }
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64() {
        let field = format!("{path}.activeDeadlineSeconds");
        between(&field, seconds, 1, i64::from(i32::MAX), causes);
    }
    for field in ["hostname", "subdomain"] {
        let found = text(spec, field);
        if !found.is_empty() {
            label(&format!("{path}.{field}"), found, causes);
        }
    }
    tolerations(spec, &format!("{path}.tolerations"), causes);
    let class = text(spec, "priorityClassName");
    if !class.is_empty() {
        let field = format!("{path}.priorityClassName");
        refuse(&field, class, name::bad_subdomain(class), causes);
    }
    spread(spec, &format!("{path}.topologySpreadConstraints"), causes);
}

fn spread(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    let constraints = list(spec, "topologySpreadConstraints");
    for (at, constraint) in constraints.iter().enumerate() {
        let path = format!("{path}[{at}]");
        let skew = number(constraint, "maxSkew");
        if skew <= 0 {
            let why = "must be greater than zero";
            causes.push(invalid(format!("{path}.maxSkew"), skew, why));
        }
        let (key, action) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            let why = "can not be empty";
            causes.push(Cause::required(format!("{path}.topologyKey"), why));
        }
        let field = format!("{path}.whenUnsatisfiable");
        let actions = ["DoNotSchedule", "ScheduleAnyway"];
        only(&field, &constraint["whenUnsatisfiable"], &actions, causes);
        let is_same = |other: &Value| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action
        };
        if constraints[..at].iter().any(is_same) {
            let field = format!("{path}.{{topologyKey, whenUnsatisfiable}}");
            causes.push(duplicate(field, format!("\"{{{key}, {action}}}\"")));
        }
    }
}

fn dns(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    if spec["dnsPolicy"] != "None" {
        return;
    }
    let field = format!("{path}.dnsConfig");
    if spec["dnsConfig"].is_null() {
        let why = "must provide `dnsConfig` when `dnsPolicy` is None";
        causes.push(Cause::required(field, why));
    } else if is_empty(&spec["dnsConfig"]["nameservers"]) {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        causes.push(Cause::required(format!("{field}.nameservers"), why));
    }
}

fn tolerations(spec: &Value, path: &str, causes: &mut Vec<Cause>) {
    for (at, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = format!("{path}[{at}]");
        let part = |field: &str| text(toleration, field);
        let (key, operator, value) = (part("key"), part("operator"), part("value"));
        if !key.is_empty() {
            let field = format!("{path}.key");
            refuse(&field, key, name::bad_label_key(key), causes);
        } else if operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            let found = format!("{operator:?}");
            causes.push(invalid(format!("{path}.operator"), found, why));
        }
        let effect = format!("{path}.effect");
        if !toleration["tolerationSeconds"].is_null() && part("effect") != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.push(invalid(&effect, format!("{:?}", part("effect")), why));
        }
        let (field, found) = (format!("{path}.operator"), format!("{value:?}"));
        match operator {
            "" | "Equal" => {
                let wrong = name::bad_label_value(value);
                if !wrong.is_empty() {
                    causes.push(invalid(field, found, wrong.join(";")));
                }
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(invalid(field, found, why));
            }
            "Exists" => {}
            _ => {
                let known = ["Equal", "Exists"];
                one_of(&field, &toleration["operator"], &known, causes);
            }
        }
        if !part("effect").is_empty() {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            one_of(&effect, &toleration["effect"], &known, causes);
        }
    }
}

/// Checks that images have no leading or trailing spaces.
fn spaces(containers: &[Value], path: &str, causes: &mut Vec<Cause>) {
    for (at, container) in containers.iter().enumerate() {
        let image = text(container, "image");
        if image.trim() != image {
            let why = "must not have leading or trailing whitespace";
            let field = format!("{path}[{at}].image");
            causes.push(invalid(field, format!("{image:?}"), why));
        }
    }
}

/// The names of the claims that a pod uses.
pub(crate) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = items(&pod["spec"]["volumes"]);
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}
