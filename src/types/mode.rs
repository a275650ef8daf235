//! The schema mode of a kind, and its default when a kind is added.

use super::value_form::walk;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::crd::Version;

/// Where the schema of `crd()` comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SchemaMode {
    /// From the derives of kube and schemars
    #[default]
    Derive,
    /// From the JSON of the CRD, embedded in the module
    Embed,
}

/// With this number of schema nodes, `cargo check` takes about a second of CPU longer in `derive` mode than in `embed` mode;
/// docs/operator-toml.md has the measurements.
const MANY: usize = 1000;

/// The default mode for the types of these versions. A project records the mode, so it does not change when the schema grows.
pub fn mode<'a>(versions: impl IntoIterator<Item = &'a Version>) -> SchemaMode {
    let mut nodes = 0;
    for version in versions {
        walk(&version.schema, &mut |_| nodes += 1);
    }
    if nodes > MANY {
        SchemaMode::Embed
    } else {
        SchemaMode::Derive
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    fn widget(more: usize) -> Vec<Version> {
        let size = "              size:\n";
        let fields = (0..more).map(|field| format!("              f{field}: {{type: string}}\n"));
        let text = include_str!("../../tests/crds/widget.yaml");
        let text = text.replace(size, &(fields.collect::<String>() + size));
        crd::read("widget.yaml", &text).unwrap().remove(0).versions
    }

    #[test]
    fn a_large_schema_is_embedded() {
        let mut own = 0;
        walk(&widget(0)[0].schema, &mut |_| own += 1);
        let (small, large) = (widget(MANY - own), widget(MANY - own + 1));
        assert_eq!(mode(&small), SchemaMode::Derive);
        assert_eq!(mode(&large), SchemaMode::Embed);
        assert_eq!(mode(small.iter().chain(&small)), SchemaMode::Embed);
    }
}
