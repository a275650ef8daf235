//! Events, which two groups serve with different fields: `v1` and `events.k8s.io/v1`.

mod check;
pub(crate) mod convert;

use crate::kinds::resource::EVENTS;
use crate::kinds::strategy::{Dependents, Strategy};

pub(crate) const EVENT: Strategy = Strategy {
    validate: |live, object, causes| check::check(false, live, object, causes),
    validates_updates_as_new: false,
    compares_metadata: |_| false,
    allows_short_finalizers: true,
    creates_on_update: true,
    selectable_fields: Some(&[
        ("involvedObject.kind", ""),
        ("involvedObject.namespace", ""),
        ("involvedObject.name", ""),
        ("involvedObject.uid", ""),
        ("involvedObject.apiVersion", ""),
        ("involvedObject.resourceVersion", ""),
        ("involvedObject.fieldPath", ""),
        ("reason", ""),
        ("reportingComponent", ""),
        ("source", ""),
        ("type", ""),
    ]),
    // a foreground deletion of an Event does not wait for its dependents
    dependents: Dependents::Unsupported,
    cells: cells!(core::event),
    ..Strategy::of(EVENTS)
};

pub(crate) const EVENTS_GROUP_EVENT: Strategy = Strategy {
    validate: |live, object, causes| check::check(true, live, object, causes),
    creates_on_update: true,
    selectable_fields: Some(&[
        ("reason", ""),
        ("regarding.kind", ""),
        ("regarding.namespace", ""),
        ("regarding.name", ""),
        ("regarding.uid", ""),
        ("regarding.apiVersion", ""),
        ("regarding.resourceVersion", ""),
        ("regarding.fieldPath", ""),
        ("reportingController", ""),
        ("type", ""),
    ]),
    dependents: Dependents::Unsupported,
    to_storage: convert::old_form,
    from_storage: Some(convert::new_form),
    cells: cells!(core::new_event),
    ..Strategy::of(("events.k8s.io", "events"))
};
