//! Writes that call webhooks, in the order of the real server's [update] and [create]. Webhooks get the object after its field managers
//! were determined, so fields that they add belong to no manager.
//!
//! [update]: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/update.go
//! [create]: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/create.go

use serde_json::{Map, Value};

use super::{ATTEMPTS, overtaken};
use crate::admission::namespace::check_namespace;
use crate::admission::webhook::mutate::Mutated;
use crate::admission::webhook::question::{self, Question};
use crate::admission::webhook::review::Subject;
use crate::apply::Managers;
use crate::model::metadata::{self, name};
use crate::model::{Cause, Failure, Result};
use crate::read::Reply;
use crate::request::{Call, Request, ResourcePath};
use crate::store::State;
use crate::store::conversion::unanswered;
use crate::transport::service::ApiServer;
use crate::write::check::check_prepared;
use crate::write::commit::{self, is_current};
use crate::write::prepare::admit_by_plugins;
use crate::write::rule::check_place;
use crate::write::{Base, Prepared, stage};

impl ApiServer {
    pub(super) async fn admit_write(
        &self,
        call: &mut Call,
        path: &ResourcePath,
        verb: &str,
    ) -> Result<Reply> {
        for _ in 0..ATTEMPTS {
            let (prepared, mut question) = self
                .locked(call, path, |state, request| propose(state, request, verb))
                .await?;
            let mutated = question.mutate(call, shown(&prepared)).await?;
            let mut checking = Some((prepared, mutated));
            let mut checked = self
                .locked(call, path, |state, request| {
                    // This stage needs no conversion, so it runs once.
                    let (mut prepared, mutated) = checking.take().ok_or_else(unanswered)?;
                    accept(&mut prepared, request, mutated)?;
                    check_prepared(state, request, prepared)
                })
                .await?;
            question.validate(call, &checked.object).await?;
            checked.prune(question.kind());
            let reply = self
                .locked(call, path, |state, request| {
                    if !is_current(&state.store, request, &checked) {
                        return Ok(None);
                    }
                    if checked.base.live().is_none() {
                        // Meanwhile the namespace may be terminating, and its content deleted: an object that is added now would remain.
                        check_namespace(&state.store, request.kind, &checked.key)?;
                    }
                    commit::commit(state, request, checked.clone()).map(Some)
                })
                .await?;
            if let Some(reply) = reply {
                return Ok(reply);
            }
        }
        Err(overtaken())
    }
}

/// Computes the new object from the live one, with the changes of the server's own admission before webhooks.
fn propose(state: &mut State, request: &Request<'_>, verb: &str) -> Result<(Prepared, Question)> {
    let mut prepared = stage::prepare(state, request, verb)?;
    let object = &mut prepared.draft.object;
    let operation = match &prepared.base {
        Base::Live(_) => "UPDATE",
        Base::New | Base::Absent { .. } => {
            check_namespace(&state.store, request.kind, &request.key(name(object)))?;
            admit_by_plugins(&state.store, request, object)?;
            "CREATE"
        }
    };
    let subject = Subject {
        operation,
        name: match request.path.name.as_str() {
            "" => name(object).to_owned(),
            name => name.to_owned(),
        },
        options: options(request.call, operation),
        old: prepared.base.live().cloned(),
        is_dry_run: request.call.is_dry_run(),
    };
    let question = question::question(state, request, subject);
    Ok((prepared, question))
}

/// The object that webhooks get.
fn shown(prepared: &Prepared) -> Value {
    let mut object = prepared.draft.object.clone();
    let managers = prepared.draft.managers.write_or_null();
    metadata::set(&mut object, "managedFields", managers);
    object
}

/// Stores the changes of webhooks in the draft.
fn accept(prepared: &mut Prepared, request: &Request<'_>, mutated: Mutated) -> Result<()> {
    let Mutated {
        mut object,
        dropped,
    } = mutated;
    let Some(dropped) = dropped else {
        return Ok(());
    };
    check_place(request, &mut object)?;
    if let Some(live) = prepared.base.live()
        && name(live) != name(&object)
    {
        let text = format!("Invalid value: {:?}: field is immutable", name(&object));
        let cause = Cause::invalid("metadata.name", text);
        // the real server reports it twice: for all kinds, and for this kind
        let causes = vec![cause.clone(), cause];
        return Err(Failure::invalid(request.kind, name(&object), causes));
    }
    match Managers::read(&object["metadata"]["managedFields"]) {
        Some(managers) => prepared.draft.managers = managers,
        None => request.call.warn(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: the entries are not of the form that the server writes"),
    }
    prepared.draft.object = object;
    prepared.draft.dropped = dropped;
    prepared.is_mutated = true;
    Ok(())
}

/// The options of a write, from its query.
pub(super) fn options(call: &Call, operation: &str) -> Value {
    let kind = match operation {
        "CREATE" => "CreateOptions",
        _ => "UpdateOptions",
    };
    let mut options = Map::new();
    options.insert("kind".into(), kind.into());
    options.insert("apiVersion".into(), "meta.k8s.io/v1".into());
    if call.is_dry_run() {
        options.insert("dryRun".into(), vec!["All"].into());
    }
    for field in ["fieldManager", "fieldValidation"] {
        let given = call.param(field);
        if !given.is_empty() {
            options.insert(field.into(), given.into());
        }
    }
    options.into()
}
