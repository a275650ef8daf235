//! Records events about a [`Bell`], and notes the raw events of its watch.

use std::sync::Arc;

use anyhow::anyhow;
use kube::ResourceExt;
use operator_runtime::{
    EventType, Result, Setup,
    handlers::{Call, Handlers, Registry, WatchEvent},
};

use crate::{api::bell::v1::Bell, log::Log};

pub async fn setup(setup: Setup) -> Result<BellHandlers> {
    Ok(BellHandlers {
        log: setup.shared(),
    })
}

pub struct BellHandlers {
    log: Arc<Log>,
}

impl Handlers for BellHandlers {
    type Resource = Bell;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("ring", Self::ring)
            .when(|bell| !bell.spec.tone.is_empty());
        on.event("broken", Self::broken);
        on.event("heard", Self::heard);
    }
}

impl BellHandlers {
    /// Records events of both types, with reasons of its own, also about an error.
    async fn ring(self: Arc<Self>, call: Call<Bell>) -> Result<()> {
        let (bell, cx) = (&**call.object(), call.cx());
        cx.event(bell, EventType::Normal, "Ringing", "the bell rings")
            .await;
        cx.event(bell, EventType::Warning, "Loud", "cover your ears")
            .await;
        if let Err(error) = bell.spec.tone.parse::<f64>() {
            let note = format!("the tone is not a frequency: {error}");
            cx.event(bell, EventType::Warning, "OutOfTune", note).await;
        }
        Ok(())
    }

    /// The error is logged. There is no retry, and the next handler is called.
    async fn broken(self: Arc<Self>, _event: WatchEvent<Bell>) -> Result<()> {
        self.log.add("broken");
        Err(anyhow!("nobody listens").into())
    }

    async fn heard(self: Arc<Self>, event: WatchEvent<Bell>) -> Result<()> {
        let name = event.object().name_any();
        self.log.add(format!("{name} {:?}", event.kind()));
        Ok(())
    }
}
