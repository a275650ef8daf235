//! Checks that the objects to which a new pod refers exist: its [ServiceAccount], its [PriorityClass] and its [RuntimeClass]. Each of them
//! sets fields of the pod.
//!
//! In: a pod with its defaults. Out: the pod after the admission plugins ServiceAccount, Priority and RuntimeClass, or a rejection with
//! their messages. The token of the account is not mounted.
//!
//! [ServiceAccount]: https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/#serviceaccount-admission-controller
//! [PriorityClass]: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/#priorityclass
//! [RuntimeClass]: https://kubernetes.io/docs/concepts/containers/runtime-class/

use serde_json::{Value, json};

use super::priority::default_priority_class;
use crate::kinds::resource::{PRIORITY_CLASSES, RUNTIME_CLASSES, SERVICE_ACCOUNTS};
use crate::model::json::{entries, items};
use crate::model::metadata::{name, text};
use crate::model::{Failure, Key, Kind, Result};
use crate::request::Request;
use crate::store::Store;

pub(crate) fn admit_pod(store: &Store, request: &Request<'_>, pod: &mut Value) -> Result<()> {
    admit_account(store, request, pod)?;
    admit_priority(store, request, pod)?;
    admit_runtime(store, request, pod)
}

/// Sets the service account of a pod, and its image pull secrets, unless the pod has some.
fn admit_account(store: &Store, request: &Request<'_>, pod: &mut Value) -> Result<()> {
    let account = pod["spec"]["serviceAccountName"]
        .as_str()
        .filter(|name| !name.is_empty())
        .unwrap_or("default");
    let account = account.to_owned();
    let namespace = &request.path.namespace;
    let key = Key::new(SERVICE_ACCOUNTS, namespace, &account);
    let Some(found) = store.find(&key) else {
        return Err(refused(
            request.kind,
            pod,
            &format!(
                "error looking up service account {namespace}/{account}: serviceaccount {account:?} not found"
            ),
        ));
    };
    let spec = &mut pod["spec"];
    spec["serviceAccountName"] = account.as_str().into();
    spec["serviceAccount"] = account.into();
    let secrets = found["imagePullSecrets"].as_array();
    if let Some(secrets) = secrets.filter(|secrets| !secrets.is_empty())
        && spec["imagePullSecrets"]
            .as_array()
            .is_none_or(Vec::is_empty)
    {
        let names = secrets.iter().map(|it| json!({"name": it["name"]}));
        spec["imagePullSecrets"] = names.collect();
    }
    Ok(())
}

/// Sets the priority and the preemption policy of a pod's PriorityClass. Other values in the pod are rejected.
fn admit_priority(store: &Store, request: &Request<'_>, pod: &mut Value) -> Result<()> {
    let spec = &pod["spec"];
    let class = match spec["priorityClassName"].as_str().unwrap_or_default() {
        "" => default_priority_class(store),
        name => {
            let found = store.find(&Key::new(PRIORITY_CLASSES, "", name));
            let none = || format!("no PriorityClass with name {name} was found");
            Some(found.ok_or_else(|| refused(request.kind, pod, &none()))?)
        }
    };
    let (value, policy) = match &class {
        Some(class) => (
            class["value"].as_i64().unwrap_or_default(),
            class["preemptionPolicy"].as_str(),
        ),
        None => (0, Some("PreemptLowerPriority")),
    };
    if let Some(given) = spec["priority"].as_i64().filter(|given| *given != value) {
        return Err(refused(
            request.kind,
            pod,
            &format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
            ),
        ));
    }
    let given = spec["preemptionPolicy"].as_str();
    if let (Some(given), Some(policy)) = (given, policy)
        && given != policy
    {
        return Err(refused(
            request.kind,
            pod,
            &format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
            ),
        ));
    }
    let spec = &mut pod["spec"];
    if let Some(class) = &class {
        spec["priorityClassName"] = name(class).into();
    }
    spec["priority"] = value.into();
    if let Some(policy) = policy {
        spec["preemptionPolicy"] = policy.into();
    }
    Ok(())
}

/// Sets the overhead and the scheduling of the pod's RuntimeClass. An overhead without a class is rejected.
fn admit_runtime(store: &Store, request: &Request<'_>, pod: &mut Value) -> Result<()> {
    let class = pod["spec"]["runtimeClassName"]
        .as_str()
        .map(str::to_owned)
        .map(|name| {
            let found = store.find(&Key::new(RUNTIME_CLASSES, "", &name));
            let none = || format!("pod rejected: RuntimeClass {name:?} not found");
            found.ok_or_else(|| refused(request.kind, pod, &none()))
        })
        .transpose()?;
    let class = class.as_deref().unwrap_or(&Value::Null);
    let (fixed, overhead) = (&class["overhead"]["podFixed"], &pod["spec"]["overhead"]);
    let has_overhead = overhead.as_object().is_some_and(|it| !it.is_empty());
    if class["overhead"].is_null() {
        if !overhead.is_null() {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            return Err(refused(request.kind, pod, why));
        }
    } else if has_overhead && fixed != overhead {
        let why = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
        return Err(refused(request.kind, pod, why));
    } else {
        pod["spec"]["overhead"] = fixed.clone();
    }
    let scheduling = &class["scheduling"];
    for (label, value) in entries(&scheduling["nodeSelector"]) {
        let own = &pod["spec"]["nodeSelector"][label];
        if let (Some(own), Some(value)) = (own.as_str(), value.as_str())
            && own != value
        {
            return Err(refused(
                request.kind,
                pod,
                &format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{label}] = {value}; pod.spec.nodeSelector[{label}] = {own}"
                ),
            ));
        }
        pod["spec"]["nodeSelector"][label] = value.clone();
    }
    for toleration in items(&scheduling["tolerations"]) {
        if let Some(own) = pod["spec"]["tolerations"].as_array_mut()
            && !own.contains(toleration)
        {
            own.push(toleration.clone());
        }
    }
    Ok(())
}

/// The failure for a pod. If its name is generated, the plugins do not know the name yet.
fn refused(kind: &Kind, pod: &Value, why: &str) -> Failure {
    const GENERATED: usize = 5;
    let (name, start) = (name(pod), text(pod, "generateName"));
    let is_generated =
        !start.is_empty() && name.starts_with(start) && name.len() == start.len() + GENERATED;
    let name = if is_generated { start } else { name };
    Failure::forbidden(kind, name, format!("pods {name:?} is forbidden: {why}"))
}
