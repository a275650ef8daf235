//! The first stage of a write: computes the new object of a `POST` or `PUT` from the live one, and the owners of its fields.

use serde_json::Value;

use super::normalize::normalize;
use super::rule::{check_given_version, check_number, check_place};
use super::tracking::{blank, is_reset, writer_of};
use super::{Base, Draft, Prepared, take_version};
use crate::admission::crd::check_crd;
use crate::apply::{Managers, Operation, Writer, without_managers};
use crate::decode::{self, DroppedFields};
use crate::kinds::strategy;
use crate::model::metadata::{self, name, text};
use crate::model::{Failure, Key, Kind, Result};
use crate::request::Request;
use crate::store::{Conversions, State, stored};

/// Drafts the object of a `POST`.
pub(super) fn create(state: &State, request: &Request<'_>) -> Result<Prepared> {
    let kind = request.kind;
    let mut object = request.call.object(request.kind)?;
    check_crd(&state.store, kind, name(&object))?;
    decode::identify(kind, &mut object)?;
    let dropped = normalize(request, &mut object)?;
    check_place(request, &mut object)?;
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        metadata::set(&mut object, field, Value::Null);
    }
    let writer = writer(&state.conversions, request, Operation::Update);
    let given = Managers::read(&object["metadata"]["managedFields"]).unwrap_or_default();
    let managers = writer
        .update(&blank(request), &without_managers(&object), &given)
        .unwrap_or_default();
    let draft = Draft {
        object,
        managers,
        dropped,
    };
    Ok(Prepared::new(Base::New, draft))
}

/// Drafts the object of a `PUT`.
pub(super) fn replace(state: &State, request: &Request<'_>) -> Result<Prepared> {
    let kind = request.kind;
    let mut object = request.call.object(request.kind)?;
    decode::identify(kind, &mut object)?;
    let dropped = normalize(request, &mut object)?;
    check_place(request, &mut object)?;
    match name(&object) {
        "" => {
            return Err(Failure::nameless(&request.path.name));
        }
        found if found != request.path.name => {
            return Err(Failure::bad_request(format!(
                "the name of the object ({found}) does not match the name on the URL ({})",
                request.path.name
            )));
        }
        _ => {}
    }
    let Some(live) = stored::live(state, request)? else {
        if strategy(kind).creates(request.path.subresource.as_deref()) {
            check_identity(request, &object, "")?;
            check_number(&object)?;
            let sent_version = take_version(&mut object);
            let managers = writer(&state.conversions, request, Operation::Update)
                .update(&blank(request), &object, &Managers::default())
                .unwrap_or_default();
            let draft = Draft {
                object,
                managers,
                dropped,
            };
            return Ok(Prepared::new(Base::Absent { sent_version }, draft));
        }
        return Err(Failure::not_found(kind, &request.path.name));
    };
    check_identity(request, &object, text(&live, "uid"))?;
    check_given_version(kind, &object)?;
    Ok(updated(&state.conversions, request, live, object, dropped))
}

/// The draft of an update from `live` to `object`, with the owners of its fields.
pub(crate) fn updated(
    conversions: &Conversions,
    request: &Request<'_>,
    live: Value,
    object: Value,
    dropped: DroppedFields,
) -> Prepared {
    let sent = &object["metadata"]["managedFields"];
    let is_whole = request.path.subresource.is_none();
    let before = match Managers::read(sent) {
        Some(sent) if is_whole && !sent.0.is_empty() => sent,
        _ if is_whole && is_reset(request.kind, sent) => Managers::default(),
        _ => Managers::read(&live["metadata"]["managedFields"]).unwrap_or_default(),
    };
    let writer = writer(conversions, request, Operation::Update);
    let (bare_live, bare) = (without_managers(&live), without_managers(&object));
    // Fields without a manager have none until the first apply.
    let managers = if before.0.is_empty() {
        before
    } else {
        writer
            .update(&bare_live, &bare, &before)
            .unwrap_or_default()
    };
    let draft = Draft {
        object,
        managers,
        dropped,
    };
    Prepared::new(Base::Live(live), draft)
}

/// The writer for a request. The conversion webhook of the kind converts for managers of other versions.
pub(crate) fn writer<'a>(
    conversions: &'a Conversions,
    request: &Request<'a>,
    operation: Operation,
) -> Writer<'a> {
    Writer {
        converter: conversions.converter(request.kind),
        ..writer_of(request, operation)
    }
}

/// Checks that a uid in the body is that of the live object.
pub(crate) fn check_identity(request: &Request<'_>, object: &Value, live: &str) -> Result<()> {
    let uid = text(object, "uid");
    if uid.is_empty() || uid == live {
        return Ok(());
    }
    let name = &request.path.name;
    let key = in_etcd(request.kind, &request.key(name));
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {live}",
        if request.call.is_dry_run() {
            key.trim_start_matches("/registry")
        } else {
            &key
        },
    );
    Err(Failure::conflict(request.kind, name, &why))
}

/// The key under which the real server stores an object.
fn in_etcd(kind: &Kind, key: &Key) -> String {
    let group = match kind.custom {
        Some(_) => format!("{}/", key.group),
        None => String::new(),
    };
    let namespace = match key.namespace.as_str() {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    let (plural, folder, name) = (&key.plural, strategy(kind).etcd_folder, &key.name);
    format!("/registry/{group}{plural}/{folder}{namespace}{name}")
}
