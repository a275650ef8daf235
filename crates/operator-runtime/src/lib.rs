//! What every operator needs and [kube](https://docs.rs/kube) lacks: ordinary Rust over kube-runtime.
//!
//! An [`Operator`] runs controllers. Each is a [`Reconciler`] and the kinds that it watches. With no word
//! of user code it has leader election, finalizers, events, a growing backoff for each object, contained
//! panics, health and readiness, metrics, logs and a graceful end; objects that do not decode are reported
//! and stall nobody.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! use operator_runtime::{
//!     Action, Context, Controllers, Operator, Reconciler, Result, Settings, Setup,
//! };
//!
//! /// Keeps a copy of each Deployment's labels in a ConfigMap.
//! struct Labels;
//!
//! async fn setup(_setup: Setup) -> Result<Labels> {
//!     Ok(Labels)
//! }
//!
//! impl Reconciler for Labels {
//!     type Resource = Deployment;
//!
//!     async fn reconcile(&self, deployment: Arc<Deployment>, cx: &Context) -> Result<Action> {
//!         let name = format!("{}-labels", deployment.metadata.name.as_deref().unwrap_or_default());
//!         let copy = ConfigMap {
//!             metadata: cx.child_metadata(&*deployment, name),
//!             data: deployment.metadata.labels.clone(),
//!             ..ConfigMap::default()
//!         };
//!         cx.apply(&copy).await?;
//!         Ok(Action::await_change())
//!     }
//! }
//!
//! # async fn run() -> anyhow::Result<()> {
//! let controllers = Controllers::new().add(setup, |c| c.owns::<ConfigMap>());
//! Operator::connect("labels", Settings::default()).await?.register(controllers).run().await
//! # }
//! ```

#![warn(missing_docs)]

mod condition;
mod context;
mod engine;
mod error;
mod health;
mod leader;
mod log;
mod metrics;
mod operator;
mod options;
mod server;
mod settings;
mod setup;
mod style;

pub use condition::{Condition, Truth};
pub use context::Context;
pub use engine::{Changed, Reconciled};
pub use error::{Error, Fatal, Result};
pub use operator::{Operator, ShutdownHandle};
pub use options::options_for_tests;
pub use settings::{LogFormat, Settings};
pub use setup::{Controllers, Setup, Watches};
pub use style::*;

pub use kube::runtime::{
    controller::Action,
    events::EventType,
    reflector::{ObjectRef, Store},
};
