//! The controller of [`Database`]: each object has a ConfigMap with its spec, and the condition `Ready`
//! shows whether it could be written.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{
    Applied, Condition, Declarative, Desired, Error, Observed, Result, Setup, Status,
};

use crate::api::database::v1::Database;

/// Called once, when the operator starts. `setup.get::<T>()` returns a value that `operator` in `lib.rs`
/// provides, such as flags or a client.
pub async fn setup(_setup: Setup) -> Result<DatabaseController> {
    Ok(DatabaseController)
}

/// State that calls share goes into the fields of this struct.
pub struct DatabaseController;

impl Declarative for DatabaseController {
    type Resource = Database;

    /// Returns the children that the object should have. A child that is no longer returned is deleted.
    fn desired(&self, database: &Database, observed: &Observed) -> Result<Desired<Database>> {
        Ok(Desired::new().child(config_map(database, observed)?))
    }

    /// Returns the status of the object. Called after the children were written, or after an error.
    fn status(
        &self,
        database: &Database,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Database>> {
        let mut status = database.status.clone().unwrap_or_default();
        status.observed_generation = database.metadata.generation;
        ready(result).set_in(
            status.conditions.get_or_insert_default(),
            database.metadata.generation,
        )?;
        Ok(Status::new(status))
    }
}

/// Whether the ConfigMap was written. That fails if its name is already in use, or if the API server
/// rejects it.
fn ready(result: Result<&Applied, &Error>) -> Condition {
    match result {
        Ok(_) => Condition::new(
            "Ready",
            true,
            "Applied",
            "the ConfigMap contains the current spec",
        ),
        Err(error) => Condition::new("Ready", false, "ApplyFailed", error.summary()),
    }
}

/// The desired state of the ConfigMap.
fn config_map(database: &Database, observed: &Observed) -> Result<ConfigMap> {
    let spec = serde_json::to_string(&database.spec)?;
    Ok(ConfigMap {
        metadata: observed.child_metadata(database, database.name_any()),
        data: Some(BTreeMap::from([("spec.json".into(), spec)])),
        ..Default::default()
    })
}
