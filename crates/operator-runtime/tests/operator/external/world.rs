//! The other system of the tests, and the provider of its things.

use super::*;

/// A thing of the other system.
#[derive(Clone, Debug, PartialEq)]
pub struct Thing {
    pub size: i32,
    pub tag: String,
}

/// The other system. Clones share it.
#[derive(Clone, Default)]
pub struct World(pub Arc<Things>);

#[derive(Default)]
pub struct Things {
    things: Mutex<BTreeMap<String, Thing>>,
    /// The ids that were returned for client tokens.
    tokens: Mutex<BTreeMap<String, String>>,
    /// The calls that change something.
    changes: Mutex<Vec<String>>,
    pub refuses: AtomicBool,
    /// The next creation has its effect after it has failed, and later ones are refused.
    pub is_late: AtomicBool,
    pub rejects_updates: AtomicBool,
    /// The creation of a thing that exists updates it, and an observation returns a state that was read a while ago.
    pub is_eventual: AtomicBool,
    /// The number of calls that it answers; it answers all if this is `None`.
    pub calls_left: Mutex<Option<u32>>,
    /// Observations fail.
    pub is_unobservable: AtomicBool,
    /// Observations for a widget with the way `shared held` take until this ends.
    pub is_held: AtomicBool,
    /// One of these observations waits.
    pub is_waiting: AtomicBool,
}

impl World {
    pub fn things(&self) -> MutexGuard<'_, BTreeMap<String, Thing>> {
        self.0.things.lock().unwrap()
    }

    pub fn changes(&self) -> Vec<String> {
        self.0.changes.lock().unwrap().clone()
    }

    pub fn changed(&self, change: String) {
        self.0.changes.lock().unwrap().push(change);
    }

    /// Refuses a call when no calls are left.
    fn admit(&self) -> Result<()> {
        match &mut *self.0.calls_left.lock().unwrap() {
            Some(0) => {
                let after = Duration::from_secs(1);
                Err(Error::throttled(
                    after,
                    anyhow::anyhow!("429 Too Many Requests"),
                ))
            }
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    pub fn add(&self, id: &str, size: i32) {
        let tag = String::new();
        self.things().insert(id.to_owned(), Thing { size, tag });
    }
}

/// A provider that reads the identity of a Widget from its `way`.
pub struct Remote(pub World, pub ExternalOptions);

impl External for Remote {
    type Resource = Widget;
    type Observed = Thing;
    const FINALIZER: &'static str = FINALIZER;

    fn identity(&self, widget: &Widget) -> Result<Identity> {
        let way = widget.spec.way.as_deref().unwrap_or_default();
        Ok(match way.split(' ').next().unwrap_or_default() {
            "token" => Identity::Token,
            "lookup" => Identity::Lookup,
            "assigned" => Identity::Assigned,
            "unnamed" => Identity::Name(" ".into()),
            "shared" => Identity::Name("shared".into()),
            _ => Identity::Name(widget.name_any()),
        })
    }

    async fn find(&self, _: &Widget, tag: &str, _: &Context) -> Result<Vec<String>> {
        let things = self.0.things();
        let found = things.iter().filter(|(_, thing)| thing.tag == tag);
        Ok(found.map(|(id, _)| id.clone()).collect())
    }

    async fn observe(&self, widget: &Widget, id: &str, _: &Context) -> Result<Option<Thing>> {
        assert!(!id.trim().is_empty());
        self.0.admit()?;
        if self.0.0.is_unobservable.load(SeqCst) {
            return Err(anyhow::anyhow!("no connection").into());
        }
        let thing = self.0.things().get(id).cloned();
        while widget.spec.way.as_deref() == Some("shared held") && self.0.0.is_held.load(SeqCst) {
            self.0.0.is_waiting.store(true, SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if self.0.0.is_eventual.load(SeqCst) {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(thing)
    }

    async fn create(&self, widget: &Widget, key: &str, _: &Context) -> Result<Created> {
        let world = &self.0;
        if let Err(error) = world.admit() {
            return Ok(Created::refused(error));
        }
        if widget.spec.way.as_deref() == Some("assigned nothing") {
            return Ok(Created::id(""));
        }
        if world.0.is_late.swap(false, SeqCst) {
            world.0.refuses.store(true, SeqCst);
            let (world, name) = (world.clone(), widget.name_any());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(500)).await;
                world.add(&name, 1);
            });
            return Err(anyhow::anyhow!("no answer").into());
        }
        if world.0.refuses.load(SeqCst) {
            return Ok(Created::refused(anyhow::anyhow!("the quota is used up")));
        }
        let count = world.changes().len();
        let id = match self.identity(widget)? {
            Identity::Name(name)
                if world.things().contains_key(&name) && !world.0.is_eventual.load(SeqCst) =>
            {
                return Err(anyhow::anyhow!("{name} exists").into());
            }
            Identity::Name(name) => name,
            Identity::Token => {
                let mut tokens = world.0.tokens.lock().unwrap();
                let id = tokens.get(key).cloned();
                if let Some(id) = id {
                    return Ok(Created::id(id));
                }
                let id = format!("thing-{count}");
                tokens.insert(key.into(), id.clone());
                id
            }
            Identity::Lookup | Identity::Assigned => format!("thing-{count}"),
        };
        let thing = Thing {
            size: widget.spec.size,
            tag: key.into(),
        };
        world.things().insert(id.clone(), thing);
        world.changed(format!("create {id}"));
        Ok(Created::id(id))
    }

    fn difference(&self, widget: &Widget, thing: &Thing) -> Result<Option<String>> {
        let size = widget.spec.size;
        Ok((thing.size != size).then(|| format!("size is {}, not {size}", thing.size)))
    }

    async fn update(&self, widget: &Widget, id: &str, _: &Thing, _: &Context) -> Result<()> {
        if self.0.0.rejects_updates.load(SeqCst) {
            return Err(anyhow::anyhow!("the size is too large").into());
        }
        self.0.changed(format!("update {id}"));
        if let Some(thing) = self.0.things().get_mut(id) {
            thing.size = widget.spec.size;
        }
        Ok(())
    }

    async fn delete(&self, _: &Widget, id: &str, _: &Context) -> Result<()> {
        if self.0.things().remove(id).is_some() {
            self.0.changed(format!("delete {id}"));
        }
        Ok(())
    }

    fn is_ready(&self, thing: &Thing) -> bool {
        thing.size < 100
    }

    fn status(&self, widget: &Widget, state: &State<Thing>) -> Result<Status<Widget>> {
        let mut status = widget.status.clone().unwrap_or_default();
        let conditions = status.conditions.get_or_insert_default();
        state.set_conditions(conditions, widget.metadata.generation)?;
        Ok(Status::new(status))
    }

    fn deletion_policy(&self, widget: &Widget) -> Result<DeletionPolicy> {
        match widget.labels().get("keep") {
            Some(policy) => {
                DeletionPolicy::of_spec(&json!({ "spec": { "deletionPolicy": policy } }))
            }
            None => DeletionPolicy::of_spec(widget),
        }
    }

    fn drift_policy(&self, widget: &Widget) -> Result<DriftPolicy> {
        match widget.labels().get("report") {
            Some(_) => Ok(DriftPolicy::Report),
            None => Ok(DriftPolicy::Repair),
        }
    }

    fn options(&self) -> ExternalOptions {
        self.1
    }

    fn controller_options(&self) -> ControllerOptions<Widget> {
        ControllerOptions::default().labels("ignored!=true")
    }
}
