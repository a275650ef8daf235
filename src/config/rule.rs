//! A rule that the user adds to the role of a controller.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A rule of a Role (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    // required, but with a default: so the check of the config can report a missing list at the place of its rule
    #[serde(default)]
    pub api_groups: Vec<String>,
    #[serde(default)]
    pub resources: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    #[serde(default)]
    pub verbs: Vec<String>,
}

/// Formats the rule for people: `get, patch on deployments/scale of apps`.
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            api_groups,
            resources,
            resource_names,
            verbs,
        } = self;
        write!(f, "{} on {}", verbs.join(", "), resources.join(", "))?;
        if api_groups.iter().any(|group| !group.is_empty()) {
            let groups = api_groups.iter().map(|group| match group.as_str() {
                "" => "the core group",
                group => group,
            });
            write!(f, " of {}", groups.collect::<Vec<_>>().join(", "))?;
        }
        if resource_names.is_empty() {
            Ok(())
        } else {
            write!(f, ", named {}", resource_names.join(", "))
        }
    }
}
