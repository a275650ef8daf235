//! The labels and names by which children refer to each other: selectors of pods, and the Services of an Ingress. A mistake in them is not an
//! error for the API server: no traffic arrives, or two workloads count the pods of each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{Selector, SelectorExt};
use serde::Deserialize;
use serde_json::Value;

use super::super::state::Objects;
use super::super::undesired::named;
use super::scene::{controller, group};

type Labels = BTreeMap<String, String>;

/// Labels that only controllers set.
const SET_LATER: [&str; 8] = [
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-revision-hash",
    "controller-uid",
    "job-name",
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
];

/// Checks the references between the children of all objects. `objects` are all objects of the cluster.
pub(super) fn check(children: &[Arc<Value>], objects: &Objects) -> Result<(), String> {
    for child in children {
        let namespace =
            |other: &&Arc<Value>| other["metadata"]["namespace"] == child["metadata"]["namespace"];
        let others: Vec<&Value> = children.iter().filter(namespace).map(|it| &**it).collect();
        let siblings = others.iter().filter(|other| owner(other) == owner(child));
        let siblings: Vec<&Value> = siblings.copied().collect();
        let parent = objects
            .values()
            .find(|it| it["metadata"]["uid"] == *owner(child));
        let existing: Vec<&Value> = objects.values().filter(namespace).map(|it| &**it).collect();
        check_workload(child, &others)?;
        check_service(child, &siblings, &existing, parent)?;
        check_ingress(child, &siblings, &existing, parent)?;
    }
    Ok(())
}

/// The uid of the object that controls a child.
fn owner(child: &Value) -> &Value {
    controller(child).map_or(&Value::Null, |owner| &owner["uid"])
}

/// The selector of a workload must not match the pods of a workload of another object.
fn check_workload(workload: &Value, others: &[&Value]) -> Result<(), String> {
    if group(workload) != "apps" {
        return Ok(());
    }
    let Ok(selector) = LabelSelector::deserialize(&workload["spec"]["selector"]) else {
        return Ok(());
    };
    let Ok(selector) = Selector::try_from(selector) else {
        return Ok(());
    };
    let selected = others.iter().find(|other| {
        owner(other) != owner(workload)
            && group(other) == "apps"
            && pod_labels(other).is_some_and(|labels| selector.matches(&labels))
    });
    match selected {
        None => Ok(()),
        Some(other) => Err(format!(
            "the selector of {} matches the pods of {}, which belongs to another object: {selector}\nhelp: put a label with the name of the object into the selector and the pod template, such as `app.kubernetes.io/instance` of `cx.child_metadata`",
            named(workload),
            named(other),
        )),
    }
}

/// A Service must select the pods of a sibling, as far as the siblings have pods. Labels that the operator or a controller sets on a pod later
/// do not count, and neither do values that the user has chosen.
fn check_service(
    service: &Value,
    siblings: &[&Value],
    existing: &[&Value],
    parent: Option<&Arc<Value>>,
) -> Result<(), String> {
    // a Job does not end in a trial, and the pods may come after it
    let waits = siblings.iter().any(|it| it["kind"] == "Job");
    let is_service = service["kind"] == "Service" && service["apiVersion"] == "v1";
    if !is_service || waits || has_custom_child(siblings) {
        return Ok(());
    }
    let mut selector = labels(&service["spec"]["selector"]).unwrap_or_default();
    selector.retain(|key, _| !SET_LATER.contains(&&**key));
    let templates: Vec<Labels> = siblings.iter().filter_map(|it| pod_labels(it)).collect();
    let is_chosen =
        parent.is_some_and(|it| selector.values().all(|value| mentions(&it["spec"], value)));
    if selector.is_empty() || templates.is_empty() || is_chosen {
        return Ok(());
    }
    let selects = |pod: &Labels| {
        let mut known = selector
            .iter()
            .filter_map(|(key, value)| Some((value, pod.get(key)?)))
            .peekable();
        known.peek().is_some() && known.all(|(wanted, value)| wanted == value)
    };
    if templates.iter().any(selects)
        || existing
            .iter()
            .filter_map(|it| pod_labels(it))
            .any(|it| selects(&it))
    {
        return Ok(());
    }
    let show = |labels: &Labels| Selector::from_iter(labels.clone()).to_string();
    Err(format!(
        "the selector of {} matches no pods: it is {}, and the pods of the same object have {}",
        named(service),
        show(&selector),
        templates.iter().map(show).collect::<Vec<_>>().join(" or "),
    ))
}

/// The Services that an Ingress names must exist, and those of the same object must have the port.
fn check_ingress(
    ingress: &Value,
    siblings: &[&Value],
    existing: &[&Value],
    parent: Option<&Arc<Value>>,
) -> Result<(), String> {
    if ingress["kind"] != "Ingress" || has_custom_child(siblings) {
        return Ok(());
    }
    let spec = &ingress["spec"];
    let rules = spec["rules"].as_array().into_iter().flatten();
    let paths = rules.flat_map(|rule| rule["http"]["paths"].as_array().into_iter().flatten());
    let backends = paths
        .map(|path| &path["backend"])
        .chain([&spec["defaultBackend"]]);
    for backend in backends.map(|it| &it["service"]) {
        let Some(name) = backend["name"].as_str() else {
            continue;
        };
        // an action in an annotation, of the AWS Load Balancer Controller
        if backend["port"]["name"] == "use-annotation" {
            continue;
        }
        let is_named =
            |service: &&&Value| service["kind"] == "Service" && service["metadata"]["name"] == name;
        let Some(service) = siblings.iter().find(is_named) else {
            let is_chosen = parent.is_some_and(|it| mentions(&it["spec"], name));
            if is_chosen || existing.iter().any(|it| is_named(&it)) {
                continue;
            }
            return Err(format!(
                "{} has the backend Service {name}, which does not exist\nhelp: correct the name; if another owner creates the Service, add it to tests/fixtures",
                named(ingress)
            ));
        };
        let port = &backend["port"];
        let mut ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let is_there = ports.any(|it| {
            let is = |wanted: &Value, value: &Value| !wanted.is_null() && wanted == value;
            is(&port["number"], &it["port"]) || is(&port["name"], &it["name"])
        });
        if !is_there {
            return Err(format!(
                "{} has a backend with the port {port}, which {} does not have",
                named(ingress),
                named(service)
            ));
        }
    }
    Ok(())
}

/// Whether there are kinds whose controllers may create pods and Services that are not known here.
fn has_custom_child(siblings: &[&Value]) -> bool {
    siblings.iter().any(|it| {
        let group = group(it);
        group.contains('.') && !group.ends_with(".k8s.io")
    })
}

/// The labels of the pods of a workload, or of a pod.
fn pod_labels(object: &Value) -> Option<Labels> {
    let pod = match object["kind"].as_str()? {
        "Pod" => object,
        "CronJob" => &object["spec"]["jobTemplate"]["spec"]["template"],
        _ => &object["spec"]["template"],
    };
    labels(&pod["metadata"]["labels"])
}

fn labels(value: &Value) -> Option<Labels> {
    Labels::deserialize(value).ok()
}

/// Whether a value is this text.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(value) => value == text,
        Value::Array(items) => items.iter().any(|it| mentions(it, text)),
        Value::Object(fields) => fields.values().any(|it| mentions(it, text)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn child(kind: &str, name: &str, of: &str, spec: Value) -> Arc<Value> {
        let api_version = match kind {
            "Service" | "Pod" => "v1",
            "Ingress" => "networking.k8s.io/v1",
            "Database" => "db.example.com/v1",
            _ => "apps/v1",
        };
        Arc::new(json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": "a", "ownerReferences": [{"uid": of, "controller": true}]},
            "spec": spec,
        }))
    }

    fn deployment(name: &str, of: &str, labels: &Value) -> Arc<Value> {
        let template = json!({"metadata": {"labels": labels}});
        child(
            "Deployment",
            name,
            of,
            json!({"selector": {"matchLabels": labels}, "template": template}),
        )
    }

    fn service(selector: Value) -> Arc<Value> {
        child(
            "Service",
            "web",
            "1",
            json!({"selector": selector, "ports": [{"name": "http", "port": 80}]}),
        )
    }

    fn ingress(service: &str, port: Value) -> Arc<Value> {
        let backend = json!({"service": {"name": service, "port": port}});
        child(
            "Ingress",
            "web",
            "1",
            json!({"rules": [{"http": {"paths": [{"path": "/", "backend": backend}]}}]}),
        )
    }

    /// The result with children, beside the object that owns them and a Service of somebody else.
    fn checked(children: &[Arc<Value>]) -> Result<(), String> {
        let owner = json!({"kind": "Site", "metadata": {"name": "a", "namespace": "a", "uid": "1"}, "spec": {"to": "chosen"}});
        let other = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "other", "namespace": "a"}});
        let objects = [("site", owner), ("service", other)];
        check(
            children,
            &objects
                .map(|(path, object)| (path.to_owned(), Arc::new(object)))
                .into(),
        )
    }

    #[test]
    fn workloads_of_two_objects_do_not_select_the_same_pods() {
        let web = json!({"app": "web"});
        let shared = checked(&[deployment("a", "1", &web), deployment("b", "2", &web)]);
        let why = "the selector of Deployment a/a matches the pods of Deployment a/b, which belongs to another object: app=web";
        assert!(shared.unwrap_err().starts_with(why));
        for [first, second] in [
            [
                ("1", json!({"app": "web", "of": "a"})),
                ("2", json!({"app": "web", "of": "b"})),
            ],
            // two parts of one object
            [("1", web.clone()), ("1", web)],
        ] {
            let children = [first, second].map(|(of, labels)| deployment(of, of, &labels));
            assert_eq!(checked(&children), Ok(()));
        }
    }

    #[test]
    fn a_service_selects_pods_of_its_object() {
        let pods = deployment("web", "1", &json!({"app": "web", "of": "a"}));
        for selector in [
            json!({"app": "web"}),
            json!({"of": "a", "app": "web"}),
            // set on the primary while it runs
            json!({"app": "web", "role": "primary"}),
            json!({"statefulset.kubernetes.io/pod-name": "web-0"}),
            // named in the spec
            json!({"app": "chosen"}),
            json!({}),
            Value::Null,
        ] {
            assert_eq!(
                checked(&[pods.clone(), service(selector.clone())]),
                Ok(()),
                "{selector}"
            );
        }
        for selector in [
            json!({"app": "wbe"}),
            json!({"ap": "web"}),
            json!({"app": "web", "of": "b"}),
        ] {
            let why = checked(&[pods.clone(), service(selector.clone())]).unwrap_err();
            assert!(
                why.starts_with("the selector of Service a/web matches no pods: it is "),
                "{selector}: {why}"
            );
        }
        // nobody knows the pods
        assert_eq!(checked(&[service(json!({"app": "wbe"}))]), Ok(()));
        let database = child("Database", "db", "1", Value::Null);
        assert_eq!(
            checked(&[pods, database, service(json!({"app": "db"}))]),
            Ok(())
        );
    }

    #[test]
    fn an_ingress_names_services_and_ports_that_exist() {
        let web = service(Value::Null);
        for (name, port, why) in [
            ("web", json!({"number": 80}), None),
            ("web", json!({"name": "http"}), None),
            ("other", json!({"number": 1}), None),
            ("chosen", json!({"number": 1}), None),
            (
                "wbe",
                json!({"number": 80}),
                Some("Ingress a/web has the backend Service wbe, which does not exist"),
            ),
            (
                "web",
                json!({"number": 8080}),
                Some(
                    r#"Ingress a/web has a backend with the port {"number":8080}, which Service a/web does not have"#,
                ),
            ),
        ] {
            let checked = checked(&[web.clone(), ingress(name, port)]).err();
            let said = checked.as_deref().and_then(|it| it.lines().next());
            assert_eq!(said, why);
        }
    }
}
