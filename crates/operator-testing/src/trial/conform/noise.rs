//! What an operator does when it has nothing to do: it records no events, makes few requests, and writes no present time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::state::events;
use super::scene::Scene;
use super::yaml;
use crate::install::documents;
use crate::request_log::EVENTS_AND_LEASES;

/// How often a label of the settled object changes, and how long the operator has for each change.
const TOUCHES: usize = 20;
const PAUSE: Duration = Duration::from_secs(30);

/// How often an operator may make a request for an object in the ten minutes of all changes: about once in two seconds.
const REQUESTS: usize = 400;

/// Checks that reconciliations of a settled object record no events, and that requests are not repeated each second.
pub(super) async fn check(scene: &Scene<'_>) -> Result<(), String> {
    let before = events(&scene.server).await;
    let known = scene.faults.requests().len();
    for number in 1..=TOUCHES {
        touch(scene, &number.to_string()).await;
        scene.pass(PAUSE, "a label of the sample changed").await?;
    }
    let mut repeated: BTreeMap<String, usize> = BTreeMap::new();
    for request in &scene.faults.requests()[known..] {
        let is_counted = !request.name.is_empty() && request.verb != "watch";
        if is_counted && !EVENTS_AND_LEASES.contains(&&*request.resource) {
            *repeated.entry(request.to_string()).or_default() += 1;
        }
    }
    let most = repeated.into_iter().max_by_key(|(_, times)| *times);
    if let Some((request, times)) = most.filter(|(_, times)| *times > REQUESTS) {
        return Err(format!(
            "it makes a request {times} times in ten minutes, although there is nothing to do: {request}\nhelp: read from the cache of a watch (`watches`, `owns` or `related`), or requeue after more than a second"
        ));
    }
    scene.rest("a label of the sample changed").await?;
    let new = events(&scene.server)
        .await
        .into_iter()
        .find(|(path, (count, _))| before.get(path).is_none_or(|(earlier, _)| earlier < count));
    match new {
        None => Ok(()),
        Some((_, (count, event))) => Err(format!(
            "it records events although there is nothing to do: after {TOUCHES} changes of a label of the settled sample, there is {event} (count {count})\nhelp: record an event together with the change that it reports"
        )),
    }
}

/// Changes a label of the sample.
pub(super) async fn touch(scene: &Scene<'_>, value: &str) {
    let mut objects = documents(scene.sample_text()).unwrap_or_default();
    for object in &mut objects {
        object["metadata"]["labels"]["operator-testing"] = value.into();
    }
    scene.install(&yaml(&objects)).await;
}

/// The path and the value of each time in a status, except in conditions.
pub(super) fn times(status: &Value) -> BTreeMap<String, String> {
    let mut times = BTreeMap::new();
    for (name, value) in status.as_object().into_iter().flatten() {
        if name != "conditions" {
            collect(value, &format!("status.{name}"), &mut times);
        }
    }
    times
}

fn collect(value: &Value, path: &str, times: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            collect(value, &format!("{path}.{name}"), times);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| {
            collect(value, &format!("{path}[{index}]"), times);
        }),
        Value::String(text) if text.parse::<k8s_openapi::jiff::Timestamp>().is_ok() => {
            times.insert(path.to_owned(), text.clone());
        }
        _ => {}
    }
}
