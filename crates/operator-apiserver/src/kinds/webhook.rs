//! The configurations of admission webhooks: their [defaults] and their [validation].
//!
//! [defaults]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/admissionregistration/v1/defaults.go
//! [validation]: https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/admissionregistration/validation/validation.go

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::resource::{MUTATING_WEBHOOKS, Resource, VALIDATING_WEBHOOKS};
use super::rule::field::{invalid, is_empty, list, only, text, too_many};
use super::rule::{endpoint, selector};
use super::strategy::Strategy;
use super::value::{items, set_if_empty, set_if_null};
use crate::model::Cause;
use crate::model::name::{bad_dns1035, bad_label_key, bad_subdomain};

pub(crate) const MUTATING: Strategy = Strategy {
    set_defaults: |configuration| set_defaults(true, configuration),
    validate: |_, configuration, causes| check(true, configuration, causes),
    has_generation: true,
    cells: cells!(core::webhooks),
    ..of_admission(MUTATING_WEBHOOKS)
};

pub(crate) const VALIDATING: Strategy = Strategy {
    set_defaults: |configuration| set_defaults(false, configuration),
    validate: |_, configuration, causes| check(false, configuration, causes),
    ..MUTATING.named(VALIDATING_WEBHOOKS)
};

/// The strategy of a kind of the group `admissionregistration.k8s.io`.
pub(crate) const fn of_admission(resource: Resource) -> Strategy {
    Strategy {
        allows_short_finalizers: true,
        allows_unconditional_update: false,
        ..Strategy::of(resource)
    }
}

/// The versions of AdmissionReview that the server supports.
const VERSIONS: [&str; 2] = ["v1", "v1beta1"];

const MOST_CONDITIONS: usize = 64;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

fn set_defaults(is_mutating: bool, configuration: &mut Value) {
    for webhook in items(configuration, "webhooks") {
        let policies = [
            ("failurePolicy", json!("Fail")),
            ("matchPolicy", json!("Equivalent")),
        ];
        set_if_empty(webhook, &policies);
        if is_mutating {
            set_if_empty(webhook, &[("reinvocationPolicy", json!("Never"))]);
        }
        set_if_null(&mut webhook["namespaceSelector"], json!({}));
        set_if_null(&mut webhook["objectSelector"], json!({}));
        set_if_null(&mut webhook["timeoutSeconds"], 10);
        if webhook["clientConfig"]["service"].is_object() {
            set_if_null(&mut webhook["clientConfig"]["service"]["port"], 443);
        }
        for rule in items(webhook, "rules") {
            set_if_empty(rule, &[("scope", json!("*"))]);
        }
    }
}

fn check(is_mutating: bool, configuration: &Value, causes: &mut Vec<Cause>) {
    let mut names = BTreeSet::new();
    for (at, webhook) in list(configuration, "webhooks").iter().enumerate() {
        let path = format!("webhooks[{at}]");
        let name = text(webhook, "name");
        check_name(&format!("{path}.name"), name, causes);
        for (at, rule) in list(webhook, "rules").iter().enumerate() {
            check_rule(&format!("{path}.rules[{at}]"), rule, causes);
        }
        check_policies(&path, webhook, is_mutating, causes);
        check_client(&path, &webhook["clientConfig"], causes);
        check_conditions(&path, webhook, causes);
        check_versions(&path, list(webhook, "admissionReviewVersions"), causes);
        if !name.is_empty() && !names.insert(name) {
            causes.push(Cause::duplicate(format!("{path}.name"), name));
        }
    }
}

/// Checks that a name is a domain of at least three parts.
fn check_name(field: &str, name: &str, causes: &mut Vec<Cause>) {
    let wrong = bad_subdomain(name);
    if name.is_empty() {
        causes.push(Cause::required(field, ""));
    } else if !wrong.is_empty() {
        causes.push(invalid(field, format!("{name:?}"), wrong.join(",")));
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        causes.push(invalid(field, format!("{name:?}"), why));
    }
}

fn check_policies(path: &str, webhook: &Value, is_mutating: bool, causes: &mut Vec<Cause>) {
    for (field, allowed) in [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("sideEffects", ["None", "NoneOnDryRun"]),
    ] {
        let place = format!("{path}.{field}");
        if webhook[field].is_null() {
            let why = format!("must specify one of {}", allowed.join(", "));
            causes.push(Cause::required(place, &why));
        } else {
            only(&place, &webhook[field], &allowed, causes);
        }
    }
    let seconds = webhook["timeoutSeconds"].as_i64().unwrap_or_default();
    if !(1..=30).contains(&seconds) {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.push(invalid(format!("{path}.timeoutSeconds"), seconds, why));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector::terms(&format!("{path}.{field}"), &webhook[field], causes);
    }
    if is_mutating {
        let (place, policy) = (
            format!("{path}.reinvocationPolicy"),
            &webhook["reinvocationPolicy"],
        );
        only(&place, policy, &["IfNeeded", "Never"], causes);
    }
}

fn check_client(path: &str, config: &Value, causes: &mut Vec<Cause>) {
    let path = format!("{path}.clientConfig");
    if config["url"].is_null() == config["service"].is_null() {
        let why = "exactly one of url or service is required";
        causes.push(Cause::required(path, why));
        return;
    }
    endpoint::check(config, &path, causes);
}

/// Checks the names of conditions. Their expressions are parsed when a request needs them.
fn check_conditions(path: &str, webhook: &Value, causes: &mut Vec<Cause>) {
    let conditions = list(webhook, "matchConditions");
    if conditions.len() > MOST_CONDITIONS {
        let path = format!("{path}.matchConditions");
        causes.push(too_many(&path, conditions.len(), MOST_CONDITIONS));
    }
    let mut names = BTreeSet::new();
    for (at, condition) in conditions.iter().enumerate() {
        let path = format!("{path}.matchConditions[{at}]");
        if text(condition, "expression").trim().is_empty() {
            causes.push(Cause::required(format!("{path}.expression"), ""));
        }
        let (field, name) = (format!("{path}.name"), text(condition, "name"));
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let wrong = bad_label_key(name).into_iter();
        causes.extend(wrong.map(|why| invalid(&*field, format!("{name:?}"), why)));
        if !names.insert(name) {
            causes.push(Cause::duplicate(field, name));
        }
    }
}

/// Checks the versions of AdmissionReview that a webhook supports; the server must support one of them.
fn check_versions(path: &str, versions: &[Value], causes: &mut Vec<Cause>) {
    let path = format!("{path}.admissionReviewVersions");
    if versions.is_empty() {
        let why = format!("must specify one of {}", VERSIONS.join(", "));
        causes.push(Cause::required(path, &why));
        return;
    }
    let names: Vec<&str> = versions.iter().filter_map(Value::as_str).collect();
    for (at, name) in names.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if names[..at].contains(name) {
            causes.push(invalid(field, format!("{name:?}"), "duplicate version"));
            continue;
        }
        let wrong = bad_dns1035(name).into_iter();
        causes.extend(wrong.map(|why| invalid(&*field, format!("{name:?}"), why)));
    }
    if !names.iter().any(|name| VERSIONS.contains(name)) {
        let why = format!("must include at least one of {}", VERSIONS.join(", "));
        causes.push(invalid(path, json!(names), why));
    }
}

fn check_rule(path: &str, rule: &Value, causes: &mut Vec<Cause>) {
    let place = |field: &str| format!("{path}.{field}");
    let others = |field: &str, what: &str, causes: &mut Vec<Cause>| {
        let found = list(rule, field);
        if found.is_empty() {
            causes.push(Cause::required(place(field), ""));
        }
        if found.len() > 1 && found.iter().any(|it| it == "*") {
            let why = format!("if '*' is present, must not specify other {what}");
            causes.push(invalid(place(field), json!(found), why));
        }
    };
    others("operations", "operations", causes);
    for (at, operation) in list(rule, "operations").iter().enumerate() {
        only(
            &place(&format!("operations[{at}]")),
            operation,
            &OPERATIONS,
            causes,
        );
    }
    others("apiGroups", "API groups", causes);
    others("apiVersions", "API versions", causes);
    for (at, version) in list(rule, "apiVersions").iter().enumerate() {
        if is_empty(version) {
            causes.push(Cause::required(place(&format!("apiVersions[{at}]")), ""));
        }
    }
    check_resources(&place("resources"), list(rule, "resources"), causes);
    only(
        &place("scope"),
        &rule["scope"],
        &["*", "Cluster", "Namespaced"],
        causes,
    );
}

fn check_resources(path: &str, resources: &[Value], causes: &mut Vec<Cause>) {
    if resources.is_empty() {
        causes.push(Cause::required(path, ""));
    }
    let names: Vec<&str> = resources.iter().filter_map(Value::as_str).collect();
    for (at, name) in names.iter().enumerate() {
        let field = format!("{path}[{at}]");
        if name.is_empty() {
            causes.push(Cause::required(field, ""));
            continue;
        }
        let Some((plural, subresource)) = name.split_once('/') else {
            continue;
        };
        for all in [format!("{plural}/*"), format!("*/{subresource}")] {
            if names[..at].contains(&all.as_str()) {
                let why = format!("if '{all}' is present, must not specify {name}");
                causes.push(invalid(&*field, format!("{name:?}"), why));
            }
        }
    }
    if names.len() > 1 && names.contains(&"*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        causes.push(invalid(path, json!(names), why));
    }
    let is_whole = |name: &&str| !name.contains('/') && *name != "*" && !name.is_empty();
    if names.contains(&"*") && names.iter().any(is_whole) {
        let why = "if '*' is present, must not specify other resources without subresources";
        causes.push(invalid(path, json!(names), why));
    }
}
