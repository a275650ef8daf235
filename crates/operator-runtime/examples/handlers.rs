//! An operator whose handlers log their calls and fail as planned, as `tests/kopf/handlers.py` does. `tests/kopf/run` compares the two.
//!
//! CALL_LOG is the file for the calls, a JSON object in each line, and CALL_PLAN has the outcomes of the calls, by object and handler.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, read_to_string},
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    time::Duration,
};

use kube::{CustomResource, ResourceExt};
use operator_runtime::{
    Controllers, Error, Operator, Result, Settings, Setup,
    handlers::{
        Call, Cause, DaemonCall, EventKind, FieldUpdate, HandlerOptions, Handlers, Registry,
        Update, WatchEvent,
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Subject",
    namespaced,
    status = "SubjectStatus",
    schema = "disabled"
)]
struct SubjectSpec {
    size: Option<i64>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct SubjectStatus {
    phase: Option<String>,
}

struct Subjects {
    log: String,
    plan: String,
}

type Plan = HashMap<String, HashMap<String, Vec<String>>>;

impl Subjects {
    /// Logs a call, and returns the planned outcome.
    async fn call(
        &self,
        name: &str,
        handler: &str,
        cause: &str,
        attempt: u32,
        more: Value,
    ) -> Result<()> {
        let lines = read_to_string(&self.log).unwrap_or_default();
        let is_same = |line: &Value| line["object"] == name && line["handler"] == handler;
        let lines = lines.lines().flat_map(serde_json::from_str::<Value>);
        let count = lines.filter(is_same).count();
        let mut line =
            json!({"object": name, "handler": handler, "cause": cause, "attempt": attempt});
        if let (Some(line), Value::Object(more)) = (line.as_object_mut(), more) {
            line.extend(more);
        }
        let mut log = OpenOptions::new().create(true).append(true).open(&self.log);
        let log: &mut File = log.as_mut().map_err(|error| anyhow::anyhow!("{error}"))?;
        // in one write, because the test reads the file meanwhile
        log.write_all(format!("{line}\n").as_bytes())
            .map_err(anyhow::Error::from)?;
        let plan = File::open(&self.plan).map_err(anyhow::Error::from)?;
        let plan: Plan = serde_json::from_reader(plan)?;
        let planned = plan
            .get(name)
            .and_then(|it| it.get(handler)?.get(count))
            .map_or("ok", String::as_str);
        match planned.split_once(':').unwrap_or((planned, "0.2")) {
            ("ok", _) => Ok(()),
            ("permanent", _) => Err(Error::permanent(anyhow::anyhow!("wrong"))),
            ("temporary", delay) => {
                let delay = delay.parse().map_err(anyhow::Error::from)?;
                Err(Error::temporary(
                    Duration::from_secs_f64(delay),
                    anyhow::anyhow!("busy"),
                ))
            }
            ("other", _) => Err(anyhow::anyhow!("failed").into()),
            ("block", _) => std::future::pending().await,
            (other, _) => Err(anyhow::anyhow!("what is {other}?").into()),
        }
    }

    async fn log(&self, call: &Call<Subject>, more: Value) -> Result<()> {
        let (name, handler) = (call.object().name_any(), call.handler());
        let attempt = call.attempt() - 1;
        self.call(&name, handler, call.cause().as_str(), attempt, more)
            .await
    }

    async fn simple(self: Arc<Self>, call: Call<Subject>) -> Result<()> {
        self.log(&call, json!({})).await
    }

    async fn update(self: Arc<Self>, update: Update<Subject>) -> Result<()> {
        self.log(
            &update,
            json!({"diff": update.changes().iter().map(operator_runtime::handlers::Path::as_str).collect::<Vec<_>>()}),
        )
        .await
    }

    async fn field(self: Arc<Self>, field: FieldUpdate<Subject, Option<i64>>) -> Result<()> {
        let more = json!({"old": field.old().copied().flatten(), "new": field.new()});
        self.log(&field, more).await
    }

    async fn phase(self: Arc<Self>, phase: FieldUpdate<Subject, Option<String>>) -> Result<()> {
        let more = json!({"old": phase.old().cloned().flatten(), "new": phase.new()});
        self.log(&phase, more).await?;
        if !phase.object().labels().contains_key("ends") {
            return Ok(());
        }
        let ended = SubjectStatus {
            phase: Some("ended".into()),
        };
        phase.cx().update_status(&**phase.object(), &ended).await
    }

    async fn each(self: Arc<Self>, call: Call<Subject>) -> Result<()> {
        let items = call.object().spec.other["items"].as_array();
        for item in items.into_iter().flatten().filter_map(Value::as_str) {
            call.sub_handler(item, async |call| self.log(&call, json!({})).await)
                .await?;
        }
        Ok(())
    }

    async fn memo(self: Arc<Self>, call: Call<Subject>) -> Result<()> {
        let count = call.memo::<AtomicU32>().fetch_add(1, SeqCst) + 1;
        self.log(&call, json!({"count": count})).await
    }

    async fn recall(self: Arc<Self>, update: Update<Subject>) -> Result<()> {
        let count = update.memo::<AtomicU32>().fetch_add(1, SeqCst) + 1;
        self.log(&update, json!({"count": count})).await
    }

    async fn event(self: Arc<Self>, event: WatchEvent<Subject>) -> Result<()> {
        let kind = match event.kind() {
            EventKind::Listed => "listed",
            EventKind::Added => "added",
            EventKind::Modified => "modified",
            EventKind::Deleted => "deleted",
        };
        let name = event.object().name_any();
        self.call(&name, "event", kind, 0, json!({})).await
    }

    async fn daemon(self: Arc<Self>, daemon: DaemonCall<Subject>) -> Result<()> {
        self.log(&daemon, json!({})).await?;
        daemon.stopped().await;
        let name = daemon.object().name_any();
        self.call(&name, "daemon-end", "daemon", 0, json!({})).await
    }
}

fn size(subject: &Subject) -> i64 {
    subject.spec.size.unwrap_or_default()
}

fn phase(subject: &Subject) -> Option<String> {
    subject.status.as_ref()?.phase.clone()
}

impl Handlers for Subjects {
    type Resource = Subject;
    const FINALIZER: Option<&'static str> = Some("test.example.com/handlers");

    fn register(&self, on: &mut Registry<Self>) {
        const BACKOFF: Duration = Duration::from_millis(200);
        let soon = |options: HandlerOptions<'_, Subject>| {
            let options = options.backoff(BACKOFF);
            options.when(|subject| !subject.labels().contains_key("ignored"));
        };
        soon(on.resume("r1", Self::simple));
        soon(on.create("c1", Self::simple).attempts(4));
        soon(on.resume("r2", Self::simple));
        soon(on.create("c2", Self::simple));
        soon(on.update("u1", Self::update));
        soon(on.field("f", |subject| subject.spec.size, Self::field));
        soon(on.field("phase", phase, Self::phase));
        soon(on.update("u2", Self::update));
        soon(on.delete("d1", Self::simple));
        soon(on.delete("d2", Self::simple));
        soon(on.create("labelled", Self::simple).label("label", "yes"));
        let grown = on.update("grown", Self::update).has_annotation("grows");
        soon(grown.when_changed(|old, new| old.map_or(0, size) < size(new)));
        let each = on.create("each", Self::each);
        soon(each.when(|subject| subject.spec.other.contains_key("items")));
        soon(on.create("memo", Self::memo).label("memo", "yes"));
        soon(on.update("recall", Self::recall).label("memo", "yes"));
        let causes = [Cause::Create, Cause::Update, Cause::Resume];
        soon(on.any_of(causes, "any", Self::update).label("any", "yes"));
        on.event("event", Self::event).label("events", "yes");
        on.timer("timer", Duration::from_millis(400), Self::simple)
            .backoff(Duration::from_millis(100))
            .label("timer", "yes");
        on.timer("idle", None, Self::simple)
            .idle(Duration::from_secs(1))
            .label("idle", "yes");
        on.daemon("daemon", Self::daemon)
            .backoff(Duration::from_millis(100))
            .label("daemon", "yes");
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let variable =
        |name: &str| std::env::var(name).map_err(|_| anyhow::anyhow!("{name} is not set"));
    let (log, plan) = (variable("CALL_LOG")?, variable("CALL_PLAN")?);
    let setup = async move |_: Setup| Ok(Subjects { log, plan });
    let controllers = Controllers::new().add_handlers(setup, |watches| watches);
    let mut settings = Settings::default();
    settings.leader_election = false;
    if let Ok(filter) = std::env::var("RUST_LOG") {
        settings.log = filter;
    }
    settings.http_address = ([127, 0, 0, 1], 0).into();
    let operator = Operator::connect("handlers", settings).await?;
    operator.register(controllers).run().await
}
