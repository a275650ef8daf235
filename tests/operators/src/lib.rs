//! Operators of the same two kinds: a correct one, and variants of it that are broken, or correct but unusual. `VARIANT` selects the
//! operator, so that the generated tests can be tried on all of them after one compilation.

use operator_runtime::Operator;

pub mod api;
pub mod controllers;
mod site;
mod variant;

/// The operator's own flags. `tests/all/support/external.rs` sets them in tests.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {}

/// Registers the controllers, for `main.rs` and the tests.
///
/// # Panics
/// If `VARIANT` is not the name of a variant.
pub fn operator(operator: Operator, _options: Options) -> Operator {
    let name = std::env::var("VARIANT").unwrap_or_else(|_| "correct".into());
    let variant = variant::Variant::named(&name)
        .unwrap_or_else(|| panic!("VARIANT={name} is not in src/variant.rs"));
    operator.provide(variant).register(controllers::all())
}
