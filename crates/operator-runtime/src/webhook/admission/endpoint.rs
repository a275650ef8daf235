//! Answers a request with the user's webhook: decodes the objects, calls the webhook, and computes the patch. Any failure refuses the
//! request.

use std::sync::Arc;

use futures::{FutureExt, future::BoxFuture};
use kube::Resource;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};
use tracing::warn;

use super::{
    AdmissionRequest, Mutate, Operation, Validate, Verdict,
    review::{Answer, Gvk, Request},
    verdict::Subject,
};
use crate::{Error, webhook::patch};

/// A webhook of any type.
pub(crate) trait Endpoint: Send + Sync {
    /// The kind of its objects, in the version of their type.
    fn kind(&self) -> Gvk;

    fn answer<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Answer>;
}

/// Serves [`Validate`].
pub(crate) struct Validating<W>(pub Arc<W>);

/// Serves [`Mutate`].
pub(crate) struct Mutating<W>(pub Arc<W>);

impl<W: Validate> Endpoint for Validating<W> {
    fn kind(&self) -> Gvk {
        Gvk::of::<W::Resource>()
    }

    fn answer<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Answer> {
        async move {
            let typed = match Objects::<W::Resource>::read(&request) {
                Ok(Objects { object, old_object }) => Box::new(AdmissionRequest {
                    object: object.map(|it| *it),
                    old_object: old_object.map(|it| *it),
                    ..request.typed()
                }),
                Err(refusal) => return refusal,
            };
            let verdict = self.0.validate(&typed).await;
            answer(&typed, verdict)
        }
        .boxed()
    }
}

impl<W: Mutate> Endpoint for Mutating<W> {
    fn kind(&self) -> Gvk {
        Gvk::of::<W::Resource>()
    }

    fn answer<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Answer> {
        async move {
            let changed = match request.operation {
                Operation::Delete => request.old_object,
                _ => request.object,
            };
            let read = || -> Result<_, Answer> {
                let Objects { object, old_object } = Objects::<W::Resource>::read(&request)?;
                let raw: Value = read_json("object", changed)?;
                // On a deletion, `mutate` gets the old object, which the request has too.
                let object = match object {
                    Some(object) => object,
                    None => decode("oldObject", changed)?,
                };
                Ok((raw, object, old_object))
            };
            let (raw, mut object, old_object) = match read() {
                Ok(read) => read,
                Err(refusal) => return refusal,
            };
            let typed = Box::new(AdmissionRequest {
                old_object: old_object.map(|it| *it),
                ..request.typed()
            });
            let before = match serde_json::to_value(&object) {
                Ok(before) => before,
                Err(error) => return failed(&error),
            };
            let verdict = self.0.mutate(&mut object, &typed).await;
            let answer = answer(&typed, verdict);
            if answer.refusal.is_some() {
                return answer;
            }
            let changed = serde_json::to_value(&object)
                .map_err(patch::Unpatchable::from)
                .and_then(|after| patch::changed::<W::Resource>(&raw, &before, &after));
            match changed {
                Ok(Some(_)) if typed.operation == Operation::Delete => {
                    failed(&"an object that is being deleted cannot be changed")
                }
                Ok(changed) => Answer {
                    change: changed.map(|changed| Box::new([raw, changed])),
                    ..answer
                },
                Err(error) => failed(&error),
            }
        }
        .boxed()
    }
}

/// The objects of a request.
struct Objects<K> {
    object: Option<Box<K>>,
    old_object: Option<Box<K>>,
}

impl<K: Resource<DynamicType = ()> + DeserializeOwned> Objects<K> {
    /// Reads the objects that an operation has, which have to be of the kind `K`.
    fn read(request: &Request<'_>) -> Result<Self, Answer> {
        let expected = Gvk::of::<K>();
        check_kind("the request", &expected, &request.kind)?;
        let has_object = request.operation != Operation::Delete;
        let has_old = match request.operation {
            Operation::Create | Operation::Connect => false,
            Operation::Update | Operation::Delete => true,
        };
        let read = |is_there: bool, name: &str, json: Option<&RawValue>| {
            if !is_there {
                return Ok(None);
            }
            check_object(name, &expected, json)?;
            decode(name, json).map(Some)
        };
        Ok(Self {
            object: read(has_object, "object", request.object)?,
            old_object: read(has_old, "oldObject", request.old_object)?,
        })
    }
}

/// Checks the kind of an object.
pub(super) fn check_object(
    name: &str,
    expected: &Gvk,
    json: Option<&RawValue>,
) -> Result<(), Answer> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct TypeMeta {
        #[serde(default)]
        api_version: String,
        #[serde(default)]
        kind: String,
    }
    let TypeMeta { api_version, kind } = read_json(name, json)?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let found = Gvk {
        group: group.to_owned(),
        version: version.to_owned(),
        kind,
    };
    check_kind(name, expected, &found)
}

fn check_kind(what: &str, expected: &Gvk, found: &Gvk) -> Result<(), Answer> {
    if expected == found {
        return Ok(());
    }
    let shown = |it: &Gvk| format!("{} {}", it.api_version(), it.kind);
    let (expected, found) = (shown(expected), shown(found));
    let message = format!("this webhook decides on {expected}, but {what} is of {found}");
    Err(Answer::refuse(400, "BadRequest", &message))
}

/// Reads an object, or refuses it with the path of the field that is wrong.
fn decode<K: DeserializeOwned>(name: &str, json: Option<&RawValue>) -> Result<Box<K>, Answer> {
    read_json(name, json).map(Box::new)
}

pub(super) fn read_json<T: DeserializeOwned>(
    name: &str,
    json: Option<&RawValue>,
) -> Result<T, Answer> {
    let Some(json) = json else {
        let message = format!("the request has no {name}");
        return Err(Answer::refuse(400, "BadRequest", &message));
    };
    let mut json = serde_json::Deserializer::from_str(json.get());
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (path, why) = (error.path().to_string(), error.inner().to_string());
        // The position is one in the review, which the client does not know.
        let why = why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why);
        let place = if path == "." { name } else { &path };
        let message = format!("{name} cannot be read: {place}: {why}");
        let mut answer = Answer::refuse(422, "Invalid", &message);
        if let Some(refusal) = &mut answer.refusal {
            let cause = json!({"reason": "FieldValueInvalid", "message": why, "field": path});
            refusal["details"] = json!({"causes": [cause]});
        }
        answer
    })
}

fn answer<K>(request: &AdmissionRequest<K>, verdict: Result<Verdict, Error>) -> Answer {
    let verdict = match verdict {
        Ok(verdict) => verdict,
        Err(error) => return failed(&error),
    };
    let subject = Subject {
        group: &request.kind.group,
        kind: &request.kind.kind,
        name: &request.name,
    };
    Answer {
        refusal: verdict.status(&subject),
        warnings: verdict.warnings().to_vec(),
        change: None,
    }
}

pub(super) fn failed(error: &dyn std::fmt::Display) -> Answer {
    warn!(%error, "the webhook failed, so the request is refused");
    Answer::refuse(500, "InternalError", &error.to_string())
}
