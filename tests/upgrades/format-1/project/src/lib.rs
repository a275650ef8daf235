//! The kinds of cache-operator and their controllers, as a library: tests and other programs use them from here.

use operator_runtime::Operator;

pub mod api;
pub mod controllers;

/// Flags of your own; tests run with the default.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {}

/// The operator with all its controllers, as `main.rs` and the tests run it. What it gets with `.provide(value)` reaches the `setup` of
/// each controller.
pub fn operator(operator: Operator, _options: Options) -> Operator {
    operator.register(controllers::all())
}
