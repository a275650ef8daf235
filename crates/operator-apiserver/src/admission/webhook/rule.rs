//! The [rules] of webhooks and policies, which select requests.
//!
//! [rules]: https://github.com/kubernetes/apiserver/blob/master/pkg/admission/plugin/webhook/predicates/rules/rules.go

use serde_json::Value;

use crate::model::Kind;
use crate::model::json::list;
use crate::request::Request;

/// Whether a rule matches one of the operations on the resource of the request, as if the request were in the version of `kind`.
pub(crate) fn fits(rule: &Value, request: &Request<'_>, kind: &Kind, operations: &[&str]) -> bool {
    let subresource = request.path.subresource.as_deref().unwrap_or_default();
    let is_named = |resource: &Value| {
        let resource = resource.as_str().unwrap_or_default();
        let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
        (plural == "*" || plural == kind.plural) && (sub == "*" || sub == subresource)
    };
    let scope = rule["scope"].as_str().unwrap_or("*");
    operations
        .iter()
        .any(|operation| has(rule, "operations", operation))
        && has(rule, "apiGroups", &kind.group)
        && has(rule, "apiVersions", &kind.version)
        && list(rule, "resources").iter().any(is_named)
        && (scope == "*" || (scope == "Namespaced") == kind.namespaced)
}

/// Whether a field of a rule contains a value, or `*`.
pub(crate) fn has(rule: &Value, field: &str, wanted: &str) -> bool {
    let mut found = list(rule, field).iter();
    found.any(|found| found == "*" || found == wanted)
}
