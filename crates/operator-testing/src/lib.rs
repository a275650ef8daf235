//! A Kubernetes API server inside the test process, behind an ordinary [`kube::Client`].
//!
//! In: the requests of the operator under test. Out: the responses of a real API server, and a record of all requests. The same test runs
//! on a real server if `OPERATOR_TEST_SERVER` selects it; see [`Server`]. Unsupported requests are answered with `501` and the name of the
//! missing feature. With the feature `http`, other programs such as kubectl can use the server over TLS; see `http::Serving`.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use operator_testing::Server;
//!
//! let server = Server::start().await.unwrap();
//! server.install("{apiVersion: v1, kind: ConfigMap, metadata: {name: greeting}}").await.unwrap();
//! let version = server.client().apiserver_version().await.unwrap();
//! assert_eq!(version.major, "1");
//! # });
//! ```
//!
//! # What differs from a real server
//!
//! The server answers the requests in `tests/cases/` as kube-apiserver 1.36.3 does, except for the differences that
//! `tests/cases/differences.yaml` lists.
//!
//! - The only controllers are garbage collection, the deletion of namespaces and CRDs, and the initial objects of namespaces; they act
//!   before the server answers the request that triggered them. Deployments and other workloads create pods only with the feature
//!   `workloads`; see `ApiServer::with_workloads`. The pods run no containers.
//! - Objects of built-in kinds are checked for types and unknown fields. Defaults are set for workloads, Pods, Services, Secrets,
//!   Namespaces, Nodes, volumes and their claims, PriorityClasses, NetworkPolicies and role bindings. The most common validation rules are
//!   implemented for workloads, Pods, Services, ConfigMaps, Secrets, Leases, Events, PriorityClasses, Roles and their bindings. The server
//!   does not check that Services have different addresses.
//! - Pod Security admission checks Pods, without exemptions; their ServiceAccount, PriorityClass and RuntimeClass must exist, as on a real
//!   server. The token of the account is not mounted into a Pod. A TokenRequest returns a token with the real claims, which a TokenReview
//!   knows, but which does not authenticate requests.
//! - PodDisruptionBudgets limit evictions; their status is updated with the feature `workloads`, otherwise only by clients.
//! - CEL rules are evaluated only with the feature `cel`; [`schema`] evaluates them without a server. They are parsed when the CRD is
//!   created, but their types are not checked.
//! - Admission and conversion webhooks are called if a test registers their host; see [`Server::answer_webhooks`]. Requests that need
//!   another webhook or an admission policy are answered with `501`; so are requests of the built-in controllers that need a webhook.
//!   Warnings are returned only for webhooks, unknown and duplicate fields, finalizers, Pod Security, and the deletion of jobs.
//! - Tables, OpenAPI documents and protobuf bodies, which only other programs request, need the feature `http`; without it, such requests
//!   get `406`, `404` and `415`.
//! - Tables have the real columns for custom kinds, workloads and pods, ConfigMap, Secret, Service, ServiceAccount, Namespace, Event,
//!   Lease, Node, PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget, PriorityClass, Ingress, NetworkPolicy, webhooks, roles and
//!   bindings; other kinds have name and age.
//! - The server keeps the last 20,000 changes, up to 64 MiB; a watch from an older resource version gets `410`.
//! - OpenAPI documents have no descriptions for built-in kinds, and only the parameters that clients use; `/openapi/v2` is empty.
//! - Responses are JSON. Request bodies may be protobuf, for the kinds of Go's `client-go`.
//! - `exec`, `log`, `binding`, `ephemeralcontainers` and SelfSubjectRulesReviews are answered with `501`.

#![warn(missing_docs)]
#![cfg_attr(not(test), warn(clippy::too_many_lines, clippy::unwrap_used))]

use std::sync::{Mutex, MutexGuard, PoisonError};

mod arguments;
mod assets;
mod conversion;
mod declared;
#[cfg(feature = "dev")]
pub mod dev;
mod difference;
mod error;
mod eventually;
mod fault;
mod fixture;
#[cfg(feature = "http")]
pub mod http;
mod install;
mod kustomization;
mod outcome;
mod permission;
mod project;
mod provider;
mod real;
mod real_time;
mod request_log;
mod schedule;
mod served;
mod server;
mod trial;
mod watchdog;
mod webhook_fault;
mod webhook_registration;

pub use arguments::{assert_accepts_arguments, overlays};
pub use conversion::ConversionProof;
pub use error::{Error, Result};
pub use fixture::{assert_fixtures_are_valid, sample_file};
#[cfg(feature = "workloads")]
pub use operator_apiserver::Workloads;
pub use operator_apiserver::{ApiServer, Body, Refusal, refusals};
pub use operator_schema;
pub use outcome::Outcomes;
pub use project::{
    assert_is_crd, assert_is_valid, assert_sample_is_valid, condition, sample, schema,
};
pub use provider::ProviderFaults;
pub use real_time::real_time;
pub use request_log::Request;
pub use server::Server;
pub use trial::{Start, Trial};
pub use webhook_registration::WebhookRegistration;

/// Locks a mutex, even if a thread has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
