//! Validates the parts of a CRD besides its names and schemas: columns, scale, selectable fields, deprecation, conversion, and the approval
//! of its group.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::kinds::rule::endpoint;
use crate::kinds::rule::field::{invalid, refuse, unsupported};
use crate::model::Cause;
use crate::model::json::items;
use crate::model::name::bad_dns1035;

/// The annotation with the approval: the URL of a pull request, or a reason that starts with `unapproved`.
const APPROVAL: &str = "api-approved.kubernetes.io";

/// Checks that only a deprecated version has a warning, which is neither empty nor too long.
pub(crate) fn check_deprecation(version: &Value, field: &str, causes: &mut Vec<Cause>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut wrong = |why: &str| {
        let text = format!("Invalid value: {warning:?}: {why}");
        causes.push(Cause::invalid(format!("{field}.deprecationWarning"), text));
    };
    if version["deprecated"] != true {
        wrong("can only be set for deprecated versions");
    } else if warning.is_empty() {
        wrong("must not be an empty string");
    } else if warning.len() > 256 {
        wrong("must be <= 256 characters long");
    }
}

pub(crate) fn check_scale(version: &Value, field: &str, causes: &mut Vec<Cause>) {
    let scale = &version["subresources"]["scale"];
    if !scale.is_object() {
        return;
    }
    let paths: [(&str, &[&str], &str); 3] = [
        ("specReplicasPath", &[".spec."], "under .spec"),
        ("statusReplicasPath", &[".status."], "under .status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."],
            "under either .spec or .status",
        ),
    ];
    for (name, roots, place) in paths {
        let place_of = format!("{field}.subresources.scale.{name}");
        let path = scale[name].as_str().unwrap_or_default();
        if path.is_empty() {
            if name != "labelSelectorPath" {
                causes.push(Cause::required(place_of, ""));
            }
        } else if !check_path(path, &place_of, causes)
            && !roots.iter().any(|root| path.starts_with(root))
        {
            let text = format!("Invalid value: {path:?}: should be a json path {place}");
            causes.push(Cause::invalid(place_of, text));
        }
    }
}

pub(crate) fn check_columns(version: &Value, field: &str, causes: &mut Vec<Cause>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (at, column) in items(&version["additionalPrinterColumns"]).enumerate() {
        let place = |name: &str| format!("{field}.additionalPrinterColumns[{at}].{name}");
        let text = |name: &str| column[name].as_str().unwrap_or_default();
        if text("name").is_empty() {
            causes.push(Cause::required(place("name"), ""));
        }
        let known = format!("must be one of {}", TYPES.join(","));
        match text("type") {
            "" => causes.push(Cause::required(place("type"), &known)),
            type_ if !TYPES.contains(&type_) => {
                causes.push(invalid(place("type"), format!("{type_:?}"), known));
            }
            _ => {}
        }
        let format = text("format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let known = FORMATS.join(",");
            let text = format!("Invalid value: {format:?}: must be one of {known}");
            causes.push(Cause::invalid(place("format"), text));
        }
        match text("jsonPath") {
            "" => causes.push(Cause::required(place("JSONPath"), "")),
            path => drop(check_path(path, &place("JSONPath"), causes)),
        }
    }
}

/// Checks the syntax of a path. Returns whether it is invalid.
fn check_path(path: &str, field: &str, causes: &mut Vec<Cause>) -> bool {
    let is_wrong = !path.starts_with('.');
    if is_wrong {
        let text = format!("Invalid value: {path:?}: must be a simple json path starting with .");
        causes.push(Cause::invalid(field, text));
    }
    is_wrong
}

/// Checks that selectable fields are unique, and have a scalar type in the schema.
pub(crate) fn check_selectable(version: &Value, field: &str, causes: &mut Vec<Cause>) {
    let mut seen = BTreeSet::new();
    let fields = version["selectableFields"].as_array();
    for (at, selectable) in fields.into_iter().flatten().enumerate() {
        let place = format!("{field}.selectableFields[{at}].jsonPath");
        let path = selectable["jsonPath"].as_str().unwrap_or_default();
        if path.is_empty() {
            causes.push(Cause::required(place, ""));
            continue;
        }
        let mut wrong = |why: &str| {
            causes.push(invalid(&*place, format!("{path:?}"), why));
        };
        let schema = &version["schema"]["openAPIV3Schema"];
        let parts = path.strip_prefix('.').map(|path| path.split('.'));
        let found = parts.and_then(|mut parts| {
            parts.try_fold(schema, |schema, part| schema["properties"].get(part))
        });
        let Some(found) = found else {
            wrong("is an invalid path: does not refer to a valid field");
            continue;
        };
        if !["string", "boolean", "integer"].contains(&found["type"].as_str().unwrap_or_default()) {
            wrong(
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
            );
        }
        if !seen.insert(path) {
            causes.push(Cause::duplicate(place, path));
        }
    }
}

pub(crate) fn check_conversion(conversion: &Value, causes: &mut Vec<Cause>) {
    let place = |name: &str| format!("spec.conversion.{name}");
    let webhook = &conversion["webhook"];
    let config = &webhook["clientConfig"];
    let versions = webhook["conversionReviewVersions"].as_array();
    let has_versions = versions.is_some_and(|versions| !versions.is_empty());
    let strategy = conversion["strategy"].as_str().unwrap_or("None");
    if !["None", "Webhook"].contains(&strategy) {
        let (field, found) = (place("strategy"), format!("{strategy:?}"));
        causes.push(unsupported(&field, found, &["None", "Webhook"]));
    }
    if strategy == "Webhook" {
        if config.is_null() {
            let text = "required when strategy is set to Webhook";
            causes.push(Cause::required(place("webhookClientConfig"), text));
        } else if config["url"].is_null() == config["service"].is_null() {
            let text = "exactly one of url or service is required";
            causes.push(Cause::required(place("webhookClientConfig"), text));
        }
        endpoint::check(config, &place("webhookClientConfig"), causes);
        let versions = versions.map_or(&[][..], Vec::as_slice);
        check_reviews(versions, &place("conversionReviewVersions"), causes);
        return;
    }
    let text = "should not be set when strategy is not set to Webhook";
    if !config.is_null() {
        causes.push(Cause::forbidden(place("webhookClientConfig"), text));
    }
    if has_versions {
        causes.push(Cause::forbidden(place("conversionReviewVersions"), text));
    }
}

/// Checks the versions of `ConversionReview` that a webhook supports; the server must support one of them.
fn check_reviews(versions: &[Value], place: &str, causes: &mut Vec<Cause>) {
    const KNOWN: [&str; 2] = ["v1", "v1beta1"];
    if versions.is_empty() {
        causes.push(Cause::required(place, ""));
        return;
    }
    let names: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
    for (at, name) in names.iter().enumerate() {
        let field = format!("{place}[{at}]");
        if names[..at].contains(name) {
            causes.push(invalid(field, format!("{name:?}"), "duplicate version"));
            continue;
        }
        refuse(&field, name, bad_dns1035(name), causes);
    }
    if !names.iter().any(|name| KNOWN.contains(name)) {
        let found = serde_json::json!(names);
        let text = format!("Invalid value: {found}: must include at least one of v1, v1beta1");
        causes.push(Cause::invalid(place, text));
    }
}

/// Checks that a CRD in a [protected group] has an approval. An update that does not change the state of the approval is accepted, even if
/// it is missing or invalid.
///
/// [protected group]: https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/2337-k8s.io-group-protection
pub(crate) fn check_approval(live: Option<&Value>, object: &Value, causes: &mut Vec<Cause>) {
    let group = object["spec"]["group"].as_str().unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        let above = group.strip_suffix(domain);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    });
    let state = |crd: &Value| {
        let text = crd["metadata"]["annotations"][APPROVAL].as_str();
        Approval::of(text.unwrap_or_default())
    };
    let now = state(object);
    if !is_protected || live.is_some_and(|live| state(live) == now) {
        return;
    }
    let place = format!("metadata.annotations[{APPROVAL}]");
    let see = "see https://github.com/kubernetes/enhancements/pull/1111";
    let needed = format!("protected groups must have approval annotation {APPROVAL:?}");
    match now {
        Approval::Approved | Approval::Bypassed => {}
        Approval::Missing => causes.push(Cause::required(place, &format!("{needed}, {see}"))),
        Approval::Invalid => {
            let found = object["metadata"]["annotations"][APPROVAL].to_string();
            let text = format!(
                "Invalid value: {found}: {needed} with either a URL or a reason starting with \"unapproved\", {see}"
            );
            causes.push(Cause::invalid(place, text));
        }
    }
}

/// The meaning of the annotation.
#[derive(PartialEq)]
enum Approval {
    Missing,
    Bypassed,
    Approved,
    Invalid,
}

impl Approval {
    fn of(annotation: &str) -> Self {
        match annotation {
            "" => Self::Missing,
            bypassed if bypassed.starts_with("unapproved") => Self::Bypassed,
            url if has_host(url) => Self::Approved,
            _ => Self::Invalid,
        }
    }
}

/// Whether Go parses a text as a URL with a scheme and a host.
fn has_host(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    let is_scheme = scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let has_valid_port = host.rsplit_once(':').is_none_or(|(_, port)| {
        port.ends_with(']') || port.bytes().all(|byte| byte.is_ascii_digit())
    });
    is_scheme
        && has_valid_port
        && !host.is_empty()
        && !host.contains([' ', '%', '\\', '^', '`', '{', '|', '}'])
        && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::has_host;

    #[test]
    fn an_approval_is_a_url_with_a_host() {
        for url in [
            "https://github.com/kubernetes/enhancements/pull/1111",
            "http://localhost:8080",
            "https://user@[::1]/a b",
        ] {
            assert!(has_host(url), "{url}");
        }
        for other in [
            "",
            "pull/1111",
            "github.com/kubernetes",
            "https:",
            "https:///pull",
            "https://user@",
            "1a://host",
            "https://a b",
            "https://a:b",
            "https://a\n",
        ] {
            assert!(!has_host(other), "{other}");
        }
    }
}
