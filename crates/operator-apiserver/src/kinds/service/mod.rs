//! Services: their defaults, their validation, and their addresses and node ports.

mod address;
mod check;
mod defaults;

use crate::kinds::resource::SERVICES;
use crate::kinds::strategy::{Controller, Strategy};
use crate::kinds::value::drop_fields;
use crate::model::name::bad_undotted_label;

pub(crate) const SERVICE: Strategy = Strategy {
    set_defaults: defaults::set_defaults,
    bad_name: bad_undotted_label,
    allocate: address::allocate,
    drop_disabled_fields: |_, service| {
        if service["spec"]["type"] == "ExternalName" {
            drop_fields(&mut service["spec"], &["internalTrafficPolicy"]);
        }
    },
    validate: check::check,
    warnings: |service| check::ignored(&service["spec"]),
    validates_updates_as_new: false,
    creates_on_update: true,
    creates_on_status_update: true,
    selectable_fields: Some(&[("spec.clusterIP", ""), ("spec.type", "")]),
    returns_deleted: true,
    etcd_folder: "specs/",
    controller: Some(Controller::Service),
    cells: cells!(core::service),
    ..Strategy::of(SERVICES)
};
