//! Who may do what.

pub(crate) mod escalation;
pub(crate) mod owner;
pub(crate) mod rbac;
