//! Finds the webhooks and policies that apply to a request.

use serde_json::Value;

use super::equivalent::Equivalent;
use super::hook::Hook;
use super::rule::{fits, has};
use crate::kinds::resource::{
    ADMISSION, MUTATING_POLICIES, MUTATING_WEBHOOKS, NAMESPACES, Resource, VALIDATING_POLICIES,
    VALIDATING_WEBHOOKS,
};
use crate::model::json::list;
use crate::model::label::selects;
use crate::model::metadata::name;
use crate::model::{Failure, Key, Kind, Result};
use crate::request::Request;
use crate::store::{Registry, State, Store};

/// The first webhook that a write needs, for messages: one whose rules match, or the one that converts the kind. Rejects requests that
/// need policies.
pub(crate) fn webhook_for(
    store: &Store,
    registry: &Registry,
    request: &Request<'_>,
    verb: &str,
) -> Result<Option<String>> {
    let operations: &[&str] = match verb {
        "create" => &["CREATE"],
        "update" => &["UPDATE"],
        // An apply may do either.
        "patch" => &["CREATE", "UPDATE"],
        "delete" | "deletecollection" => &["DELETE"],
        _ => &[],
    };
    if operations.is_empty() || request.kind.group == ADMISSION {
        return Ok(None);
    }
    refuse_policies(store, registry, request, operations)?;
    for resource in [MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS] {
        let configurations = store.of_kind(resource, "");
        let matching = configurations
            .flat_map(|(_, found)| list(found, "webhooks"))
            .find(|it| matches(store, registry, it, "rules", request, operations));
        if let Some(webhook) = matching {
            let name = webhook["name"].as_str().unwrap_or_default();
            return Ok(Some(format!("the admission webhook {name}")));
        }
    }
    let custom = request.kind.custom.as_ref();
    let is_converted = custom.is_some_and(|custom| custom.is_converted);
    let name = request.kind.qualified();
    Ok(is_converted.then(|| format!("the conversion webhook of {name}")))
}

/// Rejects a request to which an admission policy applies, because this server does not evaluate policies.
fn refuse_policies(
    store: &Store,
    registry: &Registry,
    request: &Request<'_>,
    operations: &[&str],
) -> Result<()> {
    let bound = [MUTATING_POLICIES, VALIDATING_POLICIES].into_iter();
    let bound = bound.flat_map(|[policies, bindings]| {
        let bindings = store.of_kind(bindings, "");
        bindings.map(move |(_, binding)| (policies, binding))
    });
    for (policies, binding) in bound {
        let policies = store.of_kind(policies, "");
        let matching = policies
            .filter(|(key, _)| binding["spec"]["policyName"] == *key.name)
            .find(|(_, policy)| {
                matches(
                    store,
                    registry,
                    &policy["spec"]["matchConstraints"],
                    "resourceRules",
                    request,
                    operations,
                )
            });
        if let Some((_, policy)) = matching {
            let what = format!("the admission policy {}", name(policy));
            return Err(Failure::not_implemented(what));
        }
    }
    Ok(())
}

/// The mutating or validating webhooks for an operation, in the order of their calls: by the names of their configurations.
pub(crate) fn hooks(
    state: &State,
    request: &Request<'_>,
    resource: Resource,
    operation: &str,
) -> Vec<Hook> {
    let mut hooks = Vec::new();
    for (key, configuration) in state.store.of_kind(resource, "") {
        for webhook in list(configuration, "webhooks") {
            if matches(
                &state.store,
                &state.registry,
                webhook,
                "rules",
                request,
                &[operation],
            ) {
                let equivalent = equivalent(state, request, webhook, operation);
                hooks.push(Hook::new(
                    &key.name,
                    webhook,
                    equivalent,
                    &state.settings.endpoints,
                ));
            }
        }
    }
    hooks
}

/// The version of the kind that the first matching rule of a webhook names, if none names that of the request.
fn equivalent(
    state: &State,
    request: &Request<'_>,
    webhook: &Value,
    operation: &str,
) -> Option<Equivalent> {
    let rules = list(webhook, "rules").iter();
    let kind = request.kind;
    let is_named = |rule: &Value, kind: &Kind| fits(rule, request, kind, &[operation]);
    if rules.clone().any(|rule| is_named(rule, kind)) {
        return None;
    }
    let kind = rules.clone().find_map(|rule| {
        let others = state.registry.all();
        others
            .filter(|other| other.is(kind.resource()))
            .find(|other| is_named(rule, other))
    })?;
    Some(Equivalent {
        kind: kind.clone(),
        endpoints: state.settings.endpoints.clone(),
    })
}

/// Whether rules match the request. Object selectors and conditions are assumed to match.
fn matches(
    store: &Store,
    registry: &Registry,
    matcher: &Value,
    rules: &str,
    request: &Request<'_>,
    operations: &[&str],
) -> bool {
    let kind = request.kind;
    let is_exact = matcher["matchPolicy"] == "Exact";
    // By default, the rules of other versions of a kind count, too.
    let of_other_version = |rule: &Value| {
        let mut others = registry.all();
        !is_exact
            && has(rule, "apiGroups", &kind.group)
            && others
                .any(|other| other.is(kind.resource()) && fits(rule, request, other, operations))
    };
    let mut rules = list(matcher, rules).iter();
    rules.any(|rule| fits(rule, request, kind, operations) || of_other_version(rule))
        && namespace_labels(store, request)
            .is_none_or(|labels| selects(&matcher["namespaceSelector"], &labels))
}

/// The labels of the namespace of a request; `None` for a request without a namespace.
pub(crate) fn namespace_labels(store: &Store, request: &Request<'_>) -> Option<Value> {
    store
        .find(&Key::new(NAMESPACES, "", &request.path.namespace))
        .map(|namespace| namespace["metadata"]["labels"].clone())
}
