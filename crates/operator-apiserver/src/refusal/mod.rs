//! Decodes and validates new objects of built-in kinds as the API server does, for programs without a server. The schemas in a
//! CustomResourceDefinition are not checked; see [`operator_schema::structural`].

use serde_json::Value;

use crate::kinds::resource::CRDS;
use crate::kinds::rule::metadata as metadata_rules;
use crate::kinds::{crd, strategy};
use crate::model::builtin::{builtin, resolve};
use crate::model::metadata::{self, text};
use crate::model::{Cause, Kind};
use crate::{decode, go};

/// One reason why the API server refuses an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field, as the API server names it, for example `spec.versions[0].name`; empty if the object cannot be decoded.
    pub field: String,
    /// The message of the API server, for example `Required value`.
    pub message: String,
}

/// A field that the API server does not know. It drops the field, or refuses the object if the client asks for strict validation, as kubectl
/// does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownField {
    /// Its path, for example `spec.versions[0].storrage`.
    pub field: String,
    /// The fields that the API server knows at this place.
    pub known: Vec<String>,
}

/// The reasons and unknown fields for which the API server refuses a new object, or changes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// The reasons why it refuses the object.
    pub refusals: Vec<Refusal>,
    /// The fields that it does not know; none if it cannot decode the object.
    pub unknown: Vec<UnknownField>,
}

/// Returns the reasons why the API server refuses a new object, including its metadata; none for a kind that is not built in. The
/// schemas of a CustomResourceDefinition are not checked, nor are unknown fields: see [`verdict`].
///
/// ```
/// use serde_json::json;
///
/// let pod = json!({
///     "apiVersion": "v1",
///     "kind": "Pod",
///     "metadata": {"name": "web"},
///     "spec": {"containers": [{"name": "web", "image": "web"}], "restartPolicy": "Sometimes"},
/// });
/// let refusals = operator_apiserver::refusals(&pod);
/// assert_eq!(refusals[0].field, "spec.restartPolicy");
/// ```
pub fn refusals(object: &Value) -> Vec<Refusal> {
    verdict(object).refusals
}

/// Like [`refusals`], with the unknown fields.
pub fn verdict(object: &Value) -> Verdict {
    let kinds = &builtin().kinds;
    let is_kind =
        |kind: &Kind| object["kind"] == *kind.kind && object["apiVersion"] == *kind.api_version();
    let Some(kind) = kinds.iter().find(|kind| is_kind(kind)) else {
        return Verdict::default();
    };
    let mut new = object.clone();
    let normalized = match decode::normalize(kind, &mut new) {
        Ok(normalized) => normalized,
        Err(wrong) => {
            let (field, message) = (String::new(), wrong.decoded);
            return Verdict {
                refusals: vec![Refusal { field, message }],
                unknown: Vec::new(),
            };
        }
    };
    let unknown = normalized.unknown.iter().map(|field| UnknownField {
        field: field.clone(),
        known: known_siblings(kind, field),
    });
    let unknown = unknown.collect();
    // the API server overwrites these
    metadata::set(&mut new, "managedFields", Value::Null);
    if !kind.namespaced {
        metadata::set(&mut new, "namespace", Value::Null);
    }
    let is_crd = kind.is(CRDS);
    if is_crd {
        crd::prepare_for_create(&mut new);
    }
    let sent = normalized.is_reduced.then_some(object);
    let new = decode::as_validated(kind, &new, sent);
    let mut causes = metadata_rules::of_new(kind, &new);
    if is_crd {
        causes.extend(crd::violations_beside_schemas(&new));
    } else {
        (strategy(kind).validate)(None, &new, &mut causes);
    }
    let refusal = |Cause { field, message, .. }| Refusal { field, message };
    let mut refusals: Vec<Refusal> = causes.into_iter().map(refusal).collect();
    let version = go::parse_uint(text(object, "resourceVersion"));
    if version.is_ok_and(|version| version != 0) {
        refusals.push(Refusal {
            field: "metadata.resourceVersion".into(),
            message: "Forbidden: resourceVersion should not be set on objects to be created".into(),
        });
    }
    Verdict { refusals, unknown }
}

/// The fields that are known at the place of an unknown one.
fn known_siblings(kind: &Kind, field: &str) -> Vec<String> {
    let root = kind
        .type_name
        .as_ref()
        .and_then(|name| builtin().types.get(name));
    let parents = field.rsplit_once('.').map_or("", |(parents, _)| parents);
    let mut steps = parents.split('.').filter(|step| !step.is_empty());
    root.and_then(|root| {
        steps.try_fold(resolve(root), |parent, step| {
            let (name, index) = step.split_once('[').unwrap_or((step, ""));
            let value = resolve(parent.properties.get(name)?);
            match index {
                "" => Some(value),
                _ => value.items.as_deref().map(resolve),
            }
        })
    })
    .into_iter()
    .flat_map(|it| it.properties.keys())
    .cloned()
    .collect()
}
