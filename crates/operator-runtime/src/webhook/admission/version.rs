//! Answers requests whose objects have another version than the webhook's type: while a release that moves the storage version is rolled
//! out, the operator of one release is called by the configuration of the other.

use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use super::{
    endpoint::{Endpoint, check_object, failed, read_json},
    review::{Answer, Request},
};
use crate::webhook::{
    convert::{Conversion, convert, find},
    patch::merge,
};

/// The answer of a webhook, which gets the objects in the version of its type.
pub(crate) async fn answer(
    endpoint: &dyn Endpoint,
    mut request: Request<'_>,
    conversions: &[Conversion],
) -> Answer {
    let (sent, own) = (request.kind.clone(), endpoint.kind());
    let is_convertible = (&sent.group, &sent.kind) == (&own.group, &own.kind)
        && find(&own.group, &own.kind, conversions).is_some();
    if sent.version == own.version || !is_convertible {
        return endpoint.answer(request).await;
    }
    let converted = |object: &Value, to: &str| {
        convert(object, to, conversions)
            .map_err(|error| failed(&format!("the object cannot be converted to {to}: {error}")))
    };
    let to_own = |name, json: Option<&RawValue>| -> Result<Option<Box<RawValue>>, Answer> {
        if json.is_none() {
            return Ok(None);
        }
        check_object(name, &sent, json)?;
        let object = converted(&read_json(name, json)?, &own.api_version())?;
        Ok(Some(to_raw_value(&object).expect("its keys are strings")))
    };
    let (object, old_object) = match (
        to_own("object", request.object),
        to_own("oldObject", request.old_object),
    ) {
        (Ok(object), Ok(old_object)) => (object, old_object),
        (Err(refusal), _) | (_, Err(refusal)) => return refusal,
    };
    let sent_object = request.object;
    request.kind.version.clone_from(&own.version);
    request.resource.version.clone_from(&own.version);
    request.object = object.as_deref();
    request.old_object = old_object.as_deref();
    let mut answer = endpoint.answer(request).await;
    if let Some([before, after]) = answer.change.take().as_deref() {
        // Both are converted back, so that a value that does not come back as it was is no change of the webhook.
        let change = || {
            let raw: Value = read_json("object", sent_object)?;
            let version = sent.api_version();
            let changed = merge(
                &raw,
                &converted(before, &version)?,
                &converted(after, &version)?,
            );
            Ok([raw, changed])
        };
        match change() {
            Ok(change) => answer.change = Some(Box::new(change)),
            Err(refusal) => return refusal,
        }
    }
    answer
}
