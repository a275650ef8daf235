//! A child that follows its parent: a ConfigMap with the text of each [`Greeting`]. If somebody changes or deletes it, it returns.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{
    Applied, Condition, Declarative, Desired, Error, Observed, Result, Setup, Status,
};

use crate::api::greeting::v1::Greeting;

pub async fn setup(_setup: Setup) -> Result<GreetingController> {
    Ok(GreetingController)
}

pub struct GreetingController;

impl Declarative for GreetingController {
    type Resource = Greeting;

    fn desired(&self, greeting: &Greeting, observed: &Observed) -> Result<Desired<Greeting>> {
        Ok(Desired::new().child(ConfigMap {
            metadata: observed.child_metadata(greeting, greeting.name_any()),
            data: Some(BTreeMap::from([(
                "text".into(),
                greeting.spec.text.clone(),
            )])),
            ..Default::default()
        }))
    }

    fn status(
        &self,
        greeting: &Greeting,
        _observed: &Observed,
        result: Result<&Applied, &Error>,
    ) -> Result<Status<Greeting>> {
        let ready = match result {
            Ok(_) => Condition::new("Ready", true, "Applied", "the ConfigMap has the text"),
            Err(error) => Condition::new("Ready", false, "ApplyFailed", error.summary()),
        };
        let generation = greeting.metadata.generation;
        let mut status = greeting.status.clone().unwrap_or_default();
        status.observed_generation = generation;
        ready.set_in(status.conditions.get_or_insert_default(), generation)?;
        Ok(Status::new(status))
    }
}
