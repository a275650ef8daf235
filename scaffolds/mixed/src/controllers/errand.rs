//! Four handlers of a new [`Errand`] that fail in four ways: with a permanent error, with a temporary one, with any other error, and with one
//! that is made permanent.

use std::{sync::Arc, time::Duration};

use anyhow::anyhow;
use operator_runtime::{
    Error, Result, Setup,
    handlers::{Call, Handlers, Registry},
};

use crate::{api::errand::v1::Errand, log::Log};

const SOON: Duration = Duration::from_secs(1);

pub async fn setup(setup: Setup) -> Result<ErrandHandlers> {
    Ok(ErrandHandlers {
        log: setup.shared(),
    })
}

pub struct ErrandHandlers {
    log: Arc<Log>,
}

impl Handlers for ErrandHandlers {
    type Resource = Errand;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("hopeless", Self::hopeless);
        on.create("patient", Self::patient);
        on.create("stubborn", Self::stubborn)
            .attempts(3)
            .backoff(SOON);
        on.create("strict", Self::strict);
    }
}

impl ErrandHandlers {
    /// A permanent error is not retried.
    async fn hopeless(self: Arc<Self>, call: Call<Errand>) -> Result<()> {
        self.begin(&call);
        Err(Error::permanent(anyhow!("nobody can do this")))
    }

    /// A temporary error is retried after its delay.
    async fn patient(self: Arc<Self>, call: Call<Errand>) -> Result<()> {
        self.begin(&call);
        match call.attempt() {
            1..=3 => Err(Error::temporary(SOON, anyhow!("the office is closed"))),
            _ => Ok(()),
        }
    }

    /// Any other error is retried as the options of the handler say.
    async fn stubborn(self: Arc<Self>, call: Call<Errand>) -> Result<()> {
        self.begin(&call);
        Err(anyhow!("no luck").into())
    }

    /// An error becomes permanent if another attempt cannot help.
    async fn strict(self: Arc<Self>, call: Call<Errand>) -> Result<()> {
        self.begin(&call);
        let count: i32 = call
            .object()
            .spec
            .count()
            .parse()
            .map_err(Error::permanent)?;
        self.log.add(format!("the count is {count}"));
        Ok(())
    }

    fn begin(&self, call: &Call<Errand>) {
        self.log
            .add(format!("{} {}", call.handler(), call.attempt()));
    }
}
