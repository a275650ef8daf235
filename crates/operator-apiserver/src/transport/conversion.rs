//! Calls the conversion webhooks that a request needs, between two attempts to execute it.

use std::mem;

use super::service::ApiServer;
use crate::store::conversion::Wanted;
use crate::store::endpoint::Endpoints;
use crate::store::{Conversions, State};
use crate::webhook::conversion::convert;

/// The conversions that an attempt lacks.
pub(crate) struct Missing {
    wanted: Vec<Wanted>,
    endpoints: Endpoints,
}

impl ApiServer {
    /// Calls a function under the lock, with the known conversions, and completes its consequences. If conversions are missing, nothing has
    /// changed, and the result does not count.
    pub(crate) fn attempt<T>(
        &self,
        conversions: &mut Conversions,
        act: impl FnOnce(&mut State) -> T,
    ) -> (T, Option<Missing>) {
        let attempted = {
            let mut cluster = self.cluster();
            let result = cluster.settled(|state| converting(state, conversions, act));
            (result, missing(&cluster.state, conversions))
        };
        self.announce();
        attempted
    }

    /// Reads the state under the lock, with the known conversions. If conversions are missing, the result does not count.
    pub(crate) fn look<T>(
        &self,
        conversions: &mut Conversions,
        read: impl FnOnce(&State) -> T,
    ) -> (T, Option<Missing>) {
        let mut cluster = self.cluster();
        let result = converting(&mut cluster.state, conversions, |state| read(state));
        (result, missing(&cluster.state, conversions))
    }
}

/// Lends conversions to the state during the call of a function.
fn converting<T>(
    state: &mut State,
    conversions: &mut Conversions,
    act: impl FnOnce(&mut State) -> T,
) -> T {
    mem::swap(&mut state.conversions, conversions);
    let result = act(state);
    mem::swap(&mut state.conversions, conversions);
    result
}

fn missing(state: &State, conversions: &mut Conversions) -> Option<Missing> {
    let wanted = conversions.take_wanted();
    (!wanted.is_empty()).then(|| Missing {
        wanted,
        endpoints: state.settings.endpoints.clone(),
    })
}

impl Missing {
    /// Calls the webhooks, one after another.
    pub async fn answer(self, conversions: &mut Conversions) {
        for wanted in self.wanted {
            let converted = convert(&wanted, &self.endpoints).await;
            conversions.answer(&wanted, converted);
        }
    }
}
