//! The [scale] subresource of custom kinds and of Deployments, ReplicaSets, StatefulSets.
//!
//! [scale]: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/scale-v1/

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::apply::{FieldSet, ManagerId, Managers, Operation, Owned, Step};
use super::go;
use super::kind::{Kind, Scale};
use super::metadata::{self, text};
use super::status::{Cause, Failure, Result};
use super::tracking::without_managers;
use super::write::Draft;
use super::{Reply, Request, State, patch};

/// The version of all scales.
const SCALE: &str = "autoscaling/v1";

impl State {
    pub(crate) fn serve_scale(&mut self, request: &Request<'_>, verb: &str) -> Result<Reply> {
        let kind = request.kind;
        let paths = paths(kind)?;
        let live = self
            .live(request)
            .ok_or_else(|| Failure::not_found(kind, &request.path.name))?;
        let mut scale = show(&live, &paths);
        if verb == "get" {
            let path = &paths.spec_replicas_path;
            if kind.custom.is_some() && read(&live, path).is_null() {
                let text = format!("the spec replicas field {path:?} does not exist");
                return Err(Failure::broken(&text));
            }
            return Ok(Reply::ok(scale));
        }
        let owners = self.owners(kind, &live);
        let of_scale = owners.of_scale();
        metadata::set(&mut scale, "managedFields", of_scale.write_or_null());
        let scale_kind = scale_kind(kind);
        let scaling = Request {
            kind: &scale_kind,
            ..*request
        };
        let (wanted, managers) = scaling.scaled(self, kind, verb, scale, of_scale)?;
        let mut object = live.clone();
        let version = text(&wanted, "resourceVersion");
        if !version.is_empty() {
            metadata::set(&mut object, "resourceVersion", version);
        }
        let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or_default();
        if kind.custom.is_none() && replicas < 0 {
            let text = format!("Invalid value: {replicas}: must be greater than or equal to 0");
            let cause = Cause::invalid("spec.replicas", text);
            return Err(Failure::invalid(
                &scale_kind,
                &request.path.name,
                vec![cause],
            ));
        }
        write(&mut object, &paths.spec_replicas_path, replicas.into());
        let scaled = object.clone();
        let mut lost = request.settle(&mut object)?;
        // What is scaled is not decoded: defaults come with the next write.
        lost.is_untidy = kind.custom.is_some() && scaled != object;
        let draft = Draft {
            object,
            managers: owners.of_object(managers),
            lost,
        };
        match self.admit_changed(request, live, draft)? {
            Reply::Object { code, object } => Ok(Reply::Object {
                code,
                object: show(&object, &paths),
            }),
            other => Ok(other),
        }
    }

    fn owners(&self, kind: &Kind, live: &Value) -> Owners {
        let path = |kind: &Kind| {
            let path = paths(kind).ok()?.spec_replicas_path;
            let parts = path.trim_start_matches('.').split('.');
            Some(parts.map(Step::field).collect())
        };
        let versions = self.registry.all();
        let versions = versions.filter(|other| other.is(&kind.group, &kind.plural));
        Owners {
            api_version: kind.api_version(),
            replicas: versions
                .map(|kind| (kind.api_version(), path(kind)))
                .collect(),
            managers: Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
        }
    }
}

impl Request<'_> {
    /// The scale that a write makes of the one that is there, and who owns what of it.
    fn scaled(
        &self,
        state: &State,
        scaled: &Kind,
        verb: &str,
        live: Value,
        before: Managers,
    ) -> Result<(Value, Managers)> {
        let wanted = match (verb, self.call.content_type.as_str()) {
            ("update", _) => {
                let mut wanted = self.call.object(self.kind)?;
                self.settle(&mut wanted)?;
                patch::check_names(self, &wanted)?;
                wanted
            }
            (_, patch::APPLY) => {
                patch::check_manager(self)?;
                let draft = state.applied(self, Some(&live))?;
                return Ok((draft.object, draft.managers));
            }
            _ => {
                patch::check_media(&Request {
                    kind: scaled,
                    ..*self
                })?;
                self.patched(&live)?.0
            }
        };
        // What nobody owns stays so until the first apply.
        let managers = match before.0.is_empty() {
            true => before,
            false => {
                let writer = self.writer(Operation::Update);
                let (live, wanted) = (without_managers(&live), without_managers(&wanted));
                writer.update(&live, &wanted, &before).unwrap_or_default()
            }
        };
        Ok((wanted, managers))
    }
}

/// The managers of an object that is scaled. Its scale has managers of its own, made of these and given back to them.
struct Owners {
    api_version: String,
    /// Where the replicas are in each version; `None` of one that has no scale.
    replicas: BTreeMap<String, Option<Vec<Step>>>,
    managers: Managers,
}

impl Owners {
    /// Who owns the replicas, as the managers of a scale.
    fn of_scale(&self) -> Managers {
        let path = [Step::field("spec"), Step::field("replicas")];
        let mut managers = Managers::default();
        for (id, owned) in &self.managers.0 {
            let replicas = self.replicas.get(&owned.api_version);
            let Some(Some(replicas)) = replicas else {
                continue;
            };
            if owned.fields.has_path(replicas) {
                let api_version = match id.operation {
                    Operation::Apply => String::new(),
                    Operation::Update => SCALE.to_owned(),
                };
                let id = ManagerId {
                    api_version,
                    ..id.clone()
                };
                let owned = Owned {
                    fields: FieldSet::of(&path),
                    api_version: SCALE.to_owned(),
                    time: owned.time.clone(),
                };
                managers.0.insert(id, owned);
            }
        }
        managers
    }

    /// The managers of the object after those of its scale have changed. Like the real server, this does not know an updater again, and so
    /// may give the replicas to an entry beside its own.
    fn of_object(mut self, mut of_scale: Managers) -> Managers {
        self.managers.0.retain(|id, owned| {
            let Some(path) = self.replicas.get(&owned.api_version) else {
                return false;
            };
            if let Some(path) = path
                && owned.fields.has_path(path)
                && of_scale.0.remove(id).is_none()
            {
                owned.fields = owned.fields.difference(&FieldSet::of(path));
            }
            !owned.fields.is_empty()
        });
        if let Some(Some(path)) = self.replicas.get(&self.api_version) {
            for id in of_scale.0.into_keys() {
                let owned = Owned {
                    fields: FieldSet::of(path),
                    api_version: self.api_version.clone(),
                    time: None,
                };
                self.managers.0.insert(id, owned);
            }
        }
        self.managers
    }
}

/// A scale as a kind: one of the resource that it belongs to.
fn scale_kind(kind: &Kind) -> Kind {
    Kind {
        group: "autoscaling".into(),
        version: "v1".into(),
        kind: "Scale".into(),
        plural: kind.plural.clone(),
        namespaced: kind.namespaced,
        type_name: Some("io.k8s.api.autoscaling.v1.Scale".into()),
        ..Kind::default()
    }
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
        "apiVersion": SCALE,
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
