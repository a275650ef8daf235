//! Tests an operator that loses its lease: it must stop, and its successor must reach the same state.

use super::run::Scenario;
use super::stage::Stage;
use super::{Operator, Start, Trial};
use crate::Request;
use crate::fault::{Fault, bounded, seed};
use crate::schedule::Schedule;

/// The number of similar requests that get a fault. There is no end of them, because the lease is renewed.
const MAX_SIMILAR: usize = 2;

impl Trial {
    /// Runs an operator that elects a leader, by the lease with the name and the namespace of its account.
    ///
    /// At each of the operator's requests, another replica takes the lease for 30 seconds, and never renews it. The operator must notice
    /// the loss within 15 seconds, must not write anything until the lease has expired, and must work again afterwards. If the operator
    /// exits, it is restarted, as by a Deployment. Each fault is also injected into the requests for the lease. All runs are in memory.
    ///
    /// # Panics
    ///
    /// Like [`assert_converges`](Self::assert_converges); also if the operator writes while another replica holds the lease, or never
    /// requests a lease.
    pub fn assert_stops_when_lease_is_lost<A>(&self, operator: impl Start<A>) {
        Operator::with(operator, |operator| self.stop_when_lease_is_lost(operator));
    }

    fn stop_when_lease_is_lost(&self, operator: &Operator<'_>) {
        let stage = Stage::in_memory(self);
        for sample in &self.samples {
            let baseline = self.baseline(&stage, operator, sample, Scenario::Plain);
            assert!(
                baseline.requests.iter().any(is_election),
                "without a fault: it does not request a lease"
            );
            let schedules = |_: &_| bounded(losses(&baseline.requests), seed());
            self.run_schedules(
                &stage,
                operator,
                &baseline,
                (sample, Scenario::LoseLease),
                &schedules,
            );
        }
    }
}

fn is_election(request: &Request) -> bool {
    request.resource == "leases"
}

/// The loss of the lease at each request, and each fault in each request for the lease; of similar requests, only in the first few.
fn losses(requests: &[Request]) -> Vec<Schedule<Fault>> {
    let mut losses = vec![];
    for (number, request) in requests.iter().enumerate() {
        let earlier = requests[..number].iter();
        let like = earlier.filter(|earlier| earlier.is_like(request)).count();
        if like >= MAX_SIMILAR {
            continue;
        }
        if is_election(request) {
            losses.extend(Fault::of(request).iter().map(|fault| (number, *fault)));
        }
        losses.push((number, Fault::LoseLease));
    }
    losses
        .into_iter()
        .map(|loss| Schedule([loss].into()))
        .collect()
}
