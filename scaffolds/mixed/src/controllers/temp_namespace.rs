//! The long form, with all stages: a cluster-scoped [`TempNamespace`] has a Namespace of its name until its time is over. A name that is
//! reserved is reported in the status, and nothing is touched.

use std::time::Duration;

use k8s_openapi::{api::core::v1::Namespace, jiff::Timestamp};
use kube::ResourceExt;
use operator_runtime::{Applied, Declarative, Desired, Error, Observed, Result, Setup, Status};

use crate::api::temp_namespace::v1::{
    TempNamespace, TempNamespaceStatus, TempNamespaceStatusPhase as Phase,
};

pub async fn setup(_setup: Setup) -> Result<TempNamespaceController> {
    Ok(TempNamespaceController)
}

pub struct TempNamespaceController;

impl Declarative for TempNamespaceController {
    type Resource = TempNamespace;

    fn validate(&self, temp: &TempNamespace) -> Result<()> {
        if temp.name_any().starts_with("kube-") {
            return Err(anyhow::anyhow!("names that begin with kube- are reserved").into());
        }
        Ok(())
    }

    fn desired(&self, temp: &TempNamespace, observed: &Observed) -> Result<Desired<TempNamespace>> {
        let remaining = remaining(temp);
        if remaining.is_zero() {
            // not desired any more, and so deleted
            return Ok(Desired::new());
        }
        let namespace = Namespace {
            metadata: observed.child_metadata(temp, temp.name_any()),
            ..Default::default()
        };
        Ok(Desired::new().child(namespace).resync(remaining))
    }

    fn status(
        &self,
        temp: &TempNamespace,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<TempNamespace>> {
        let (phase, message) = match result {
            Ok(_) if remaining(temp).is_zero() => (Phase::Expired, None),
            Ok(_) => (Phase::Active, None),
            Err(error) if error.is_permanent() => (Phase::Invalid, Some(error.summary())),
            Err(error) => (Phase::Failed, Some(error.summary())),
        };
        Ok(Status::new(TempNamespaceStatus {
            phase: Some(phase),
            message,
        }))
    }
}

/// The time until the namespace is to be deleted.
fn remaining(temp: &TempNamespace) -> Duration {
    let created = temp.metadata.creation_timestamp.as_ref();
    let created = created.map_or_else(Timestamp::now, |created| created.0);
    let age = Duration::try_from(Timestamp::now().duration_since(created)).unwrap_or_default();
    let after = u64::try_from(temp.spec.delete_after_seconds()).unwrap_or_default();
    Duration::from_secs(after).saturating_sub(age)
}
