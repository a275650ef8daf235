//! The built-in kinds and their types, which `examples/record.rs` recorded from a real API server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use operator_schema::Schema;
use serde::Deserialize;

use super::kind::Kind;

/// All recorded data.
#[derive(Deserialize)]
pub(crate) struct Builtin {
    /// The version of the server from which the data were recorded, for example `v1.36.3`.
    pub server: String,
    #[serde(deserialize_with = "shared")]
    pub kinds: Vec<Arc<Kind>>,
    /// Schemas by name; their references name other entries.
    pub types: HashMap<String, Schema>,
}

pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

fn shared<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<Arc<Kind>>, D::Error> {
    Ok(Vec::<Kind>::deserialize(input)?
        .into_iter()
        .map(Arc::new)
        .collect())
}

/// The data, which are parsed once per process.
pub(crate) fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        serde_json::from_str(include_str!("../../data/builtin.json"))
            .expect("the recorded data has this form, which every test sees")
    })
}

/// A kind that is built into Kubernetes, as in the discovery of the API server.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinKind {
    /// Empty for the core group.
    pub group: &'static str,
    /// The version of the group, for example `v1`.
    pub version: &'static str,
    /// The name in objects, for example `ConfigMap`.
    pub kind: &'static str,
    /// The name in URLs, for example `configmaps`.
    pub plural: &'static str,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// The verbs of its requests. A kind whose objects are not stored has no `watch`.
    pub verbs: &'static [String],
    /// The subresources, each with its verbs.
    pub subresources: &'static BTreeMap<String, Vec<String>>,
}

/// The built-in kinds in all their versions, in the order of the discovery of the API server.
pub fn builtin_kinds() -> impl Iterator<Item = BuiltinKind> {
    builtin().kinds.iter().map(|kind| BuiltinKind {
        group: &kind.group,
        version: &kind.version,
        kind: &kind.kind,
        plural: &kind.plural,
        namespaced: kind.namespaced,
        verbs: &kind.verbs,
        subresources: &kind.subresources,
    })
}

/// Whether the version of a group is built in.
pub(crate) fn has_group(group: &str, version: &str) -> bool {
    let mut kinds = builtin().kinds.iter();
    group.is_empty() || kinds.any(|kind| kind.group == group && kind.version == version)
}

/// Resolves a schema that refers to a built-in type.
pub(crate) fn resolve(schema: &Schema) -> &Schema {
    match schema.unknown.get("$ref").and_then(|name| name.as_str()) {
        Some(name) => builtin().types.get(name).unwrap_or(schema),
        None => schema,
    }
}
