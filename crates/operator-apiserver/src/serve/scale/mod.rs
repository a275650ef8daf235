//! The [scale] subresource of custom kinds and of Deployments, ReplicaSets, StatefulSets.
//!
//! [scale]: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/scale-v1/

mod parent;

use serde_json::Value;

use self::parent::Parent;
use crate::apply::{Managers, Operation, without_managers};
use crate::decode::{self, body};
use crate::kinds::strategy;
use crate::model::kind::Scale;
use crate::model::label_text::selector;
use crate::model::metadata::{self, text};
use crate::model::{Cause, Failure, Kind, Result};
use crate::patch;
use crate::read::Reply;
use crate::request::Request;
use crate::store::{State, stored};
use crate::write::apply::{self, check_manager};
use crate::write::draft::check_identity;
use crate::write::normalize::normalize;
use crate::write::patch::{check_media, check_names, patched};
use crate::write::tracking::writer_of;
use crate::write::{Base, Draft, Prepared, stage};

/// The version of all scales.
const SCALE: &str = "autoscaling/v1";

/// The decoder's message for any error in the scale of a custom kind.
const UNREGISTERED: &str =
    r#"no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111""#;

/// The value that marks a scale without replicas, so that a patch that sets none is recognized.
const UNSET: i32 = i32::MIN;

/// A new scale, and the object that gets it.
pub(crate) struct ScaleDraft {
    live: Value,
    pub scale: Value,
    managers: Managers,
}

pub(crate) fn serve_scale(state: &mut State, request: &Request<'_>, verb: &str) -> Result<Reply> {
    let kind = request.kind;
    if verb == "get" {
        let paths = paths(kind)?;
        let live = scalable(state, request)?;
        if !has_replicas(kind, &live, &paths) {
            let path = &paths.spec_replicas_path;
            let text = format!("the spec replicas field {path:?} does not exist");
            return Err(Failure::internal_error(&text));
        }
        return Ok(Reply::ok(show(&live, &paths)));
    }
    let draft = propose_scale(state, request, verb)?;
    let prepared = scaled_object(request, draft)?;
    let reply = stage::finish(state, request, prepared)?;
    scale_reply(kind, reply)
}

fn scalable(state: &State, request: &Request<'_>) -> Result<Value> {
    stored::live(state, request)?
        .ok_or_else(|| Failure::not_found(request.kind, &request.path.name))
}

/// Computes the new scale from a write.
pub(crate) fn propose_scale(
    state: &State,
    request: &Request<'_>,
    verb: &str,
) -> Result<ScaleDraft> {
    let kind = request.kind;
    let paths = paths(kind)?;
    let sent = sent_scale(request, verb)?;
    let live = scalable(state, request)?;
    let mut scale = show(&live, &paths);
    if !has_replicas(kind, &live, &paths) {
        scale["spec"]["replicas"] = UNSET.into();
    }
    let managers = Parent::of(kind, &live).to_scale();
    metadata::set(&mut scale, "managedFields", managers.write_or_null());
    let (scale, managers) = scaled(state, request, sent, &scale, managers)?;
    Ok(ScaleDraft {
        live,
        scale,
        managers,
    })
}

/// The object with its new scale.
pub(crate) fn scaled_object(request: &Request<'_>, draft: ScaleDraft) -> Result<Prepared> {
    let kind = request.kind;
    let live = draft.live;
    let mut object = with_replicas(request, &live, &draft.scale, &paths(kind)?)?;
    let written = object.clone();
    let mut dropped = normalize(request, &mut object)?;
    // the real server does not decode the scaled object, so only the next write sets defaults
    dropped.stores_unknown_fields = kind.custom.is_some() && written != object;
    let managers = Parent::of(kind, &live).with(draft.managers);
    let draft = Draft {
        object,
        managers,
        dropped,
    };
    Ok(Prepared::new(Base::Live(live), draft))
}

/// Computes the new scale from a write and the live scale, and the owners of its fields.
fn scaled(
    state: &State,
    request: &Request<'_>,
    sent: Option<Value>,
    live: &Value,
    before: Managers,
) -> Result<(Value, Managers)> {
    let kind = scale_kind(request.kind);
    let of_scale = Request {
        kind: &kind,
        ..*request
    };
    let is_patch = sent.is_none();
    let wanted = match (sent, request.call.content_type.as_str()) {
        (Some(wanted), _) => {
            check_identity(request, &wanted, text(live, "uid"))?;
            wanted
        }
        (None, patch::APPLY) => {
            let applied = applied_scale(state, request, &of_scale, live, &before)?;
            check_patched(request, &applied.0, live)?;
            return Ok(applied);
        }
        (None, _) => patched(&of_scale, live)?.0,
    };
    if is_patch {
        check_patched(request, &wanted, live)?;
    }
    // Fields without a manager have none until the first apply.
    let managers = if before.0.is_empty() {
        before
    } else {
        let writer = writer_of(&of_scale, Operation::Update);
        let (live, wanted) = (without_managers(live), without_managers(&wanted));
        writer.update(&live, &wanted, &before).unwrap_or_default()
    };
    Ok((wanted, managers))
}

/// Computes the result of an apply to a scale. For a custom object, the real server can compare the result, but not convert it back to
/// an object.
fn applied_scale(
    state: &State,
    request: &Request<'_>,
    of_scale: &Request<'_>,
    live: &Value,
    before: &Managers,
) -> Result<(Value, Managers)> {
    let is_custom = request.kind.custom.is_some();
    let unconverted = |doing: &str, namespace: &str, name: &str| {
        let shown = of_scale.kind.printed(namespace, name);
        Failure::without_reason(format!(
            "{doing} object {shown} to proper version: request to convert CR to an invalid group/version: {SCALE}"
        ))
    };
    if is_custom && before.0.is_empty() {
        let doing = "failed to create manager for existing fields: failed to convert live";
        return Err(unconverted(doing, "", ""));
    }
    let draft = apply::applied(state, of_scale, Some(live))?;
    if is_custom && without_managers(&draft.object) != without_managers(live) {
        let sent = body::yaml(&request.call.body)?;
        let namespace = text(&sent, "namespace");
        let name = &request.path.name;
        return Err(unconverted("failed to convert new", namespace, name));
    }
    Ok((draft.object, draft.managers))
}

impl ScaleDraft {
    /// The scale that webhooks get, before and after the write.
    pub fn shown(&self, kind: &Kind) -> Result<(Value, Value)> {
        let before = show(&self.live, &paths(kind)?);
        let mut after = self.scale.clone();
        metadata::set(&mut after, "managedFields", self.managers.write_or_null());
        Ok((before, after))
    }
}

/// The scale of an object.
pub(crate) fn scale_of(kind: &Kind, object: &Value) -> Result<Value> {
    Ok(show(object, &paths(kind)?))
}

/// Converts the response to a write of the object to that of its scale.
pub(crate) fn scale_reply(kind: &Kind, reply: Reply) -> Result<Reply> {
    match reply {
        Reply::Object { code, object } => Ok(Reply::Object {
            code,
            object: scale_of(kind, &object)?,
        }),
        other => Ok(other),
    }
}

fn has_replicas(kind: &Kind, live: &Value, paths: &Scale) -> bool {
    kind.custom.is_none() || !read(live, &paths.spec_replicas_path).is_null()
}

/// Checks that the uid in a patched scale is that of the object, or missing.
fn check_patched(request: &Request<'_>, wanted: &Value, live: &Value) -> Result<()> {
    let (uid, expected) = (text(wanted, "uid"), text(live, "uid"));
    if request.kind.custom.is_some() || uid.is_empty() || uid == expected {
        return Ok(());
    }
    let of_scale = Kind {
        plural: format!("{}/scale", request.kind.plural),
        ..request.kind.clone()
    };
    let why =
        format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {expected}");
    Err(Failure::conflict(&of_scale, &request.path.name, &why))
}

fn decoded(request: &Request<'_>) -> Result<Value> {
    let mut object = request.call.object(request.kind)?;
    decode::identify(request.kind, &mut object)?;
    normalize(request, &mut object)?;
    Ok(object)
}

/// The scale in an update; `None` for a patch, of which only the options are checked.
fn sent_scale(request: &Request<'_>, verb: &str) -> Result<Option<Value>> {
    match (verb, request.call.content_type.as_str()) {
        ("get", _) => Ok(None),
        ("update", _) => {
            let kind = scale_kind(request.kind);
            let of_scale = Request {
                kind: &kind,
                ..*request
            };
            let mut wanted = decoded(&of_scale).map_err(|wrong| match wrong.code {
                400 if request.kind.custom.is_some() => Failure::bad_request(UNREGISTERED),
                _ => wrong,
            })?;
            check_names(request, &mut wanted)?;
            Ok(Some(wanted))
        }
        (_, patch::APPLY) => check_manager(request).map(|()| None),
        _ => check_media(request).map(|()| None),
    }
}

/// The object with the replicas of a scale.
fn with_replicas(
    request: &Request<'_>,
    live: &Value,
    scale: &Value,
    paths: &Scale,
) -> Result<Value> {
    let kind = request.kind;
    let replicas = scale["spec"]["replicas"].as_i64().unwrap_or_default();
    if kind.custom.is_none() && replicas < 0 {
        let text = format!("Invalid value: {replicas}: must be greater than or equal to 0");
        let cause = Cause::invalid("spec.replicas", text);
        let name = &request.path.name;
        return Err(Failure::invalid(&scale_kind(kind), name, vec![cause]));
    }
    if replicas == i64::from(UNSET) {
        let path = &paths.spec_replicas_path;
        let text = format!("the spec replicas field {path:?} cannot be empty");
        return Err(Failure::bad_request(text));
    }
    let mut object = live.clone();
    let version = text(scale, "resourceVersion");
    if !version.is_empty() {
        metadata::set(&mut object, "resourceVersion", version);
    }
    write(&mut object, &paths.spec_replicas_path, replicas.into());
    Ok(object)
}

/// The kind Scale, as the kind of a resource's subresource.
pub(crate) fn scale_kind(kind: &Kind) -> Kind {
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

/// The paths of the scale subresource of a kind.
fn paths(kind: &Kind) -> Result<Scale> {
    let custom = kind.custom.as_ref();
    let scale = match custom {
        Some(custom) => custom.scale.clone(),
        None => strategy(kind).has_scale.then(|| Scale {
            spec_replicas_path: ".spec.replicas".into(),
            status_replicas_path: ".status.replicas".into(),
            label_selector_path: Some(".spec.selector".into()),
        }),
    };
    scale.ok_or_else(|| Failure::not_implemented(format!("{}/scale", kind.qualified())))
}

fn show(object: &Value, paths: &Scale) -> Value {
    let mut scale = serde_json::json!({
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
            terms if terms.is_object() => scale["status"]["selector"] = selector(terms).into(),
            _ => {}
        }
    }
    scale
}

/// The value at a path such as `.spec.replicas`.
fn read<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.trim_start_matches('.')
        .split('.')
        .fold(object, |value, part| &value[part])
}

/// Sets the value at such a path, with the objects that lead to it.
fn write(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = serde_json::json!({});
        }
        place = &mut place[part];
    }
    *place = value;
}
