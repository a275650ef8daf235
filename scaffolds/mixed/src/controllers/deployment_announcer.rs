//! Announces each Deployment. It shows that one reconciler can serve several kinds: see [`Announcer`].

use k8s_openapi::api::apps::v1::Deployment;
use operator_runtime::{Result, Setup};

use crate::announce::Announcer;

pub async fn setup(_setup: Setup) -> Result<Announcer<Deployment>> {
    Ok(Announcer::new())
}
