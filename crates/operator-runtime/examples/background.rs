//! An operator with a timer and a daemon for each object, like `bench/background.py` with Kopf, for `bench/run background`.
//!
//! `cargo run --release -p operator-runtime --example background -- FILE`. FILE gets a line for each tick: the object and the time in
//! seconds since 1970.

use std::{
    fs::File,
    io::{LineWriter, Write},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use kube::{CustomResource, ResourceExt};
use operator_runtime::{
    Controllers, Operator, Result, Settings, Setup,
    handlers::{Call, DaemonCall, Handlers, Registry},
};
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Subject",
    namespaced,
    schema = "disabled"
)]
struct SubjectSpec {
    size: Option<i64>,
}

struct Subjects(Mutex<LineWriter<File>>);

impl Handlers for Subjects {
    type Resource = Subject;

    fn register(&self, on: &mut Registry<Self>) {
        on.timer("tick", Duration::from_secs(10), Self::tick);
        on.daemon("watch", Self::watch);
    }
}

impl Subjects {
    async fn tick(self: Arc<Self>, call: Call<Subject>) -> Result<()> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        let line = format!("{} {:.4}\n", call.object().name_any(), now.as_secs_f64());
        let mut file = self
            .0
            .lock()
            .map_err(|_| anyhow::anyhow!("the file is locked"))?;
        file.write_all(line.as_bytes())
            .map_err(anyhow::Error::from)?;
        Ok(())
    }

    async fn watch(self: Arc<Self>, daemon: DaemonCall<Subject>) -> Result<()> {
        while daemon.sleep(Duration::from_secs(60)).await {}
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_default();
    let file = Mutex::new(LineWriter::new(File::create(path)?));
    let setup = async |_: Setup| Ok(Subjects(file));
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    let mut settings = Settings::default();
    settings.leader_election = false;
    settings.http_address = ([127, 0, 0, 1], 0).into();
    let operator = Operator::connect("background", settings).await?;
    operator.register(controllers).run().await
}
