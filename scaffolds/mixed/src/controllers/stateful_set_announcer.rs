//! Announces each StatefulSet. It shows that one reconciler can serve several kinds: see [`Announcer`].

use k8s_openapi::api::apps::v1::StatefulSet;
use operator_runtime::{Result, Setup};

use crate::announce::Announcer;

pub async fn setup(_setup: Setup) -> Result<Announcer<StatefulSet>> {
    Ok(Announcer::new())
}
