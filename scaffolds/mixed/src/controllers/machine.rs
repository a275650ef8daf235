//! A thing whose id the other system chooses: if the answer to a creation is lost, the [`Machine`] stops with the reason
//! `CreationUncertain` until a person sets the id or says that nothing was created.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use operator_runtime::{
    Context, Created, Error, External, ExternalOptions, Identity, Result, Setup, State, Status,
};
use tokio::time::Instant;

use crate::api::machine::v1::Machine;

/// A cloud in memory: the cores of machines by their ids.
#[derive(Default)]
pub struct Cloud {
    machines: Mutex<BTreeMap<String, i32>>,
    /// Whether the answers to creations are lost.
    pub loses_answers: AtomicBool,
    /// How many calls it permits in a second, if it limits them.
    pub limit: OnceLock<usize>,
    /// When the calls of the last second were made.
    recent: Mutex<Vec<Instant>>,
    /// How many calls it has refused.
    pub refused: AtomicUsize,
}

const SECOND: Duration = Duration::from_secs(1);

impl Cloud {
    pub fn machines(&self) -> MutexGuard<'_, BTreeMap<String, i32>> {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, or refuses it because of the limit.
    fn admit(&self) -> Result<()> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        recent.retain(|time| now - *time < SECOND);
        if self.limit.get().is_some_and(|limit| recent.len() >= *limit) {
            self.refused.fetch_add(1, Relaxed);
            let error = anyhow::anyhow!("429 Too Many Requests");
            return Err(Error::throttled(SECOND, error));
        }
        recent.push(now);
        Ok(())
    }
}

pub async fn setup(setup: Setup) -> Result<MachineProvider> {
    let cloud = setup.shared();
    Ok(MachineProvider { cloud })
}

pub struct MachineProvider {
    cloud: Arc<Cloud>,
}

impl External for MachineProvider {
    type Resource = Machine;
    type Observed = i32;
    const FINALIZER: &'static str = "programs.example.com/mixed";

    fn identity(&self, _: &Machine) -> Result<Identity> {
        Ok(Identity::Assigned)
    }

    async fn observe(&self, _: &Machine, id: &str, _: &Context) -> Result<Option<i32>> {
        self.cloud.admit()?;
        Ok(self.cloud.machines().get(id).copied())
    }

    async fn create(&self, machine: &Machine, _: &str, _: &Context) -> Result<Created> {
        if let Err(refusal) = self.cloud.admit() {
            return Ok(Created::refused(refusal));
        }
        let mut machines = self.cloud.machines();
        let mut ids = (1..).map(|number| format!("i-{number:04}"));
        let id = ids.find(|id| !machines.contains_key(id));
        let id = id.unwrap_or_default();
        machines.insert(id.clone(), machine.spec.cores);
        if self.cloud.loses_answers.load(Relaxed) {
            return Err(anyhow::anyhow!("connection reset by the cloud").into());
        }
        Ok(Created::id(id))
    }

    async fn update(&self, machine: &Machine, id: &str, _: &i32, _: &Context) -> Result<()> {
        self.cloud.admit()?;
        let mut machines = self.cloud.machines();
        machines.insert(id.to_owned(), machine.spec.cores);
        Ok(())
    }

    async fn delete(&self, _: &Machine, id: &str, _: &Context) -> Result<()> {
        self.cloud.admit()?;
        self.cloud.machines().remove(id);
        Ok(())
    }

    fn difference(&self, machine: &Machine, cores: &i32) -> Result<Option<String>> {
        let wanted = machine.spec.cores;
        Ok((wanted != *cores).then(|| format!("it has {cores} cores instead of {wanted}")))
    }

    fn status(&self, machine: &Machine, state: &State<i32>) -> Result<Status<Machine>> {
        let mut status = machine.status.clone().unwrap_or_default();
        status.id = state.id().map(str::to_owned);
        let conditions = status.conditions.get_or_insert_default();
        state.set_conditions(conditions, machine.metadata.generation)?;
        Ok(Status::new(status))
    }

    /// The cloud allows two requests a second, and is observed every five minutes.
    fn options(&self) -> ExternalOptions {
        ExternalOptions::default()
            .poll(Duration::from_secs(300))
            .rate(2.0, 10)
    }
}
