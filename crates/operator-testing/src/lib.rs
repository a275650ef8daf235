//! A Kubernetes API server inside the test process, behind an ordinary [`kube::Client`].
//!
//! In: the requests of the operator under test. Out: what a real API server answers, and a record of every request. The same test
//! runs on a real server when `OPERATOR_TEST_SERVER` says so; see [`Server`]. What is not built answers `501` with its name.
//! With the feature `http` other programs, such as kubectl, reach it over TLS; see `http::Serving`.
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
//! The cases of `tests/cases/` are answered as kube-apiserver 1.36.3 answers them, but for the few that `differences.yaml` there lists.
//!
//! - No controllers but garbage collection, the ends of namespaces and definitions, and what a namespace is furnished with; these act
//!   before the answer to the request that caused them. Deployments and the like make pods with the feature `workloads` alone; see
//!   `ApiServer::with_workloads`. Their pods run nothing.
//! - Built-in kinds are checked for types and unknown fields. Defaults are those of workloads, Pods, Services, Secrets, Namespaces,
//!   Nodes, volumes and their claims, PriorityClasses, NetworkPolicies and role bindings; validation is of the rules that are met most, of
//!   workloads, Pods, Services, ConfigMaps, Secrets, Leases, Events, PriorityClasses, Roles and their bindings. A Service's addresses are
//!   not checked against each other.
//! - Pods are admitted by Pod Security, with no exemption, and need their ServiceAccount, PriorityClass and RuntimeClass, as on a real
//!   server. The token of its account is not mounted into a Pod. A TokenRequest is answered with a token that has the real claims, and
//!   that lets nobody in.
//! - PodDisruptionBudgets hold evictions back; their status is written with the feature `workloads`, or else by a client.
//! - CEL rules are asked with the feature `cel` alone; [`schema`] asks them with no server. They are read when their definition comes,
//!   but their types are not checked.
//! - Admission webhooks are asked if a test answers for their host; see [`Server::answer_webhooks`]. Requests that would wait for another
//!   one, for an admission policy or a conversion webhook answer `501`; so do those of the controllers here about which a webhook would
//!   be asked. Warnings are only of webhooks, of unknown and repeated fields, of finalizers, of Pod Security, and of jobs that are deleted.
//! - What only other programs ask for is there with the feature `http` alone; without it tables answer `406`, OpenAPI `404` and protobuf `415`.
//! - Tables have the real columns for custom kinds, workloads and pods, ConfigMap, Secret, Service, ServiceAccount, Namespace, Event, Lease,
//!   Node, PersistentVolume, PersistentVolumeClaim, PodDisruptionBudget, PriorityClass, Ingress, NetworkPolicy, webhooks, roles and
//!   bindings; others have name and age.
//! - The last 20,000 changes are remembered, or the last 64 MiB of them: a watch that starts before them is answered `410`.
//! - OpenAPI documents have no descriptions for built-in kinds, and only those parameters that clients look for; `/openapi/v2` is empty.
//! - Answers are JSON. Bodies may be protobuf, for the kinds of Go's `client-go`.
//! - `exec`, `log`, `binding`, `ephemeralcontainers` and reviews of tokens answer `501`.

#![warn(missing_docs)]

mod api;
mod assets;
mod declared;
mod difference;
mod error;
mod eventually;
mod fault;
mod fixture;
#[cfg(feature = "http")]
pub mod http;
mod install;
mod outcome;
mod permission;
mod project;
mod real;
mod record;
mod server;
mod trial;
mod watchdog;

#[cfg(feature = "workloads")]
pub use api::Workloads;
pub use api::{ApiServer, Body, Refusal, refusals};
pub use error::{Error, Result};
pub use fixture::{assert_fixtures_are_valid, sample_file};
pub use operator_schema;
pub use outcome::Outcomes;
pub use project::{
    assert_is_spec, assert_is_valid, assert_sample_is_valid, condition, sample, schema,
};
pub use record::Request;
pub use server::Server;
pub use trial::{Start, Trial};
