//! Who may do what.

mod escalation;
mod owner;
pub(crate) mod rbac;
