//! The built-in kinds and their types, which `examples/record.rs` recorded from a real API server.

use std::collections::HashMap;
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
