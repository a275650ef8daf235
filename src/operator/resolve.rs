//! From `operator.toml` and the CRDs to the operator, or to all errors about names that do not fit together.

use std::borrow::Cow;

use super::{DefinedKind, KindId, NamespaceSelection, Operator, admission, controller, versions};
use crate::{
    config::{Config, ConfigError, Kind, Namespaces, Packaging, Place},
    crd::Api,
};

/// Resolves all names in `operator.toml`; `crds` has the CRD of each `[[kind]]`, in the same order, and `was_converted` returns whether the
/// project already converts a kind.
///
/// # Errors
/// All mistakes: first in the kinds, in their order, then in the controllers, in the webhooks, and in the packaging.
pub fn resolve<'a>(
    config: &'a Config,
    crds: &'a [Api],
    was_converted: impl Fn(&Kind) -> bool,
) -> Result<Operator<'a>, Vec<ConfigError>> {
    let mut errors = vec![];
    let mut kinds = vec![];
    for (index, (table, crd)) in config.kinds.iter().zip(crds).enumerate() {
        let id = KindId(index);
        errors.extend(versions::unknown_versions(id, table, crd));
        let conversions = versions::conversions(id, table, crd, was_converted(table));
        kinds.push(DefinedKind {
            id,
            table,
            crd,
            conversions: conversions.unwrap_or_else(|error| {
                errors.push(error);
                None
            }),
        });
    }
    let controllers = controller::all(config, &kinds, crds, &mut errors);
    let admissions = admission::all(config, &kinds, crds, &mut errors);
    let operator = Operator {
        namespace: config.name.clone(),
        config: Cow::Borrowed(config),
        selection: NamespaceSelection::Manifests,
        kinds,
        controllers,
        admissions,
    };
    if config.packaging.contains(&Packaging::Olm)
        && config.namespaces != Namespaces::All
        && operator.converted().next().is_some()
    {
        errors.push(ConfigError::at(
            Place::of("namespaces"),
            "OLM installs an operator that converts objects for all namespaces only",
            "write `namespaces = \"all\"`, because all namespaces share the CRDs; or remove \"olm\" from `packaging`",
        ));
    }
    if errors.is_empty() {
        Ok(operator)
    } else {
        Err(errors)
    }
}
