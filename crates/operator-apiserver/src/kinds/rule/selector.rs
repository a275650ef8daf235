//! Label selectors in objects.

use serde_json::{Map, Value};

use super::field::{invalid, is_empty, is_same, labels, list, refuse, text};
use crate::go::sorted;
use crate::model::label::selects;
use crate::model::{Cause, name};

/// The messages of a kind about a selector that is empty or invalid.
pub(crate) struct Words {
    /// The kind, for an empty selector; kinds without this message accept one.
    pub empty: Option<&'static str>,
    pub unreadable: Unreadable,
}

/// The messages of a kind about an invalid selector, in addition to those about its requirements.
pub(crate) enum Unreadable {
    Nothing,
    /// The selector.
    Shown,
    /// The selector and the reason.
    Because(&'static str),
}

/// Checks the selector of an object with a template. Returns whether the server goes on to the template, which it does if the selector is
/// valid or missing.
pub(crate) fn check(spec: &Value, words: &Words, causes: &mut Vec<Cause>) -> bool {
    let selector = &spec["selector"];
    if selector.is_null() {
        causes.push(Cause::required("spec.selector", ""));
        return true;
    }
    let before = causes.len();
    terms("spec.selector", selector, causes);
    let is_readable = causes.len() == before;
    if let Some(kind) = words.empty.filter(|_| is_void(selector)) {
        let why = format!("empty selector is invalid for {kind}");
        causes.push(invalid("spec.selector", in_order(selector), why));
    }
    if is_readable {
        return true;
    }
    match words.unreadable {
        Unreadable::Nothing => {}
        Unreadable::Shown => {
            let text = format!("Invalid value: {}", in_order(selector));
            causes.push(Cause::invalid("spec.selector", text));
        }
        Unreadable::Because(why) => {
            causes.push(invalid("spec.selector", in_order(selector), why));
        }
    }
    false
}

/// Checks the requirements of a selector.
pub(crate) fn terms(path: &str, selector: &Value, causes: &mut Vec<Cause>) {
    labels(
        &format!("{path}.matchLabels"),
        &selector["matchLabels"],
        causes,
    );
    for (at, term) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        let values = list(term, "values");
        match text(term, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{path}.values"), why));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{path}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                let why = "not a valid selector operator";
                let field = format!("{path}.operator");
                causes.push(invalid(field, format!("{other:?}"), why));
            }
        }
        let key = text(term, "key");
        let field = format!("{path}.key");
        refuse(&field, key, name::bad_label_key(key), causes);
        for (at, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let field = format!("{path}.values[{at}]");
            refuse(&field, value, name::bad_label_value(value), causes);
        }
    }
}

/// Whether a selector is present and empty.
pub(crate) fn is_void(selector: &Value) -> bool {
    let terms = ["matchLabels", "matchExpressions"];
    !selector.is_null() && terms.iter().all(|field| is_empty(&selector[*field]))
}

/// Checks that the selector matches the labels of the template. A missing selector matches nothing.
pub(crate) fn matches(spec: &Value, causes: &mut Vec<Cause>) {
    let labels = &spec["template"]["metadata"]["labels"];
    if spec["selector"].is_null() || !selects(&spec["selector"], labels) {
        let why = "`selector` does not match template `labels`";
        let field = "spec.template.metadata.labels";
        causes.push(invalid(field, sorted(labels), why));
    }
}

/// Checks that a selector does not change.
pub(crate) fn immutable(live: &Value, object: &Value, causes: &mut Vec<Cause>) {
    let (live, selector) = (&live["spec"]["selector"], &object["spec"]["selector"]);
    if !is_same(live, selector) {
        let why = "field is immutable";
        causes.push(invalid("spec.selector", in_order(selector), why));
    }
}

/// Formats a selector as Go does.
pub(crate) fn in_order(selector: &Value) -> Value {
    let Value::Object(fields) = selector else {
        return selector.clone();
    };
    let known = ["matchLabels", "matchExpressions"];
    let is_given = |field: &&&str| fields.get(**field).is_some_and(|it| !is_empty(it));
    let fields = known
        .iter()
        .filter(is_given)
        .map(|field| ((*field).to_owned(), sorted(&fields[*field])));
    Value::Object(fields.collect::<Map<_, _>>())
}
