//! Answers a [ConversionReview]: converts its objects in order, all or none.
//!
//! [ConversionReview]: https://kubernetes.io/docs/reference/config-api/apiserver-webhook-conversion.v1/

use kube::core::{ApiResource, GroupVersionKind};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::yield_now;
use tracing::warn;

use super::unreadable::Unreadable;
use crate::conversion;

const API_VERSION: &str = "apiextensions.k8s.io/v1";
const KIND: &str = "ConversionReview";

/// Converts the objects of a CustomResourceDefinition (CRD) between its versions.
pub trait Convert: Send + Sync + 'static {
    /// The name of the CRD, for example `memcacheds.cache.example.com`.
    fn crd(&self) -> &str;

    /// Checks the rules, before the operator serves them.
    ///
    /// # Errors
    /// What is wrong with the rules, if no object can be converted with them.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Converts an object to this `apiVersion`. Of the metadata, only labels and annotations may change.
    ///
    /// # Errors
    /// A message for the client, for example if the version is not served.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;
}

impl Convert for conversion::Conversion {
    fn crd(&self) -> &str {
        self.crd()
    }

    fn check(&self) -> Result<(), String> {
        self.check().map_err(|error| error.to_string())
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.convert(object, api_version)
            .map_err(|error| error.to_string())
    }
}

/// A registered conversion.
pub(super) struct Conversion {
    /// `None` if the plural of the kind is regular.
    pub kind: Option<String>,
    pub rules: Box<dyn Convert>,
    /// Whether the API server asks the operator to convert. Otherwise, it converts the objects itself.
    pub is_served: bool,
}

#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    request: Option<Request>,
}

/// The request of a review.
#[derive(Deserialize)]
pub(super) struct Request {
    pub uid: String,
    #[serde(rename = "desiredAPIVersion")]
    pub desired: String,
    pub objects: Vec<Value>,
}

impl Request {
    pub fn read(body: &[u8]) -> Result<Self, Unreadable> {
        let review: Review = Unreadable::read_review(body, API_VERSION, KIND)?;
        review.request.ok_or(Unreadable::NoRequest)
    }

    /// The review that contains the converted objects, or the message of the first failure.
    pub async fn answer(&self, conversions: &[Conversion]) -> Result<Value, String> {
        let mut converted = Vec::with_capacity(self.objects.len());
        for (index, object) in self.objects.iter().enumerate() {
            match convert(object, &self.desired, conversions) {
                Ok(object) => converted.push(object),
                Err(error) => {
                    let message = format!("{}: {error}", describe(index, object));
                    warn!(error = message, "cannot convert");
                    return Err(message);
                }
            }
            // A list may have thousands of objects: let other requests run in between, which have time limits.
            yield_now().await;
        }
        let success = json!({"status": "Success"});
        Ok(review(&self.uid, &converted, success))
    }

    /// The review of a conversion that failed.
    pub fn failure(&self, message: &str) -> Value {
        review(
            &self.uid,
            &[],
            json!({"status": "Failure", "message": message}),
        )
    }
}

/// The review with a response.
fn review(uid: &str, objects: &[Value], result: Value) -> Value {
    let response = json!({"uid": uid, "convertedObjects": objects, "result": result});
    json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
}

/// Converts an object to an `apiVersion`, with the conversion of its kind.
pub(super) fn convert(
    object: &Value,
    desired: &str,
    conversions: &[Conversion],
) -> Result<Value, String> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let (from, to) = (group(api_version), group(desired));
    if from != to {
        return Err(format!("cannot be converted from group {from:?} to {to:?}"));
    }
    let conversion =
        find(to, kind, conversions).ok_or("this operator does not convert the kind")?;
    let mut converted = conversion.convert(object, desired)?;
    // For a server-side apply, the API server also converts partial objects, which may lack metadata, but it rejects a result without it.
    if let Some(fields) = converted.as_object_mut() {
        fields.entry("metadata").or_insert_with(|| json!({}));
    }
    if converted["apiVersion"] != desired || converted["kind"] != kind {
        return Err(format!("was not converted to {desired}"));
    }
    Ok(converted)
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The conversion of a kind. There is none unless kind or plural match: a guess could convert by the rules of another kind.
pub(super) fn find<'a>(
    group: &str,
    kind: &str,
    conversions: &'a [Conversion],
) -> Option<&'a dyn Convert> {
    let plural = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "", kind)).plural;
    let is_of = |conversion: &&Conversion| {
        let (of, in_group) = conversion.rules.crd().split_once('.').unwrap_or_default();
        let is_kind = match &conversion.kind {
            Some(of) => of == kind,
            None => of == plural,
        };
        is_kind && in_group == group
    };
    conversions.iter().find(is_of).map(|it| &*it.rules)
}

/// Describes an object in a message.
fn describe(index: usize, object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (namespace, name) = (
        text(&object["metadata"]["namespace"]),
        text(&object["metadata"]["name"]),
    );
    let separator = if namespace.is_empty() { "" } else { "/" };
    let (api_version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
    format!("objects[{index}]: {api_version} {kind} {namespace}{separator}{name}")
}
