//! Resync without changes: the runtime calls [`Ticker`]'s controller again after each interval, and the status counts the ticks.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use operator_runtime::{Declarative, Desired, Observed, Result, Setup};

use crate::api::ticker::v1::{Ticker, TickerStatus};

pub async fn setup(_setup: Setup) -> Result<TickerController> {
    Ok(TickerController)
}

pub struct TickerController;

impl Declarative for TickerController {
    type Resource = Ticker;

    fn desired(&self, ticker: &Ticker, _observed: &Observed) -> Result<Desired<Ticker>> {
        let interval = Duration::from_secs(ticker.spec.interval_seconds().unsigned_abs());
        // writing the status reconciles the object as well, before the interval is over
        let remaining = interval.saturating_sub(since_last_tick(ticker).unwrap_or(interval));
        if !remaining.is_zero() {
            return Ok(Desired::new().resync(remaining));
        }
        let ticks = ticker.status.as_ref().and_then(|status| status.ticks);
        let status = TickerStatus {
            ticks: Some(ticks.unwrap_or_default() + 1),
            last_tick: Some(Timestamp::now().to_string()),
        };
        Ok(Desired::new().status(status).resync(interval))
    }
}

fn since_last_tick(ticker: &Ticker) -> Option<Duration> {
    let last: Timestamp = ticker.status.as_ref()?.last_tick.as_ref()?.parse().ok()?;
    Duration::try_from(Timestamp::now().duration_since(last)).ok()
}
