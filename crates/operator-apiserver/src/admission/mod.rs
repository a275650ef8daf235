//! Admission: checks and changes of an object that depend on other objects of the cluster. The plugins of the API server are functions of
//! the state; webhooks are other programs.

pub(crate) mod crd;
pub(crate) mod namespace;
pub(crate) mod pod;
pub(crate) mod pod_security;
pub(crate) mod priority;
pub(crate) mod webhook;
