//! [CustomResourceDefinitions]: their defaults and validation, and the kinds that they register.
//!
//! [CustomResourceDefinitions]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

mod check;
mod lifecycle;
pub(crate) mod naming;
mod part;
mod register;
mod typed;

pub(crate) use self::check::{violations, violations_beside_schemas};
pub(crate) use self::lifecycle::{
    CLEANUP, GROUP, PLURAL, fill, is_crd, note_storage, prepare, set_terminating, terminate,
    versions,
};
pub(crate) use self::register::{RegisteredCrd, register};
