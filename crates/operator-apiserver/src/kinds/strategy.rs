//! The strategy of a kind: how it differs from other kinds, as one value. It has the parts of a [strategy of kube-apiserver].
//!
//! [strategy of kube-apiserver]: https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/apps/daemonset/strategy.go

use serde_json::Value;

use super::allocations::Allocations;
use super::resource::Resource;
use crate::model::{Cause, Kind, Result, name};

/// How a kind differs from [`Strategy::of`] its resource.
#[derive(Clone, Copy)]
pub(crate) struct Strategy {
    pub resource: Resource,
    pub set_defaults: fn(&mut Value),
    /// The violations in a name, or in the prefix of a generated one.
    pub bad_name: fn(&str) -> Vec<String>,
    /// Allocates the addresses and ports of an object that is new or replaces a live one. A dry run checks less.
    pub allocate: Allocate,
    /// Sets fields of a new object before admission.
    pub prepare_for_create: fn(&mut Value),
    /// Sets the fields that admission plugins set in a new object.
    pub admit: fn(&mut Value),
    /// Sets fields of a new object after admission.
    pub after_admission: fn(&mut Value),
    /// Drops fields that are not enabled from an object that is new or replaces a live one, which is null for a new object.
    pub drop_disabled_fields: fn(&Value, &mut Value),
    /// Sets fields of an object that replaces a live one, or changes the subresource.
    pub prepare_for_update: fn(Option<&str>, &Value, &mut Value),
    /// Adds the violations in an object that is new or replaces a live one.
    pub validate: fn(Option<&Value>, &Value, &mut Vec<Cause>),
    pub validates_status: bool,
    pub warnings: fn(&Value) -> Vec<&'static str>,
    /// Whether an update also repeats the checks of the metadata of a new object.
    pub validates_updates_as_new: bool,
    /// Whether an update, of the object or of a subresource, compares the metadata with the previous one.
    pub compares_metadata: fn(Option<&str>) -> bool,
    /// Whether finalizers need no domain.
    pub allows_short_finalizers: bool,
    /// Whether `PUT` creates a missing object.
    pub creates_on_update: bool,
    /// Whether an update of the status creates a missing object, too.
    pub creates_on_status_update: bool,
    /// Whether `PUT` may omit the version on which it is based.
    pub allows_unconditional_update: bool,
    /// The metadata that a write of the status does not change.
    pub kept_by_status: &'static [&'static str],
    /// Whether the status of a new object is stored.
    pub keeps_initial_status: bool,
    pub has_generation: bool,
    /// Whether a change of annotations increases the generation.
    pub counts_annotations: bool,
    /// The JSON pointer of the pod template.
    pub template: Option<&'static str>,
    pub has_scale: bool,
    /// The fields besides name and namespace by which objects can be selected, with their values if they are not set.
    pub selectable_fields: Option<&'static [(&'static str, &'static str)]>,
    /// A map whose values are bytes, in which null is stored as an empty string.
    pub bytes: Option<&'static str>,
    /// The names of objects that cannot be deleted.
    pub undeletable: &'static [&'static str],
    pub dependents: Dependents,
    pub deletion_warning: Option<&'static str>,
    /// Whether an object that is assigned to a node has a grace period.
    pub has_grace_period: bool,
    /// Marks an object that is being deleted and stays until its content is gone.
    pub terminate: Option<fn(&mut Value)>,
    /// Whether the response to a deletion is the deleted object.
    pub returns_deleted: bool,
    /// Converts an object to the form in which it is stored.
    pub to_storage: fn(Value) -> Value,
    /// Converts an object from that form, if it has another one.
    pub from_storage: Option<fn(Value) -> Value>,
    /// The folder in etcd below that of the kind.
    pub etcd_folder: &'static str,
    /// The cells of an object's row in a table.
    pub cells: Option<fn(&Value) -> Vec<Value>>,
    /// What must be reconciled after a change of an object.
    pub enqueues: &'static [Enqueue],
    pub controller: Option<Controller>,
}

type Allocate = fn(&mut Allocations, (&Kind, bool), Option<&Value>, &mut Value) -> Result<()>;

/// What happens to the dependents of a deleted object by default.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Dependents {
    Deleted,
    Orphaned,
    /// They are deleted, whatever the client asks for.
    Unsupported,
}

/// What a change of an object enqueues, besides the object itself if its kind has a controller.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Enqueue {
    /// The workload that controls the object, or those of these kinds that may adopt it.
    Owner(&'static [Resource]),
    /// All objects of a kind in the namespace.
    InNamespace(Resource),
    /// All objects of a kind.
    All(Resource),
    /// The claims that the pod uses.
    Claims,
    /// The pods that wait for the object.
    WaitingPods,
    /// The pods in this namespace.
    PodsWithin,
}

/// A controller in `workload`.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Controller {
    Budget,
    Claim,
    CronJob,
    DaemonSet,
    Deployment,
    Job,
    Pod,
    ReplicaSet,
    Service,
    StatefulSet,
    Volume,
}

impl Controller {
    /// Whether it controls pods, or their controllers.
    pub fn is_of_workload(self) -> bool {
        use Controller::{CronJob, DaemonSet, Deployment, Job, ReplicaSet, StatefulSet};
        matches!(
            self,
            CronJob | DaemonSet | Deployment | Job | ReplicaSet | StatefulSet
        )
    }
}

impl Strategy {
    /// The strategy of a kind without peculiarities.
    pub const fn of(resource: Resource) -> Self {
        Self {
            resource,
            set_defaults: |_| {},
            bad_name: name::bad_subdomain,
            allocate: |_, _, _, _| Ok(()),
            prepare_for_create: |_| {},
            admit: |_| {},
            after_admission: |_| {},
            drop_disabled_fields: |_, _| {},
            prepare_for_update: |_, _, _| {},
            validate: |_, _, _| {},
            validates_status: true,
            warnings: |_| Vec::new(),
            validates_updates_as_new: true,
            compares_metadata: |_| true,
            allows_short_finalizers: false,
            creates_on_update: false,
            creates_on_status_update: false,
            allows_unconditional_update: true,
            kept_by_status: &[],
            keeps_initial_status: false,
            has_generation: false,
            counts_annotations: false,
            template: None,
            has_scale: false,
            selectable_fields: None,
            bytes: None,
            undeletable: &[],
            dependents: Dependents::Deleted,
            deletion_warning: None,
            has_grace_period: false,
            terminate: None,
            returns_deleted: false,
            to_storage: |object| object,
            from_storage: None,
            etcd_folder: "",
            cells: None,
            enqueues: &[],
            controller: None,
        }
    }
}

impl Strategy {
    /// The same strategy for another kind.
    pub const fn named(self, resource: Resource) -> Self {
        Self { resource, ..self }
    }

    pub const fn with_generation(self) -> Self {
        Self {
            has_generation: true,
            ..self
        }
    }

    pub const fn without_unconditional_update(self) -> Self {
        Self {
            allows_unconditional_update: false,
            ..self
        }
    }

    /// Whether a write of an object, or of its subresource, creates a missing object.
    #[cfg(feature = "server")]
    pub fn creates(&self, subresource: Option<&str>) -> bool {
        match subresource {
            None => self.creates_on_update,
            Some(_) => self.creates_on_status_update,
        }
    }
}
