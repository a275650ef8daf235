//! Normalizes RBAC rules: sorts them, and removes duplicates and rules that another one covers.
//!
//! Wildcards are kept; a rule covers only equal and obviously narrower ones.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::rbac::v1::PolicyRule;

type Names = BTreeSet<String>;

/// A permission: verbs on resources of one API group.
pub(super) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(resources.iter().map(ToString::to_string).collect()),
        verbs: verbs.iter().map(ToString::to_string).collect(),
        ..PolicyRule::default()
    }
}

/// Converts a rule of `operator.toml` into a rule of a role.
pub fn policy_rule(rule: &crate::config::Rule) -> PolicyRule {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    PolicyRule {
        api_groups: some(&rule.api_groups),
        resources: some(&rule.resources),
        resource_names: some(&rule.resource_names),
        verbs: rule.verbs.clone(),
        ..PolicyRule::default()
    }
}

/// The same permissions in fewer rules: one for each group, names and verbs, and one for each URL.
pub(super) fn normalize(rules: impl IntoIterator<Item = PolicyRule>) -> Vec<PolicyRule> {
    let mut verbs_of: BTreeMap<(String, String, Names), BTreeSet<String>> = BTreeMap::new();
    let mut verbs_of_url: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for single in rules.into_iter().flat_map(split) {
        let verbs = single.verbs.into_iter();
        for url in single.non_resource_urls.unwrap_or_default() {
            verbs_of_url.entry(url).or_default().extend(verbs.clone());
        }
        let group = single.api_groups.unwrap_or_default().pop();
        let resource = single.resources.unwrap_or_default().pop();
        if let (Some(group), Some(resource)) = (group, resource) {
            let names = single
                .resource_names
                .unwrap_or_default()
                .into_iter()
                .collect();
            verbs_of
                .entry((group, resource, names))
                .or_default()
                .extend(verbs);
        }
    }

    // If a rule allows a verb for all names, rules with some names need not list it.
    let unnamed = verbs_of.clone();
    for ((group, resource, names), verbs) in &mut verbs_of {
        let all = unnamed.get(&(group.clone(), resource.clone(), Names::new()));
        if let Some(all) = all.filter(|_| !names.is_empty()) {
            verbs.retain(|verb| !all.contains(verb) && !all.contains("*"));
        }
    }

    let mut resources_of: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for ((group, resource, names), verbs) in verbs_of {
        if !verbs.is_empty() {
            resources_of
                .entry((group, collapse_wildcard(verbs), names))
                .or_default()
                .push(resource);
        }
    }
    let mut merged: Vec<_> = resources_of
        .into_iter()
        .map(|((group, verbs, names), resources)| PolicyRule {
            api_groups: Some(vec![group]),
            resources: Some(resources),
            resource_names: Some(names.into_iter().collect()).filter(|n: &Vec<_>| !n.is_empty()),
            verbs,
            ..PolicyRule::default()
        })
        .collect();
    merged.sort_by(|a, b| {
        (&a.api_groups, &a.resources, &a.verbs).cmp(&(&b.api_groups, &b.resources, &b.verbs))
    });
    merged.extend(verbs_of_url.into_iter().map(|(url, verbs)| PolicyRule {
        non_resource_urls: Some(vec![url]),
        verbs: collapse_wildcard(verbs),
        ..PolicyRule::default()
    }));
    merged
}

/// Splits a rule into one rule for each group and resource, or URL.
pub(super) fn split(rule: PolicyRule) -> Vec<PolicyRule> {
    let urls = rule
        .non_resource_urls
        .iter()
        .flatten()
        .map(|url| PolicyRule {
            non_resource_urls: Some(vec![url.clone()]),
            verbs: rule.verbs.clone(),
            ..PolicyRule::default()
        });
    let resources = rule.api_groups.iter().flatten().flat_map(|group| {
        rule.resources.iter().flatten().map(|resource| PolicyRule {
            api_groups: Some(vec![group.clone()]),
            resources: Some(vec![resource.clone()]),
            non_resource_urls: None,
            ..rule.clone()
        })
    });
    urls.chain(resources).collect()
}

/// The verbs as a list: only `*` if it is among them, because it means every verb.
fn collapse_wildcard(verbs: BTreeSet<String>) -> Vec<String> {
    if verbs.contains("*") {
        vec!["*".to_owned()]
    } else {
        verbs.into_iter().collect()
    }
}
