//! The subresources of a kind, as far as webhooks can get their requests.

use super::{builtin::watchable, resource::ResourceType};
use crate::crd::Version;

/// Whether a webhook of a kind can get the requests of a subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// Its requests have whole objects of the kind.
    OfKind,
    /// Its requests have objects of another kind. The list has the subresources with objects of the kind itself.
    OtherType(Vec<String>),
    /// The kind has no such subresource. The list is the same.
    Unknown(Vec<String>),
}

/// The subresources of built-in kinds with objects of another kind, such as Eviction and Scale.
const OF_OTHERS: [&str; 9] = [
    "attach",
    "binding",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "scale",
    "token",
];

/// Looks up a subresource of a kind. `version` is the version of its CRD; `None` for a built-in kind.
pub fn subresource(resource: &ResourceType, version: Option<&Version>, name: &str) -> Subresource {
    let names: Vec<&str> = match version {
        Some(version) => {
            let scale = version.scale.as_ref().map(|_| "scale");
            let status = version.status_subresource.then_some("status");
            scale.into_iter().chain(status).collect()
        }
        None => watchable()
            .filter(|it| it.group == resource.group && it.plural == resource.plural)
            .flat_map(|it| it.subresources.keys().map(String::as_str))
            .collect(),
    };
    let (others, own): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| OF_OTHERS.contains(name));
    let known = || own.iter().map(|name| (*name).to_owned()).collect();
    match (own.contains(&name), others.contains(&name)) {
        (true, _) => Subresource::OfKind,
        (false, true) => Subresource::OtherType(known()),
        (false, false) => Subresource::Unknown(known()),
    }
}
