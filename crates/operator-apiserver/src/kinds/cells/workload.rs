//! The cells of the rows that `kubectl get` prints for Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs.

use serde_json::{Value, json};

use super::age;
use crate::model::clock;
use crate::model::condition::is_true;
use crate::model::json::{items, number};
use crate::model::label_text::{labels, or_none, selector};
use crate::model::metadata::{is_deleting, text};

/// The names and images of the containers.
fn containers(template: &Value) -> (String, String) {
    let join = |field: &str| {
        let texts = items(&template["spec"]["containers"]);
        texts
            .map(|container| container[field].as_str().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(",")
    };
    (join("name"), join("image"))
}

/// The number of ready pods, and the desired number: `1/3`.
fn ready(object: &Value) -> String {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (ready, wanted) = (&status["readyReplicas"], &spec["replicas"]);
    format!("{}/{}", number(ready), number(wanted))
}

pub(crate) fn deployment(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]);
    vec![
        text(object, "name").into(),
        ready(object).into(),
        number(&status["updatedReplicas"]).into(),
        number(&status["availableReplicas"]).into(),
        age(object),
        names.into(),
        images.into(),
        selector(&spec["selector"]).into(),
    ]
}

pub(crate) fn replica_set(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]);
    vec![
        text(object, "name").into(),
        number(&spec["replicas"]).into(),
        number(&status["replicas"]).into(),
        number(&status["readyReplicas"]).into(),
        age(object),
        names.into(),
        images.into(),
        or_none(selector(&spec["selector"])).into(),
    ]
}

pub(crate) fn stateful_set(object: &Value) -> Vec<Value> {
    let (names, images) = containers(&object["spec"]["template"]);
    vec![
        text(object, "name").into(),
        ready(object).into(),
        age(object),
        names.into(),
        images.into(),
    ]
}

pub(crate) fn daemon_set(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]);
    vec![
        text(object, "name").into(),
        number(&status["desiredNumberScheduled"]).into(),
        number(&status["currentNumberScheduled"]).into(),
        number(&status["numberReady"]).into(),
        number(&status["updatedNumberScheduled"]).into(),
        number(&status["numberAvailable"]).into(),
        labels(&spec["template"]["spec"]["nodeSelector"]).into(),
        age(object),
        names.into(),
        images.into(),
        or_none(selector(&spec["selector"])).into(),
    ]
}

pub(crate) fn job(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["template"]);
    let succeeded = number(&status["succeeded"]);
    let completions = match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism @ 2..) => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    };
    let end = match &status["completionTime"] {
        Value::Null => json!(clock::now().to_string()),
        time => time.clone(),
    };
    let duration = age::between(&status["startTime"], &end).unwrap_or_default();
    vec![
        text(object, "name").into(),
        state(object).into(),
        completions.into(),
        duration.into(),
        age(object),
        names.into(),
        images.into(),
        or_none(selector(&spec["selector"])).into(),
    ]
}

/// The state of a Job in a word.
fn state(job: &Value) -> &'static str {
    [
        "Complete",
        "Failed",
        "Terminating",
        "Suspended",
        "FailureTarget",
        "SuccessCriteriaMet",
    ]
    .into_iter()
    .find(|state| match *state {
        "Terminating" => is_deleting(job),
        state => is_true(job, state),
    })
    .unwrap_or("Running")
}

pub(crate) fn cron_job(object: &Value) -> Vec<Value> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let (names, images) = containers(&spec["jobTemplate"]["spec"]["template"]);
    let suspend = match spec["suspend"].as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = match &status["lastScheduleTime"] {
        Value::Null => "<none>".to_owned(),
        time => age::since(time),
    };
    vec![
        text(object, "name").into(),
        spec["schedule"].as_str().unwrap_or_default().into(),
        spec["timeZone"].as_str().unwrap_or("<none>").into(),
        suspend.into(),
        status["active"].as_array().map_or(0, Vec::len).into(),
        last.into(),
        age(object),
        names.into(),
        images.into(),
        or_none(selector(&spec["jobTemplate"]["spec"]["selector"])).into(),
    ]
}
