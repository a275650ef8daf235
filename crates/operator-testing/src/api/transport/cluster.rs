//! The state of the server, and the controllers that change it besides clients.

#[cfg(feature = "workloads")]
use tokio::time::Instant;

use crate::api::store::state::State;
#[cfg(feature = "workloads")]
use crate::api::workload::{Controllers, Memory, Workloads};

/// A server's state, with the controllers of workloads if they are switched on.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub state: State,
    #[cfg(feature = "workloads")]
    memory: Option<Memory>,
}

impl Cluster {
    pub fn new() -> Self {
        Self {
            state: State::new(),
            #[cfg(feature = "workloads")]
            memory: None,
        }
    }

    /// Does something when all that is due by now is done, and what follows from it.
    pub fn settled<T>(&mut self, act: impl FnOnce(&mut State) -> T) -> T {
        #[cfg(feature = "workloads")]
        self.advance();
        let result = act(&mut self.state);
        if self.state.unsettled {
            self.state.settle_dependents();
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
    /// Switches the controllers of workloads on, which begin with all that is there.
    pub fn start_controllers(&mut self, settings: Workloads) {
        self.memory = Some(Memory::new(settings));
        if let Some(mut controllers) = self.controllers() {
            controllers.begin();
        }
    }

    /// Does what is due by now, each at its time; when there is more to do.
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
