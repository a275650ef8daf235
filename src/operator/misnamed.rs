//! Finds probable misspellings in RBAC rules: of groups, resources and verbs.

use std::collections::{BTreeMap, BTreeSet};

use super::builtin::watchable;
use crate::config::Rule;
use crate::crd::Api;

/// A probably misspelled word in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misnamed {
    /// `apiGroups`, `resources` or `verbs`.
    pub key: &'static str,
    pub index: usize,
    pub message: String,
    pub help: String,
}

/// The known kinds of a group, each with its plural.
#[derive(Default)]
struct Group<'a> {
    /// The plurals, by the lowercase name of the kind.
    plurals: BTreeMap<String, &'a str>,
    /// Whether all kinds of the group are known, because it is built in. Other groups may have kinds outside of the project.
    is_whole: bool,
}

/// Finds the misspelled words of a rule. One is reported only if the intended word is obvious, because a cluster may have kinds that this
/// tool does not know.
pub fn misnamed(rule: &Rule, apis: &[Api]) -> Vec<Misnamed> {
    let mut misnamed = misnamed_resources(&rule.api_groups, &rule.resources, apis);
    for (index, verb) in rule.verbs.iter().enumerate() {
        if let Some(near) = near_verb(verb) {
            misnamed.push(Misnamed {
                key: "verbs",
                index,
                message: format!("`{verb}` is not a verb of Kubernetes"),
                help: format!("write \"{near}\", unless it is a verb of your own"),
            });
        }
    }
    misnamed
}

/// Finds the misspelled groups and resources of a rule. Resources are checked only if all groups are known.
fn misnamed_resources(groups: &[String], resources: &[String], apis: &[Api]) -> Vec<Misnamed> {
    let known = known(apis);
    let mut misnamed = vec![];
    for (index, group) in groups.iter().enumerate() {
        if group.is_empty() || group == "*" || known.contains_key(group.as_str()) {
            continue;
        }
        let near = known.iter().find(|(name, kinds)| {
            let has = |plural: &&str| kinds.plurals.values().any(|known| known == plural);
            let all = resources.iter().map(|resource| plural(resource));
            is_near(name, group) && all.into_iter().any(|plural| has(&plural))
        });
        let near = match group.as_str() {
            "core" | "v1" => Some(""),
            _ => near.map(|(name, _)| *name),
        };
        if let Some(near) = near {
            misnamed.push(Misnamed {
                key: "apiGroups",
                index,
                message: format!("there is no API group `{group}` with these resources"),
                help: match near {
                    "" => "the core group is written \"\"".into(),
                    near => format!("write \"{near}\""),
                },
            });
        }
    }
    let groups: BTreeSet<&str> = groups.iter().map(String::as_str).collect();
    let listed: Vec<(&str, &Group<'_>)> = groups
        .iter()
        .filter_map(|name| Some((*name, known.get(name)?)))
        .collect();
    // a resource may be of a group that is not known
    if listed.is_empty() || listed.len() < groups.len() {
        return misnamed;
    }
    for (index, resource) in resources.iter().enumerate() {
        let name = plural(resource);
        let is_known = |(_, group): &(&str, &Group<'_>)| {
            group.plurals.values().any(|plural| *plural == name) || name == "*"
        };
        if listed.iter().any(is_known) {
            continue;
        }
        let near = listed.iter().find_map(|(_, group)| group.nearest(name));
        let elsewhere = known.iter().find(|(_, group)| {
            let mut plurals = group.plurals.values();
            group.is_whole && plurals.any(|plural| *plural == name)
        });
        let help = match (near, elsewhere) {
            (Some(near), _) => format!("write \"{}\"", resource.replacen(name, near, 1)),
            (None, Some((group, _))) if listed.iter().all(|(_, group)| group.is_whole) => {
                format!(
                    "it is in the group {group:?}: move it to a rule that has this group in `apiGroups`"
                )
            }
            _ => continue,
        };
        let groups: Vec<String> = groups.iter().map(|group| format!("{group:?}")).collect();
        misnamed.push(Misnamed {
            key: "resources",
            index,
            message: format!(
                "there is no resource `{name}` in the API group {}",
                groups.join(", ")
            ),
            help,
        });
    }
    misnamed
}

/// The groups of the built-in kinds and of the CRDs of the project, by name.
fn known(apis: &[Api]) -> BTreeMap<&str, Group<'_>> {
    let mut known: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for kind in watchable() {
        let group = known.entry(kind.group).or_default();
        group.plurals.insert(kind.kind.to_lowercase(), kind.plural);
        group.is_whole = true;
    }
    for api in apis {
        let group = known.entry(&api.group).or_default();
        let (kind, plural) = (api.names.kind.to_lowercase(), &api.names.plural);
        group.plurals.insert(kind, plural);
    }
    known
}

/// The resource without its subresource: `pods` of `pods/log`.
fn plural(resource: &str) -> &str {
    resource.split_once('/').map_or(resource, |(name, _)| name)
}

impl<'a> Group<'a> {
    /// The intended plural, if the word is the name of a kind, or differs from a plural by one or two letters.
    fn nearest(&self, name: &str) -> Option<&'a str> {
        let lower = name.to_lowercase();
        let by_kind = self.plurals.get(&lower).copied();
        let mut plurals = self.plurals.values().copied();
        by_kind.or_else(|| {
            plurals.find(|plural| {
                if self.is_whole {
                    is_near(plural, &lower)
                } else {
                    strsim::osa_distance(plural, &lower) <= 1
                }
            })
        })
    }
}

fn is_near(known: &str, word: &str) -> bool {
    let most = if word.len() < 6 { 1 } else { 2 };
    strsim::osa_distance(known, word) <= most
}

/// The verbs of requests, and those that the API server checks in addition
/// (<https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb>).
const VERBS: [&str; 15] = [
    "*",
    "approve",
    "attest",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "sign",
    "update",
    "watch",
];

/// The intended verb; `None` for a known verb, and for a word that may be a custom verb.
fn near_verb(verb: &str) -> Option<&'static str> {
    // a verb with a prefix, such as `impersonate:user-info` of constrained impersonation, is not compared
    if VERBS.contains(&verb) || verb.contains(':') {
        return None;
    }
    let likeness = |known: &str| strsim::jaro_winkler(known, &verb.to_lowercase());
    let known = VERBS.into_iter();
    known
        .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
        .filter(|known| likeness(known) > 0.87)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(groups: &[&str], resources: &[&str]) -> Vec<String> {
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let (groups, resources): (Vec<String>, Vec<String>) = (owned(groups), owned(resources));
        let widget = crate::crd::read("", include_str!("../../tests/crds/widget.yaml")).unwrap();
        misnamed_resources(&groups, &resources, &widget)
            .into_iter()
            .map(|it| format!("{}[{}]: {}", it.key, it.index, it.help))
            .collect()
    }

    #[test]
    fn misspelled_names_are_reported_with_the_right_ones() {
        for (groups, resources, expected) in [
            ([""], ["pod"], "resources[0]: write \"pods\""),
            ([""], ["Secret"], "resources[0]: write \"secrets\""),
            ([""], ["pdos/log"], "resources[0]: write \"pods/log\""),
            (
                ["networking.k8s.io"],
                ["networkpolicy"],
                "resources[0]: write \"networkpolicies\"",
            ),
            (["app"], ["deployments"], "apiGroups[0]: write \"apps\""),
            (
                ["core"],
                ["pods"],
                "apiGroups[0]: the core group is written \"\"",
            ),
            (
                ["example.com"],
                ["widget"],
                "resources[0]: write \"widgets\"",
            ),
            (
                [""],
                ["deployments"],
                "resources[0]: it is in the group \"apps\": move it to a rule that has this group in `apiGroups`",
            ),
        ] {
            assert_eq!(
                lines(&groups, &resources),
                [expected],
                "{groups:?} {resources:?}"
            );
        }
    }

    #[test]
    fn known_names_and_names_of_unknown_groups_are_accepted() {
        for kind in watchable() {
            let (group, plural) = (kind.group, kind.plural);
            for resource in [plural.to_owned(), format!("{plural}/status")] {
                assert_eq!(lines(&[group], &[&resource]), [""; 0], "{group} {resource}");
            }
        }
        for (groups, resources) in [
            (&["authentication.k8s.io"][..], &["tokenreviews"][..]),
            (&["authorization.k8s.io"], &["subjectaccessreviews"]),
            (&[""], &["bindings", "componentstatuses", "*"]),
            (&["*"], &["anything"]),
            (&["metrics.k8s.io"], &["pods", "nodes"]),
            (&["example.com"], &["gadgets", "widgets/status"]),
            (&["", "apps"], &["pods", "deployments/scale"]),
            (&["cert-manager.io", ""], &["certificates", "secrets"]),
            (&["cert-manager.io"], &["certificaterequests"]),
            (&[], &[]),
        ] {
            assert_eq!(
                lines(groups, resources),
                [""; 0],
                "{groups:?} {resources:?}"
            );
        }
    }
}
