//! An operator that loses its lease: it stops, and its successor comes to the same state.

use super::run::Plot;
use super::stage::Stage;
use super::{Operator, Start, Trial};
use crate::fault::{Fault, Schedule, bounded, seed};
use crate::record::Request;

/// How many requests that are like each other are befallen: the lease is renewed for ever.
const LIKE: usize = 2;

impl Trial {
    /// Runs an operator that elects a leader, by the lease that is named after its account and lies in
    /// the account's namespace.
    ///
    /// At each of its requests, another replica takes the lease for 30 seconds, as the lease says, and dies. The operator is to notice within half of that;
    /// then nothing may be written until the lease has expired, and it works again after. An operator that ends is started again, as a Deployment does.
    /// Each fault also befalls the requests for the lease. All of it takes place in memory.
    ///
    /// # Panics
    ///
    /// As for [`assert_converges`](Self::assert_converges); and where it acts while another replica holds the lease, or asks for none.
    pub fn assert_yields<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.yields(operator));
    }

    fn yields(&self, operator: &Operator<'_>) {
        let stage = Stage::in_memory(self);
        for sample in &self.samples {
            let calm = self.calm(&stage, operator, sample, Plot::Nothing);
            assert!(
                calm.asked.iter().any(is_election),
                "without a fault: it asks for no lease"
            );
            let schedules = |_: &_| bounded(losses(&calm.asked), seed());
            self.try_all(&stage, operator, &calm, (sample, Plot::Usurp), &schedules);
        }
    }
}

fn is_election(request: &Request) -> bool {
    request.resource == "leases"
}

/// The lease is lost at each request, and each fault befalls the requests for it; of requests that are like each other, at the first few.
fn losses(asked: &[Request]) -> Vec<Schedule> {
    let mut losses = vec![];
    for (number, request) in asked.iter().enumerate() {
        let earlier = asked[..number].iter();
        let like = earlier.filter(|earlier| earlier.is_like(request)).count();
        if like >= LIKE {
            continue;
        }
        if is_election(request) {
            losses.extend(Fault::of(request).iter().map(|fault| (number, *fault)));
        }
        losses.push((number, Fault::Usurp));
    }
    let losses = losses.into_iter();
    losses.map(|loss| Schedule([loss].into())).collect()
}
