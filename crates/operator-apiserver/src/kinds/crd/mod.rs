//! [CustomResourceDefinitions]: their defaults and validation, and the kinds that they register.
//!
//! [CustomResourceDefinitions]: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/

mod check;
mod lifecycle;
pub(crate) mod naming;
mod part;
mod register;
mod typed;

pub(crate) use self::check::violations_beside_schemas;
pub(crate) use self::lifecycle::{CLEANUP, prepare_for_create, set_terminating, versions};
pub(crate) use self::register::{RegisteredCrd, register};

use crate::kinds::resource::CRDS;
use crate::kinds::strategy::Strategy;

pub(crate) const CRD: Strategy = Strategy {
    set_defaults: lifecycle::set_defaults,
    prepare_for_create,
    prepare_for_update: |subresource, _, object| {
        if subresource.is_none() {
            lifecycle::add_stored_version(object);
        }
    },
    validate: |live, object, causes| causes.extend(check::violations(live, object)),
    // an update of the status is not validated at all, not even `storedVersions`
    validates_status: false,
    allows_short_finalizers: true,
    has_generation: true,
    terminate: Some(lifecycle::terminate),
    cells: cells!(core::dated),
    ..Strategy::of(CRDS)
};
