//! Webhooks: [admission](https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/) of objects, typed, and
//! [conversion](https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/) between the
//! versions of a kind.
//!
//! Every replica serves them over TLS, whether it leads or not, from before it waits for its lease until its controllers have ended. Add
//! them with [`Controllers::webhooks`](crate::Controllers::webhooks). No failure allows a request: an error, a panic, or an object that
//! cannot be decoded refuses it.

mod admission;
mod certificate;
mod convert;
mod patch;
mod registry;
mod router;
mod run;
mod server;
mod service;
mod unreadable;

pub(crate) use self::run::Launch;
pub use self::{
    admission::{AdmissionRequest, Mutate, Operation, Validate, Verdict},
    convert::Convert,
    registry::{Endpoints, Webhooks},
    service::{ConnectionRefused, WebhookService},
};
