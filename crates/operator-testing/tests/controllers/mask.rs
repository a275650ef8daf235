//! Hides what differs from run to run: uids, versions, times, generated names, the generations of ReplicaSets, and the hashes of templates,
//! which depend on how Go prints a template.

use std::collections::BTreeMap;

use serde_json::Value;

/// All objects with their kinds, masked and sorted.
pub fn masked(namespace: &str, all: Vec<(&'static str, Vec<Value>)>) -> Vec<(&'static str, Value)> {
    let mut names = BTreeMap::new();
    names.insert(namespace.to_owned(), "NAMESPACE".to_owned());
    for (plural, objects) in &all {
        let mut objects: Vec<&Value> = objects.iter().collect();
        objects.sort_by_key(|object| age(object));
        for (at, object) in objects.iter().enumerate() {
            let labels = &object["metadata"]["labels"];
            let hash = match *plural {
                "replicasets" => &labels["pod-template-hash"],
                "controllerrevisions" => &labels["controller-revision-hash"],
                _ => &Value::Null,
            };
            if let Some(hash) = hash.as_str() {
                names.insert(hash.to_owned(), format!("HASH{at}"));
            }
        }
    }
    for (_, objects) in &all {
        for object in objects {
            let metadata = &object["metadata"];
            let text = |field: &str| metadata[field].as_str().unwrap_or_default().to_owned();
            let (prefix, name) = (text("generateName"), text("name"));
            if !prefix.is_empty() && name.len() == prefix.len() + 5 {
                names.insert(name[prefix.len()..].to_owned(), "XXXXX".to_owned());
            }
            if let Some(minutes) = name.strip_prefix("cron-") {
                names.insert(
                    minutes.split('-').next().unwrap().to_owned(),
                    "MINUTES".to_owned(),
                );
            }
            let owner = text("name");
            names.insert(text("uid"), format!("UID-OF-{owner}"));
        }
    }
    all.into_iter()
        .flat_map(|(plural, objects)| {
            let mut objects: Vec<(&'static str, Value)> = objects
                .iter()
                .map(|object| hide("", object, &names))
                .map(|object| match plural {
                    "replicasets" => without_generation(object),
                    _ => object,
                })
                .map(|object| (plural, object))
                .collect();
            objects.sort_by_cached_key(|(_, object)| object.to_string());
            objects
        })
        .collect()
}

/// Hides the generation of a ReplicaSet: in how many steps it is scaled depends on how many pods become ready at once.
fn without_generation(mut set: Value) -> Value {
    let observed = set["status"]["observedGeneration"].clone();
    if observed == set["metadata"]["generation"] {
        set["status"]["observedGeneration"] = "GENERATION".into();
    }
    set["metadata"]["generation"] = "GENERATION".into();
    set
}

/// The revision, the creation time and the name, by which objects are sorted.
fn age(object: &Value) -> (i64, String, String) {
    let revision = &object["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
    let revision = revision.as_str().and_then(|text| text.parse().ok());
    let revision = revision.or(object["revision"].as_i64()).unwrap_or_default();
    let text = |field: &str| {
        object["metadata"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (revision, text("creationTimestamp"), text("name"))
}

fn hide(key: &str, value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(name, _)| name.as_str());
            let fields = sorted
                .into_iter()
                .map(|(name, value)| (rename(name, names), hide(name, value, names)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(|item| hide(key, item, names)).collect();
            // Their order depends on the second of each write, or has no meaning.
            if matches!(key, "managedFields" | "conditions") {
                items.sort_by_cached_key(|item| {
                    let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
                    (text("type"), text("manager"), text("subresource"))
                });
            }
            items.into()
        }
        Value::String(_) if key == "resourceVersion" => "VERSION".into(),
        Value::String(text) if is_time(text) => "TIME".into(),
        Value::String(text) => rename(text, names).into(),
        other => other.clone(),
    }
}

fn rename(text: &str, names: &BTreeMap<String, String>) -> String {
    // several times, because the text for a uid has the name of its object, which may have a hash
    let mut renamed = text.to_owned();
    for _ in 0..3 {
        for (name, masked) in names.iter().filter(|(name, _)| !name.is_empty()) {
            renamed = renamed.replace(name, masked);
        }
    }
    renamed
}

fn is_time(text: &str) -> bool {
    text.parse::<k8s_openapi::jiff::Timestamp>().is_ok()
}
