//! The API types and controllers of versions, for `main.rs`, the tests and other programs.

use operator_runtime::Operator;

pub mod api;
pub mod controllers;

/// The operator's own flags. `tests/all/support/external.rs` sets them in tests.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {}

/// Registers the controllers, for `main.rs` and the tests. Add `.provide(value)` to make a value
/// available to the `setup` of each controller.
pub fn operator(operator: Operator, _options: Options) -> Operator {
    operator.register(controllers::all())
}
