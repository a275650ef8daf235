//! Everything at once: all causes, sub-handlers, a result, a timer, a daemon, events of the watch and an index.

use std::{sync::Arc, time::Duration};

use kube::ResourceExt;
use operator_runtime::{
    EventType, Result, Setup,
    handlers::{Call, DaemonCall, FieldUpdate, Handlers, Index, Registry, Update, WatchEvent},
};

use crate::{api::garden::v1::Garden, log::Log};

pub async fn setup(setup: Setup) -> Result<GardenHandlers> {
    Ok(GardenHandlers {
        log: setup.shared(),
        by_plant: Index::default(),
    })
}

pub struct GardenHandlers {
    log: Arc<Log>,
    by_plant: Index<String, String>,
}

impl Handlers for GardenHandlers {
    type Resource = Garden;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/mixed");

    fn register(&self, on: &mut Registry<Self>) {
        on.index(&self.by_plant, |garden| {
            let plants = garden.spec.plants.clone().into_iter();
            let name = garden.name_any();
            plants.map(move |plant| (plant, name.clone()))
        });
        on.create("plant", Self::plant).result("planted");
        on.resume("inspect", Self::inspect);
        on.update("tidy", Self::tidy);
        on.field("water", |garden| garden.spec.watered, Self::water);
        on.delete("clear", Self::clear);
        on.deleted("forget", Self::forget);
        on.timer("grow", Duration::from_secs(600), Self::grow)
            .delay(Duration::from_millis(100));
        on.daemon("watch", Self::watch);
        on.event("seen", Self::seen).label("public", "yes");
    }
}

impl GardenHandlers {
    /// Each plant is a sub-handler.
    async fn plant(self: Arc<Self>, call: Call<Garden>) -> Result<usize> {
        let plants = &call.object().spec.plants;
        for plant in plants {
            let planted = async |call: Call<Garden>| {
                self.add(&call, &format!("{plant} is planted"));
                Ok(())
            };
            call.sub_handler(plant, planted).await?;
        }
        Ok(plants.len())
    }

    async fn inspect(self: Arc<Self>, call: Call<Garden>) -> Result<()> {
        self.add(&call, "is inspected");
        Ok(())
    }

    async fn tidy(self: Arc<Self>, update: Update<Garden>) -> Result<()> {
        let changes: Vec<&str> = update.changes().iter().map(|it| it.as_str()).collect();
        self.add(&update, &format!("has another {}", changes.join(", ")));
        Ok(())
    }

    async fn water(self: Arc<Self>, water: FieldUpdate<Garden, Option<bool>>) -> Result<()> {
        let garden = &**water.object();
        let note = format!("watered: {:?}", water.new());
        let (type_, cx) = (EventType::Normal, water.cx());
        cx.event(garden, type_, "Watered", &note).await;
        self.add(&water, &note);
        Ok(())
    }

    async fn clear(self: Arc<Self>, call: Call<Garden>) -> Result<()> {
        self.add(&call, "is cleared");
        Ok(())
    }

    async fn forget(self: Arc<Self>, call: Call<Garden>) -> Result<()> {
        self.add(&call, "is gone");
        Ok(())
    }

    async fn grow(self: Arc<Self>, call: Call<Garden>) -> Result<()> {
        let gardens = self.by_plant.get(&"rose".to_owned());
        self.add(&call, &format!("grows; roses are in {gardens:?}"));
        Ok(())
    }

    async fn watch(self: Arc<Self>, daemon: DaemonCall<Garden>) -> Result<()> {
        self.add(&daemon, "is watched");
        daemon.stopped().await;
        self.add(&daemon, "is watched no more");
        Ok(())
    }

    async fn seen(self: Arc<Self>, event: WatchEvent<Garden>) -> Result<()> {
        let name = event.object().name_any();
        self.log.add(format!("{name} was seen: {:?}", event.kind()));
        Ok(())
    }

    fn add(&self, call: &Call<Garden>, what: &str) {
        self.log.add(format!("{} {what}", call.object().name_any()));
    }
}
