//! What other programs would have a word in: [admission webhooks and policies], and webhooks that convert. None is asked here, so that
//! the requests that would wait for them answer `501`.
//!
//! [admission webhooks and policies]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/

use serde_json::Value;

use super::metadata::name;
use super::selector::selects;
use super::status::{Failure, Result};
use super::{Request, State};

const GROUP: &str = "admissionregistration.k8s.io";

impl State {
    /// Refuses what a webhook or policy would be asked about.
    pub(crate) fn refuse_unasked(&self, request: &Request<'_>, verb: &str) -> Result<()> {
        let operations: &[&str] = match verb {
            "create" => &["CREATE"],
            "update" => &["UPDATE"],
            // An apply may do either.
            "patch" => &["CREATE", "UPDATE"],
            "delete" | "deletecollection" => &["DELETE"],
            _ => &[],
        };
        if let Some(custom) = &request.kind.custom
            && custom.is_converted
        {
            let what = format!("the conversion webhook of {}", request.kind.qualified());
            return Err(Failure::not_implemented(what));
        }
        if operations.is_empty() || request.kind.group == GROUP {
            return Ok(());
        }
        for plural in [
            "mutatingwebhookconfigurations",
            "validatingwebhookconfigurations",
        ] {
            let configurations = self.store.of_kind(GROUP, plural, "");
            let mut webhooks = configurations.flat_map(|(_, found)| list(found, "webhooks"));
            let concerned = webhooks.find(|it| self.concerns(it, "rules", request, operations));
            if let Some(webhook) = concerned {
                let name = webhook["name"].as_str().unwrap_or_default();
                let what = format!("the admission webhook {name}");
                return Err(Failure::not_implemented(what));
            }
        }
        for (_, binding) in self
            .store
            .of_kind(GROUP, "validatingadmissionpolicybindings", "")
        {
            let policies = self.store.of_kind(GROUP, "validatingadmissionpolicies", "");
            let mut bound = policies.filter(|(key, _)| binding["spec"]["policyName"] == *key.name);
            let concerned = bound.find(|(_, policy)| {
                let constraints = &policy["spec"]["matchConstraints"];
                self.concerns(constraints, "resourceRules", request, operations)
            });
            if let Some((_, policy)) = concerned {
                let what = format!("the validating admission policy {}", name(policy));
                return Err(Failure::not_implemented(what));
            }
        }
        Ok(())
    }

    /// Whether rules name the request. Selectors of objects and conditions are taken to hold.
    fn concerns(
        &self,
        matcher: &Value,
        rules: &str,
        request: &Request<'_>,
        operations: &[&str],
    ) -> bool {
        let selector = &matcher["namespaceSelector"];
        let namespaces = self.store.of_kind("", "namespaces", "");
        let mut own = namespaces.filter(|(key, _)| key.name == request.path.namespace);
        let is_selected = own
            .next()
            .is_none_or(|(_, namespace)| selects(selector, &namespace["metadata"]["labels"]));
        is_selected
            && list(matcher, rules)
                .iter()
                .any(|rule| fits(rule, request, operations))
    }
}

fn fits(rule: &Value, request: &Request<'_>, operations: &[&str]) -> bool {
    let has = |field: &str, wanted: &str| {
        let mut found = list(rule, field).iter();
        found.any(|found| found == "*" || found == wanted)
    };
    let path = request.path;
    let resource = match &path.subresource {
        Some(subresource) => format!("{}/{subresource}", path.plural),
        None => path.plural.clone(),
    };
    let subresource = path.subresource.as_deref().unwrap_or_default();
    let any_of_it = [
        format!("{}/*", path.plural),
        format!("*/{subresource}"),
        "*/*".to_owned(),
    ];
    let is_named = has("resources", &resource)
        && (subresource.is_empty() || !has("resources", "*"))
        || any_of_it
            .iter()
            .any(|known| list(rule, "resources").contains(&known.as_str().into()));
    let scope = rule["scope"].as_str().unwrap_or("*");
    operations
        .iter()
        .any(|operation| has("operations", operation))
        && has("apiGroups", &request.kind.group)
        && has("apiVersions", &request.kind.version)
        && is_named
        && (scope == "*" || (scope == "Namespaced") == request.kind.namespaced)
}

fn list<'a>(object: &'a Value, field: &str) -> &'a [Value] {
    object[field].as_array().map_or(&[], Vec::as_slice)
}
