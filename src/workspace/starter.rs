//! A starter CRD, for users who do not have one yet.

use super::kind_error::KindError;
use crate::{
    crd::{Api, NameRule, Scope},
    template,
};

/// The options of a starter CRD, besides `--kind`.
#[derive(clap::Args, Clone, Debug)]
pub struct StarterArgs {
    /// Create a new CRD in this API group, such as cache.example.com
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// The version of the new CRD
    #[arg(long, value_name = "VERSION", requires = "group")]
    pub version: Option<String>,
    /// Make the kind of the new CRD cluster-scoped
    #[arg(long, requires = "group")]
    pub cluster: bool,
}

/// The text of a CRD with replicas, an image, conditions, a scale subresource and printer columns.
pub fn definition(kind: Option<&str>, args: &StarterArgs) -> Result<String, KindError> {
    let (kind, group) = match (kind, args.group.as_deref()) {
        (Some(kind), Some(group)) => (kind, group),
        (Some(kind), None) => return Err(KindError::NoGroup(kind.into())),
        (None, Some(_)) => return Err(KindError::NoStarterKind),
        (None, None) => return Err(KindError::Nothing),
    };
    let version = args.version.as_deref().unwrap_or("v1alpha1");
    let is_rust = kind.bytes().all(|b| b.is_ascii_alphanumeric())
        && kind.starts_with(|c: char| c.is_ascii_uppercase());
    for (name, rule) in [
        (kind, NameRule::Kind),
        (group, NameRule::Group),
        (version, NameRule::Version),
    ] {
        if !rule.holds(name) || rule == NameRule::Kind && !is_rust {
            return Err(KindError::NotValid(name.into(), rule));
        }
    }
    let scope = if args.cluster {
        "Cluster"
    } else {
        "Namespaced"
    };
    let singular = kind.to_lowercase();
    Ok(template::starter(
        kind,
        &singular,
        &plural(&singular),
        group,
        version,
        scope,
    ))
}

/// Whether a CRD is a starter that nobody edited, so that [`definition`] can write it again.
pub fn is_unedited(api: &Api) -> bool {
    let args = StarterArgs {
        group: Some(api.group.clone()),
        version: Some(api.storage_version().name.clone()),
        cluster: api.scope == Scope::Cluster,
    };
    definition(Some(&api.names.kind), &args).is_ok_and(|text| text == api.text)
}

/// The plural of an English word, as kubebuilder and kube-derive form it.
fn plural(word: &str) -> String {
    let vowel_before_y = ["ay", "ey", "oy", "uy"]
        .iter()
        .any(|end| word.ends_with(end));
    match word.strip_suffix('y') {
        Some(stem) if !vowel_before_y => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"]
            .iter()
            .any(|end| word.ends_with(end)) =>
        {
            format!("{word}es")
        }
        _ => format!("{word}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals() {
        for (word, many) in [
            ("memcached", "memcacheds"),
            ("policy", "policies"),
            ("gateway", "gateways"),
            ("box", "boxes"),
            ("ingress", "ingresses"),
        ] {
            assert_eq!(plural(word), many);
        }
    }
}
