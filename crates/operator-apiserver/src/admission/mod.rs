//! Admission: checks and changes of an object that depend on other objects of the cluster. The plugins of the API server are functions of
//! the state; webhooks are other programs.

mod crd;
mod namespace;
mod pod;
mod pod_security;
mod priority;
pub(crate) mod webhook;
