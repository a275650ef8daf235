//! A Kubernetes API server inside the test process, behind an ordinary [`kube::Client`].
//!
//! In: the requests of the operator under test. Out: what a real API server answers, and a record of every request. The same test
//! runs on a real server when `OPERATOR_TEST_SERVER` says so; see [`Server`]. What is not built answers `501` with its name.
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

mod api;
mod error;
mod eventually;
mod install;
mod real;
mod record;
mod server;

pub use api::{ApiServer, Body};
pub use error::{Error, Result};
pub use record::Request;
pub use server::Server;
