//! What an operator writes when it has nothing to do: no events, and no present time.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use tokio::time::sleep;

use super::scene::Scene;
use super::yaml;
use crate::install::documents;

/// How often a label of the settled object changes, and how long the operator has for each change.
const TOUCHES: usize = 20;
const PAUSE: Duration = Duration::from_secs(30);

/// Checks that reconciliations of a settled object record no events.
pub(super) async fn check_events(scene: &Scene<'_>) -> Result<(), String> {
    let before = events(scene).await;
    for number in 1..=TOUCHES {
        touch(scene, &number.to_string()).await;
        sleep(PAUSE).await;
    }
    scene.rest("a label of the sample changed").await?;
    let new = events(scene)
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

/// The count and a description of each event.
async fn events(scene: &Scene<'_>) -> BTreeMap<String, (u64, String)> {
    let objects = scene.server.objects().await;
    let events = objects.into_iter().filter(|(_, it)| it["kind"] == "Event");
    let counted = events.map(|(path, event)| {
        let counts = [
            &event["count"],
            &event["deprecatedCount"],
            &event["series"]["count"],
        ];
        let count = counts.iter().filter_map(|it| it.as_u64()).max();
        let note = event["message"].as_str().or(event["note"].as_str());
        let reason = event["reason"].as_str().unwrap_or_default();
        let description = format!("the event {reason}: {}", note.unwrap_or_default());
        (path, (count.unwrap_or(1), description))
    });
    counted.collect()
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
