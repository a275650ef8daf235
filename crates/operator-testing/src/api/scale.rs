//! The [scale] subresource of custom kinds and of Deployments, ReplicaSets, StatefulSets.
//!
//! [scale]: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/scale-v1/

use serde_json::{Value, json};

use super::apply::{Managers, Step};
use super::go;
use super::json;
use super::kind::{Kind, Scale};
use super::metadata::{self, text};
use super::status::{Cause, Failure, Result};
use super::{Reply, Request, State, patch};

impl State {
    pub(crate) fn serve_scale(&mut self, request: &Request<'_>, verb: &str) -> Result<Reply> {
        let kind = request.kind;
        let paths = paths(kind)?;
        let live = self
            .live(request)
            .ok_or_else(|| Failure::not_found(kind, &request.path.name))?;
        let scale = show(&live, &paths);
        if verb == "get"
            && kind.custom.is_some()
            && read(&live, &paths.spec_replicas_path).is_null()
        {
            let path = &paths.spec_replicas_path;
            let text = format!("the spec replicas field {path:?} does not exist");
            return Err(Failure::broken(&text));
        }
        let wanted = match verb {
            "get" => return Ok(Reply::ok(scale)),
            "update" => {
                let wanted = request.call.object(request.kind)?;
                patch::check_names(request, &wanted)?;
                wanted
            }
            _ => match request.call.content_type.as_str() {
                "application/merge-patch+json" | "application/strategic-merge-patch+json" => {
                    let mut wanted = scale;
                    json_patch::merge(&mut wanted, &json::patch(&request.call.body)?);
                    wanted
                }
                "application/json-patch+json" => {
                    patch::json_patched(&scale, json::patch(&request.call.body)?)?
                }
                other => return Err(Failure::not_implemented(format!("{other} of scale"))),
            },
        };
        let mut object = live.clone();
        let version = text(&wanted, "resourceVersion");
        if !version.is_empty() {
            metadata::set(&mut object, "resourceVersion", version);
        }
        let replicas = match &wanted["spec"]["replicas"] {
            Value::Null => json!(0),
            number if number.is_i64() => number.clone(),
            other => {
                let text = format!(
                    "json: cannot unmarshal {other} into Go struct field ScaleSpec.spec.replicas of type int32"
                );
                return Err(Failure::bad_request(text));
            }
        };
        if kind.custom.is_none() && replicas.as_i64().is_some_and(|replicas| replicas < 0) {
            let named = Kind {
                kind: "Scale".into(),
                ..Kind::named("autoscaling", "Scale")
            };
            let text = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            let cause = Cause::invalid("spec.replicas", text);
            return Err(Failure::invalid(&named, &request.path.name, vec![cause]));
        }
        write(&mut object, &paths.spec_replicas_path, replicas);
        let scaled = object.clone();
        let mut lost = request.settle(&mut object)?;
        // What is scaled is not decoded: defaults come with the next write.
        lost.is_untidy = kind.custom.is_some() && scaled != object;
        match self.update(request, live, object, lost)? {
            Reply::Object { code, object } => Ok(Reply::Object {
                code,
                object: show(&object, &paths),
            }),
            other => Ok(other),
        }
    }
}

/// Whether anyone owns the replicas; else a scale makes nobody their owner.
pub(crate) fn is_owned(kind: &Kind, managers: &Managers) -> bool {
    paths(kind).is_ok_and(|paths| {
        let parts = paths.spec_replicas_path.trim_start_matches('.').split('.');
        let path: Vec<Step> = parts.map(Step::field).collect();
        let mut all = managers.0.values();
        all.any(|owned| owned.fields.has_path(&path))
    })
}

fn paths(kind: &Kind) -> Result<Scale> {
    if let Some(scale) = kind.custom.as_ref().and_then(|custom| custom.scale.clone()) {
        return Ok(scale);
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("apps", "deployments" | "replicasets" | "statefulsets") => Ok(Scale {
            spec_replicas_path: ".spec.replicas".into(),
            status_replicas_path: ".status.replicas".into(),
            label_selector_path: Some(".spec.selector".into()),
        }),
        _ => Err(Failure::not_implemented(format!(
            "{}/scale",
            kind.qualified()
        ))),
    }
}

fn show(object: &Value, paths: &Scale) -> Value {
    let mut scale = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {},
        "status": {"replicas": read(object, &paths.status_replicas_path).as_i64().unwrap_or(0)},
    });
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        metadata::set(&mut scale, field, object["metadata"][field].clone());
    }
    let replicas = read(object, &paths.spec_replicas_path).as_i64();
    let is_shown = |replicas: &i64| *replicas != 0;
    if let Some(replicas) = replicas.filter(is_shown) {
        scale["spec"]["replicas"] = replicas.into();
    }
    if let Some(path) = &paths.label_selector_path {
        match read(object, path) {
            Value::String(selector) if selector.is_empty() => {}
            Value::String(selector) => scale["status"]["selector"] = selector.as_str().into(),
            selector if selector.is_object() => {
                scale["status"]["selector"] = terms(selector).join(",").into();
            }
            _ => {}
        }
    }
    scale
}

/// A selector of a workload as text.
fn terms(selector: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(name, value)| format!("{name}={}", text(value)));
    let expressions = selector["matchExpressions"]
        .as_array()
        .into_iter()
        .flatten();
    let expressions = expressions.map(|expression| {
        let key = text(&expression["key"]);
        let values = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text);
        let values = values.collect::<Vec<_>>().join(",");
        match expression["operator"].as_str() {
            Some("In") => format!("{key} in ({values})"),
            Some("NotIn") => format!("{key} notin ({values})"),
            Some("DoesNotExist") => format!("!{key}"),
            _ => key,
        }
    });
    let mut terms: Vec<String> = labels.chain(expressions).collect();
    terms.sort();
    terms
}

/// What is wrong with what the paths of a scale point at, in a custom object.
pub(crate) fn violations(object: &Value, scale: &Scale) -> Vec<Cause> {
    let numbers = [&scale.spec_replicas_path, &scale.status_replicas_path];
    let mut causes: Vec<Cause> = numbers
        .into_iter()
        .filter_map(|path| number_violation(object, path))
        .collect();
    if let Some(path) = &scale.label_selector_path {
        let wrong = match find(object, path) {
            Ok(Some(value)) if !value.is_string() => Some(mistyped(path, value, "string")),
            Ok(_) => None,
            Err(wrong) => Some(wrong),
        };
        let cause = |wrong| Cause::invalid(path, format!("Invalid value: \"\": {wrong}"));
        causes.extend(wrong.map(cause));
    }
    causes
}

fn number_violation(object: &Value, path: &str) -> Option<Cause> {
    let (shown, wrong) = match find(object, path) {
        Err(wrong) => (0, wrong),
        Ok(value) => match (value?, value?.as_i64()) {
            (_, Some(number)) if number < 0 => (number, "should be a non-negative integer".into()),
            (_, Some(number)) if number > i64::from(i32::MAX) => {
                let wrong = format!("should be less than or equal to {}", i32::MAX);
                (number, wrong)
            }
            (_, Some(_)) => return None,
            (other, None) => (0, mistyped(path, other, "int64")),
        },
    };
    let text = format!("Invalid value: {shown}: {wrong}");
    Some(Cause::invalid(path, text))
}

/// The value at a path, or what on the way to it is no object.
fn find<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut value = object;
    let mut way = String::new();
    for part in path.trim_start_matches('.').split('.') {
        way.push('.');
        way.push_str(part);
        value = match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(part) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => return Err(mistyped(&way, other, "map[string]interface{}")),
        };
    }
    Ok(Some(value))
}

fn mistyped(path: &str, value: &Value, expected: &str) -> String {
    let (shown, sort) = (go::printed(value), go::type_of(value));
    format!("{path} accessor error: {shown} is of the type {sort}, expected {expected}")
}

/// The value at a path such as `.spec.replicas`.
fn read<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.trim_start_matches('.')
        .split('.')
        .fold(object, |value, part| &value[part])
}

fn write(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = value;
}
