//! Authorization.

mod escalation;
mod owner;
pub(crate) mod rbac;
