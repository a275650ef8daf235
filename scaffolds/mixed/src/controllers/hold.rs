//! Finalization that waits: a [`Hold`] that is being deleted stays as long as it is held.

use std::time::Duration;

use operator_runtime::{Declarative, Desired, Finalized, Observed, Result, Setup};

use crate::api::hold::v1::Hold;

pub async fn setup(_setup: Setup) -> Result<HoldController> {
    Ok(HoldController)
}

pub struct HoldController;

impl Declarative for HoldController {
    type Resource = Hold;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/mixed");

    fn desired(&self, _hold: &Hold, _observed: &Observed) -> Result<Desired<Hold>> {
        Ok(Desired::new())
    }

    fn finalize(&self, hold: &Hold, _observed: &Observed) -> Result<Finalized> {
        if hold.spec.held() {
            return Ok(Finalized::After(Duration::from_secs(1)));
        }
        Ok(Finalized::Done)
    }
}
