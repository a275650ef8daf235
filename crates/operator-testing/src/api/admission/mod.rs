//! Admission: what of the rest of the cluster has a say in the creation or change of an object. The plugins of the API server are
//! functions of the state; webhooks are other programs.

mod crd;
mod namespace;
mod pod;
mod pod_security;
mod priority;
pub(crate) mod webhook;
