//! Authorization.

pub(crate) mod escalation;
pub(crate) mod owner;
pub(crate) mod rbac;
