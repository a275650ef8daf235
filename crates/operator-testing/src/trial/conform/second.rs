//! A second object, which differs from the first and is created when that has settled: it must get what it gets alone.

use serde_json::Value;

use super::scene::{Scene, without_history};
use crate::install::documents;

/// Checks the second object. `first` and `alone` are the states after only the first or only the second object was created.
///
/// What differs between the objects may be allocated, such as a port; but what is missing, or has the value of the first object, is a mistake.
pub(super) async fn check_as_alone(
    scene: &Scene<'_>,
    second: &str,
    first: &Value,
    alone: &Value,
) -> Result<(), String> {
    scene.install(scene.sample_text()).await;
    scene.rest("the sample was created").await?;
    // a rule of the kind may allow only one object
    if scene.server.install(second).await.is_err() {
        return Ok(());
    }
    scene
        .rest("a second object with another spec was created")
        .await?;
    let sample = documents(second).unwrap_or_default();
    let Some(sample) = sample.first() else {
        return Ok(());
    };
    compare(sample, first, alone, &scene.state().await).map_err(|why| {
        format!(
            "a second object with another spec was created when the first one had settled: {why}\nhelp: what a reconciler remembers must belong to one object, for example by its uid"
        )
    })
}

fn compare(second: &Value, first: &Value, alone: &Value, both: &Value) -> Result<(), String> {
    let [first, alone, both] = [first, alone, both].map(without_history);
    let is_second = |object: &Value| {
        object["kind"] == second["kind"] && object["metadata"]["name"] == second["metadata"]["name"]
    };
    let status = |state: &Value| -> Value {
        let object = state
            .as_object()
            .and_then(|it| it.values().find(|it| is_second(it)));
        object.map_or(Value::Null, |it| it["status"].clone())
    };
    let (expected, actual) = (status(&alone), status(&both));
    // it may be refused because of the first one, and then its status says so
    let is_refused = !actual.is_null() && actual != expected;
    if actual.is_null() && !expected.is_null() {
        return Err("it gets no status, but it has one if it is alone".to_owned());
    }
    for (path, expected) in alone.as_object().into_iter().flatten() {
        // an object that both share belongs to the first, too
        if !first[path].is_null() {
            continue;
        }
        let actual = &both[path];
        if actual.is_null() {
            if is_refused {
                continue;
            }
            return Err(format!(
                "{path} is missing, but it exists if that object is alone"
            ));
        }
        if is_refused {
            continue;
        }
        let name = second["metadata"]["name"].as_str().unwrap_or_default();
        let of_first = name.strip_suffix(super::SECOND).unwrap_or(name);
        let like_first = |value: &Value| -> Value {
            let text = value.to_string().replace(name, of_first);
            serde_json::from_str(&text).unwrap_or_default()
        };
        let model = &first[path.replace(name, of_first)];
        check_value(path, &like_first(expected), &like_first(actual), model)?;
    }
    Ok(())
}

/// Fails if a value is that of the first object and not the expected one.
fn check_value(path: &str, expected: &Value, actual: &Value, first: &Value) -> Result<(), String> {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(_)) => {
            fields.iter().try_for_each(|(key, expected)| {
                check_value(
                    &format!("{path}/{key}"),
                    expected,
                    &actual[key],
                    &first[key],
                )
            })
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            items.iter().enumerate().try_for_each(|(index, expected)| {
                check_value(
                    &format!("{path}/{index}"),
                    expected,
                    &actual[index],
                    &first[index],
                )
            })
        }
        _ if expected != actual && actual == first && !first.is_null() => Err(format!(
            "{path} is {actual} as for the first object, and not {expected}"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(objects: &[(&str, Value, Value)]) -> Value {
        let objects = objects.iter().flat_map(|(name, child, status)| {
            let site = json!({"kind": "Site", "metadata": {"name": name}, "status": status});
            let child = json!({"kind": "ConfigMap", "metadata": {"name": name}, "data": child});
            [
                (format!("sites/{name}"), site),
                (format!("configmaps/{name}"), child),
            ]
        });
        let objects = objects.filter(|(_, object)| object["data"] != "none");
        Value::Object(objects.collect())
    }

    #[test]
    fn a_second_object_is_neither_forgotten_nor_a_copy_of_the_first() {
        let second = json!({"kind": "Site", "metadata": {"name": "a-2"}});
        let child = |text: &str, port: u32| json!({"host": text, "port": port, "of": "a"});
        let first = || ("a", child("x", 1), json!({"ready": true}));
        let ready = || json!({"ready": true});
        let alone = state(&[("a-2", child("y", 1), ready())]);
        for (child, status, why) in [
            (child("y", 1), ready(), ""),
            // allocated
            (child("y", 2), ready(), ""),
            // refused
            (json!("none"), json!({"ready": false}), ""),
            (json!("none"), ready(), "configmaps/a-2 is missing"),
            (child("y", 1), Value::Null, "it gets no status"),
            (
                child("x", 1),
                ready(),
                r#"configmaps/a-2/data/host is "x" as for the first object, and not "y""#,
            ),
        ] {
            let both = state(&[first(), ("a-2", child, status)]);
            let checked = compare(&second, &state(&[first()]), &alone, &both);
            let found = checked.err().unwrap_or_default();
            assert!(
                found.starts_with(why) && found.is_empty() == why.is_empty(),
                "{found}, not {why}"
            );
        }
    }
}
