//! Decodes and validates a new CustomResourceDefinition as the API server does, for programs without a server. The schemas of its versions
//! are not checked; see [`operator_schema::structural`].

use serde_json::Value;

use crate::api::model::builtin::builtin;
use crate::api::model::metadata::{self, text};
use crate::api::resource::crd;
use crate::api::resource::rule::metadata as metadata_rules;
use crate::api::{decode, go};

/// One reason why the API server refuses an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The field, as the API server names it, for example `spec.versions[0].name`; empty if the object cannot be decoded.
    pub field: String,
    /// The message of the API server, for example `Required value`.
    pub message: String,
}

/// Returns the reasons why the API server refuses a new CustomResourceDefinition, including its metadata, but not its schemas.
pub fn refusals(definition: &Value) -> Vec<Refusal> {
    let kinds = &builtin().kinds;
    let Some(kind) = kinds.iter().find(|kind| crd::is_crd(kind)) else {
        return Vec::new();
    };
    let mut object = definition.clone();
    let normalized = match decode::normalize(kind, &mut object) {
        Ok(normalized) => normalized,
        Err(wrong) => {
            let (field, message) = (String::new(), wrong.decoded);
            return vec![Refusal { field, message }];
        }
    };
    // the API server writes these itself
    for field in ["namespace", "managedFields"] {
        metadata::set(&mut object, field, Value::Null);
    }
    crd::prepare(&mut object);
    let sent = normalized.is_less.then_some(definition);
    let object = decode::as_validated(kind, &object, sent);
    let mut causes = metadata_rules::of_new(kind, &object);
    causes.extend(crd::violations_beside_schemas(&object));
    let causes = causes.into_iter();
    let mut refusals: Vec<Refusal> = causes
        .map(|cause| Refusal {
            field: cause.field,
            message: cause.message,
        })
        .collect();
    let version = go::parse_uint(text(definition, "resourceVersion"));
    if version.is_ok_and(|version| version != 0) {
        refusals.push(Refusal {
            field: "metadata.resourceVersion".into(),
            message: "Forbidden: resourceVersion should not be set on objects to be created".into(),
        });
    }
    refusals
}
