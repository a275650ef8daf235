//! The kinds of messaging-operator and their controllers, as a library: tests and other programs use them from here.

use operator_runtime::Operator;

pub mod api;
pub mod controllers;
pub mod topics;

/// Flags of your own; tests run with the default.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Options {
    /// Runs in place of what `spec.image` of each queue names, as a mirror inside of the network.
    #[arg(long, env)]
    pub broker_image: Option<String>,
}

/// The operator with all its controllers, as `main.rs` and the tests run it. What it gets with `.provide(value)` reaches the `setup` of
/// each controller.
pub fn operator(operator: Operator, options: Options) -> Operator {
    operator.provide(options).register(controllers::all())
}
