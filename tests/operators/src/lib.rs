//! Operators of the same two kinds: one that is correct, and variants of it that are broken, or correct and unusual. `VARIANT` names the
//! one to run, so that the tests that are generated can be tried on all of them after one compilation.

use operator_runtime::Operator;

pub mod api;
pub mod controllers;
mod site;
mod variant;

/// Flags of your own; tests run with the default.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {}

/// The operator with all its controllers, as `main.rs` and the tests run it.
///
/// # Panics
/// If `VARIANT` names none.
pub fn operator(operator: Operator, _options: Options) -> Operator {
    let name = std::env::var("VARIANT").unwrap_or_else(|_| "correct".into());
    let variant = variant::Variant::named(&name)
        .unwrap_or_else(|| panic!("VARIANT={name} is not in src/variant.rs"));
    operator.provide(variant).register(controllers::all())
}
