//! A daemon that heats a [`Kettle`], one that does not end by itself, and a timer that measures the water. They share a memo.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::anyhow;
use operator_runtime::{
    Error, Result, Setup,
    handlers::{Call, DaemonCall, Handlers, Registry},
};

use crate::{api::kettle::v1::Kettle, log::Log};

/// The memo of each object.
#[derive(Default)]
struct Water {
    degrees: AtomicU32,
}

const TICK: Duration = Duration::from_millis(50);
pub const IDLE: Duration = Duration::from_millis(500);
pub const INTERVAL: Duration = Duration::from_millis(200);
pub const GRACE: Duration = Duration::from_millis(400);

pub async fn setup(setup: Setup) -> Result<KettleHandlers> {
    Ok(KettleHandlers {
        log: setup.shared(),
    })
}

pub struct KettleHandlers {
    log: Arc<Log>,
}

impl Handlers for KettleHandlers {
    type Resource = Kettle;

    fn register(&self, on: &mut Registry<Self>) {
        on.daemon("heat", Self::heat).backoff(TICK);
        on.daemon("hiss", Self::hiss).grace(GRACE);
        on.timer("measure", INTERVAL, Self::measure).idle(IDLE);
    }
}

impl KettleHandlers {
    /// Fails twice, and is called again after the backoff. Ends when it is asked to.
    async fn heat(self: Arc<Self>, daemon: DaemonCall<Kettle>) -> Result<()> {
        self.log.add(format!("heat {}", daemon.attempt()));
        match daemon.attempt() {
            1 => return Err(anyhow!("no power").into()),
            2 => return Err(Error::temporary(TICK, anyhow!("low power"))),
            _ => {}
        }
        let water = daemon.memo::<Water>();
        while daemon.sleep(TICK).await {
            water.degrees.fetch_add(1, Ordering::Relaxed);
        }
        self.log.add("heat ends");
        Ok(())
    }

    /// Does not end when it is asked to: it is aborted after the grace.
    async fn hiss(self: Arc<Self>, daemon: DaemonCall<Kettle>) -> Result<()> {
        let _aborted = Aborted(self.log.clone());
        daemon.stopped().await;
        self.log.add("hiss goes on");
        std::future::pending().await
    }

    /// Called when the kettle has not been changed for a while, and then at the interval.
    async fn measure(self: Arc<Self>, call: Call<Kettle>) -> Result<()> {
        let degrees = call.memo::<Water>().degrees.load(Ordering::Relaxed);
        let liters = call.object().spec.liters;
        self.log.add(format!("{liters} liters: {degrees}"));
        Ok(())
    }
}

/// Logs that it is dropped.
struct Aborted(Arc<Log>);

impl Drop for Aborted {
    fn drop(&mut self) {
        self.0.add("hiss is aborted");
    }
}
