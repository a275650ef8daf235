//! Prints each pod, in parts: the work is in a service with unit tests ([`Echo`]), and the controller only calls it. It shows how a controller
//! gets a value that `operator` in `lib.rs` provides.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use operator_runtime::{Action, Context, Reconciler, Result, Setup};

use crate::echo::Echo;

pub async fn setup(setup: Setup) -> Result<PodEcho> {
    let echo = setup.get::<Echo>();
    let echo = echo.unwrap_or_else(|| Arc::new(Echo::new("pod", std::io::stdout())));
    Ok(PodEcho { echo })
}

pub struct PodEcho {
    echo: Arc<Echo>,
}

impl Reconciler for PodEcho {
    type Resource = Pod;

    async fn reconcile(&self, pod: Arc<Pod>, _cx: &Context) -> Result<Action> {
        self.echo.pod(&pod).map_err(anyhow::Error::from)?;
        Ok(Action::await_change())
    }
}
