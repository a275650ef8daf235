//! The parts that every operator needs besides [kube](https://docs.rs/kube), as plain Rust on top of kube-runtime.
//!
//! An [`Operator`] runs controllers. Each consists of a [`Reconciler`] and the kinds that it watches. Without any user code, an operator
//! has leader election, finalizers, events, an exponential backoff for each object, health and readiness endpoints, metrics, logs and a
//! graceful shutdown. A panic fails only the reconciliation in which it occurs, and an object that cannot be decoded is reported without
//! affecting others.
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
#![cfg_attr(not(test), warn(clippy::too_many_lines, clippy::unwrap_used))]

mod action;
mod condition;
mod context;
mod controller_options;
mod controllers;
#[cfg(feature = "webhook")]
pub mod conversion;
mod crd;
mod engine;
mod error;
/// The style of handlers: what a user of [`Handlers`](handlers::Handlers) needs.
pub mod handlers {
    pub use crate::style::handlers::{
        Call, Cause, DaemonCall, DaemonOptions, EventKind, EventOptions, FieldUpdate,
        HandlerOptions, Handlers, Index, Path, Registry, TimerOptions, Update, WatchEvent,
    };
}
mod for_tests;
mod health;
mod hook;
mod leader;
mod lock;
mod log;
mod log_events;
mod metrics;
mod operator;
mod options;
mod probe;
#[cfg(feature = "protected-metrics")]
mod protected;
mod retries;
mod server;
mod settings;
mod setup;
mod shared;
mod stable_hash;
mod style;
#[cfg(any(feature = "protected-metrics", feature = "webhook"))]
mod tls;
#[cfg(feature = "otel")]
mod trace;
#[cfg(feature = "webhook")]
pub mod webhook;

pub use action::Action;
pub use condition::{Condition, ConditionStatus};
pub use context::Context;
pub use controller_options::ControllerOptions;
pub use controllers::Controllers;
pub use engine::{Changed, Reconciled};
pub use error::{Error, Fatal, Result};
pub use hook::Hook;
pub use operator::{Operator, ReadyHandle, ShutdownHandle};
pub use options::{assert_required_flags_are_set, options_for_tests};
pub use settings::{LogEvents, LogFormat, Settings};
pub use setup::{Setup, UpdateStrategy, Watches};
pub use shared::Shared;
pub use style::*;

pub use kube::runtime::{
    events::EventType,
    reflector::{ObjectRef, Store},
};
