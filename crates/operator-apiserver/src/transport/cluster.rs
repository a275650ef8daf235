//! The state of the server, and the controllers that change it besides clients.

#[cfg(feature = "workloads")]
use tokio::time::Instant;

use crate::finalize::collect::settle_dependents;
use crate::store::State;
#[cfg(feature = "workloads")]
use crate::workload::{ControllerState, Controllers, Workloads};

/// A server's state, with the workload controllers if they are enabled.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub state: State,
    #[cfg(feature = "workloads")]
    memory: Option<ControllerState>,
}

impl Cluster {
    pub fn new() -> Self {
        Self {
            state: State::new(),
            #[cfg(feature = "workloads")]
            memory: None,
        }
    }

    /// Does all due work, then calls a function, and then completes the consequences of the call.
    pub fn settled<T>(&mut self, act: impl FnOnce(&mut State) -> T) -> T {
        #[cfg(feature = "workloads")]
        self.advance();
        let result = act(&mut self.state);
        if self.state.gc.is_due {
            settle_dependents(&mut self.state);
        }
        #[cfg(feature = "workloads")]
        if let Some(mut controllers) = self.controllers() {
            controllers.work();
        }
        result
    }
}

#[cfg(feature = "workloads")]
impl Cluster {
    /// Enables the workload controllers, which first reconcile all existing objects.
    pub fn start_controllers(&mut self, settings: Workloads) {
        self.memory = Some(ControllerState::new(settings));
        if let Some(mut controllers) = self.controllers() {
            controllers.begin();
        }
    }

    /// Does all due work, each part at its due time. Returns when more work will be due.
    pub fn advance(&mut self) -> Option<Instant> {
        let mut controllers = self.controllers()?;
        controllers.advance();
        controllers.memory.due()
    }

    fn controllers(&mut self) -> Option<Controllers<'_>> {
        let state = &mut self.state;
        let memory = self.memory.as_mut()?;
        Some(Controllers { state, memory })
    }
}
