//! Two handlers for each cause, which are registered in a mixed order: those of one cause are called in the order of their registration.

use std::sync::Arc;

use operator_runtime::{
    Result, Setup,
    handlers::{Call, FieldUpdate, Handlers, Registry, Update},
};

use crate::{api::chronicle::v1::Chronicle, log::Log};

pub async fn setup(setup: Setup) -> Result<ChronicleHandlers> {
    Ok(ChronicleHandlers {
        log: setup.shared(),
    })
}

pub struct ChronicleHandlers {
    log: Arc<Log>,
}

impl Handlers for ChronicleHandlers {
    type Resource = Chronicle;
    const FINALIZER: Option<&'static str> = Some("programs.example.com/mixed");

    fn register(&self, on: &mut Registry<Self>) {
        on.resume("resume-1", Self::write);
        on.create("create-1", Self::write);
        on.resume("resume-2", Self::write);
        on.create("create-2", Self::write);
        on.update("update", Self::write_changes);
        on.delete("delete-1", Self::write);
        on.delete("delete-2", Self::write);
        on.field("title", |it| it.spec.title.clone(), Self::write_title);
    }
}

impl ChronicleHandlers {
    async fn write(self: Arc<Self>, call: Call<Chronicle>) -> Result<()> {
        self.log.add(call.handler());
        Ok(())
    }

    async fn write_changes(self: Arc<Self>, update: Update<Chronicle>) -> Result<()> {
        let changes: Vec<&str> = update.changes().iter().map(|it| it.as_str()).collect();
        self.log
            .add(format!("{}: {}", update.handler(), changes.join(", ")));
        Ok(())
    }

    async fn write_title(self: Arc<Self>, title: FieldUpdate<Chronicle, String>) -> Result<()> {
        let (old, new) = (title.old(), title.new());
        self.log
            .add(format!("{}: {old:?} -> {new:?}", title.handler()));
        Ok(())
    }
}
