//! The API types and controllers of mixed, for `main.rs`, the tests and other programs.

use operator_runtime::Operator;

pub mod announce;
pub mod api;
pub mod calls;
pub mod controllers;
pub mod echo;
pub mod log;

/// The operator's own flags. `tests/all/support/external.rs` sets them in tests.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {}

/// Registers the controllers, for `main.rs` and the tests. Add `.provide(value)` to make a value
/// available to the `setup` of each controller.
pub fn operator(operator: Operator, _options: Options) -> Operator {
    operator.register(controllers::all())
}
