//! Looks at ConfigMaps with a label again every 45 seconds, one at a time, and leaves one alone after five failed attempts. It shows the options
//! of a controller.

use std::{num::NonZeroU16, sync::Arc, time::Duration};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use operator_runtime::{Action, Context, ControllerOptions, Reconciler, Result, Setup};

use crate::calls::Calls;

pub async fn setup(setup: Setup) -> Result<Steady> {
    let calls = setup.get::<Calls>().map(|calls| Calls::clone(&calls));
    Ok(Steady {
        calls: calls.unwrap_or_default(),
    })
}

pub struct Steady {
    calls: Calls,
}

impl Reconciler for Steady {
    type Resource = ConfigMap;

    fn options(&self) -> ControllerOptions<ConfigMap> {
        ControllerOptions::default()
            .labels("programs.example.com/steady=true")
            .resync(Duration::from_secs(45))
            .workers(NonZeroU16::MIN)
            .retry_limit(5)
    }

    /// Fails if the ConfigMap asks for it.
    async fn reconcile(&self, config_map: Arc<ConfigMap>, _cx: &Context) -> Result<Action> {
        let _running = self.calls.begin(config_map.name_any());
        tokio::time::sleep(Duration::from_millis(100)).await;
        let data = config_map.data.as_ref();
        match data.and_then(|data| data.get("fail")) {
            Some(why) => Err(anyhow::anyhow!("{why}").into()),
            None => Ok(Action::await_change()),
        }
    }
}
