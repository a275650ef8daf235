//! The rows of kinds that are not workloads.

use serde_json::Value;

use super::{age, name};
use crate::kinds::event;
use crate::model::json::items;
use crate::model::label_text::{labels, or_none, selector};
use crate::model::metadata::{is_deleting, text};

fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A quantity or int-or-string, as written.
fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>, separator: &str) -> String {
    texts.collect::<Vec<_>>().join(separator)
}

pub(crate) fn config_map(object: &Value) -> Vec<Value> {
    let size = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    let data = size("data") + size("binaryData");
    vec![name(object), data.into(), age(object)]
}

pub(crate) fn secret(object: &Value) -> Vec<Value> {
    let data = object["data"].as_object().map_or(0, serde_json::Map::len);
    let type_ = string(&object["type"]);
    vec![name(object), type_.into(), data.into(), age(object)]
}

pub(crate) fn namespace(object: &Value) -> Vec<Value> {
    let phase = string(&object["status"]["phase"]);
    vec![name(object), phase.into(), age(object)]
}

pub(crate) fn webhooks(object: &Value) -> Vec<Value> {
    vec![
        name(object),
        items(&object["webhooks"]).count().into(),
        age(object),
    ]
}

/// The row of a kind without a printer in Kubernetes, which has the column `Created At`.
pub(crate) fn dated(object: &Value) -> Vec<Value> {
    vec![name(object), text(object, "creationTimestamp").into()]
}

pub(crate) fn lease(object: &Value) -> Vec<Value> {
    let holder = string(&object["spec"]["holderIdentity"]);
    vec![name(object), holder.into(), age(object)]
}

pub(crate) fn network_policy(object: &Value) -> Vec<Value> {
    let pods = or_none(selector(&object["spec"]["podSelector"]));
    vec![name(object), pods.into(), age(object)]
}

pub(crate) fn disruption_budget(object: &Value) -> Vec<Value> {
    let bound = |field: &str| match &object["spec"][field] {
        Value::Null => "N/A".to_owned(),
        bound => written(bound),
    };
    let allowed = object["status"]["disruptionsAllowed"].as_i64();
    vec![
        name(object),
        bound("minAvailable").into(),
        bound("maxUnavailable").into(),
        allowed.unwrap_or_default().into(),
        age(object),
    ]
}

pub(crate) fn binding(object: &Value) -> Vec<Value> {
    let role = &object["roleRef"];
    let role = format!("{}/{}", string(&role["kind"]), string(&role["name"]));
    let subjects = |kind: &str, show: fn(&Value) -> String| {
        let subjects = items(&object["subjects"]).filter(|subject| subject["kind"] == kind);
        subjects.map(show).collect::<Vec<_>>().join(", ")
    };
    let plain = |subject: &Value| string(&subject["name"]).to_owned();
    let account = |subject: &Value| {
        let namespace = string(&subject["namespace"]);
        format!("{namespace}/{}", string(&subject["name"]))
    };
    vec![
        name(object),
        role.into(),
        age(object),
        subjects("User", plain).into(),
        subjects("Group", plain).into(),
        subjects("ServiceAccount", account).into(),
    ]
}

pub(crate) fn service(object: &Value) -> Vec<Value> {
    let spec = &object["spec"];
    let ports = items(&spec["ports"])
        .map(|port| {
            let protocol = string(&port["protocol"]);
            match port["nodePort"].as_i64().unwrap_or_default() {
                0 => format!("{}/{protocol}", port["port"]),
                node => format!("{}:{node}/{protocol}", port["port"]),
            }
        })
        .collect::<Vec<_>>()
        .join(",");
    vec![
        name(object),
        string(&spec["type"]).into(),
        spec["clusterIPs"][0].as_str().unwrap_or("<none>").into(),
        external(object).into(),
        or_none(ports).into(),
        age(object),
        labels(&spec["selector"]).into(),
    ]
}

/// The external addresses of a Service.
fn external(service: &Value) -> String {
    let spec = &service["spec"];
    let given = items(&spec["externalIPs"]).map(string);
    match string(&spec["type"]) {
        "ClusterIP" | "NodePort" => or_none(joined(given, ",")),
        "LoadBalancer" => {
            let balancers = balancers(service);
            let all = balancers.iter().copied().chain(given);
            match joined(all, ",") {
                none if none.is_empty() => "<pending>".to_owned(),
                some => some,
            }
        }
        "ExternalName" => string(&spec["externalName"]).to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses or names of load balancers, sorted.
fn balancers(object: &Value) -> Vec<&str> {
    let mut addresses: Vec<&str> = items(&object["status"]["loadBalancer"]["ingress"])
        .map(|point| match string(&point["ip"]) {
            "" => string(&point["hostname"]),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

pub(crate) fn ingress(object: &Value) -> Vec<Value> {
    const SHOWN: usize = 3;
    let spec = &object["spec"];
    let class = spec["ingressClassName"].as_str().unwrap_or("<none>");
    let rules = items(&spec["rules"]).count();
    let hosts: Vec<&str> = items(&spec["rules"])
        .map(|rule| string(&rule["host"]))
        .filter(|host| !host.is_empty())
        .collect();
    let first = joined(hosts.iter().take(SHOWN).copied(), ",");
    let hosts = match hosts.len() {
        0 => "*".to_owned(),
        // As the real server counts: rules, not hosts.
        count if count >= SHOWN && rules > SHOWN => {
            format!("{first} + {} more...", rules - SHOWN)
        }
        _ => first,
    };
    let ports = match items(&spec["tls"]).next() {
        Some(_) => "80, 443",
        None => "80",
    };
    vec![
        name(object),
        class.into(),
        hosts.into(),
        balancers(object).join(",").into(),
        ports.into(),
        age(object),
    ]
}

/// The abbreviated access modes of a volume: `RWO,ROX`.
pub(crate) fn access_modes(modes: &Value) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let has = |mode: &str| items(modes).any(|found| found == mode);
    let short = SHORT.iter().filter(|(mode, _)| has(mode));
    joined(short.map(|(_, short)| *short), ",")
}

pub(crate) fn claim(object: &Value) -> Vec<Value> {
    const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";
    let (spec, status) = (&object["spec"], &object["status"]);
    let phase = if is_deleting(object) {
        "Terminating"
    } else {
        string(&status["phase"])
    };
    let volume = string(&spec["volumeName"]);
    let (capacity, modes) = match volume {
        "" => Default::default(),
        _ => {
            let capacity = match &status["capacity"]["storage"] {
                Value::Null => "0".to_owned(),
                capacity => written(capacity),
            };
            (capacity, access_modes(&status["accessModes"]))
        }
    };
    let class = object["metadata"]["annotations"][BETA_CLASS]
        .as_str()
        .or(spec["storageClassName"].as_str())
        .unwrap_or_default();
    let set = |field: &str| spec[field].as_str().unwrap_or("<unset>");
    vec![
        name(object),
        phase.into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        class.into(),
        set("volumeAttributesClassName").into(),
        age(object),
        set("volumeMode").into(),
    ]
}

/// The row of an Event of `events.k8s.io`, which is that of its older form.
pub(crate) fn new_event(object: &Value) -> Vec<Value> {
    event(&event::convert::old_form(object.clone()))
}

pub(crate) fn event(object: &Value) -> Vec<Value> {
    let since = |time: &Value| match time {
        Value::Null => None,
        time => Some(age::since(time)),
    };
    let first =
        since(&object["firstTimestamp"]).unwrap_or_else(|| age::since(&object["eventTime"]));
    let series = &object["series"];
    let (last, count) = match series {
        Value::Null => {
            let last = since(&object["lastTimestamp"]).unwrap_or_else(|| first.clone());
            (last, object["count"].as_i64().unwrap_or(1))
        }
        series => (
            age::since(&series["lastObservedTime"]),
            series["count"].as_i64().unwrap_or_default(),
        ),
    };
    let about = &object["involvedObject"];
    let kind = string(&about["kind"]).to_lowercase();
    let target = match string(&about["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    let or = |source: &str, reporting: &str| match string(&object["source"][source]) {
        "" => string(&object[reporting]).to_owned(),
        text => text.to_owned(),
    };
    let component = or("component", "reportingComponent");
    let source = match or("host", "reportingInstance") {
        host if host.is_empty() => component,
        host => format!("{component}, {host}"),
    };
    vec![
        last.into(),
        string(&object["type"]).into(),
        string(&object["reason"]).into(),
        target.into(),
        string(&about["fieldPath"]).into(),
        source.into(),
        string(&object["message"]).trim().into(),
        first.into(),
        count.into(),
        name(object),
    ]
}
