//! Handlers that are only called for some objects, or for some changes.

use std::sync::Arc;

use kube::ResourceExt;
use operator_runtime::{
    Result, Setup,
    handlers::{Call, DaemonCall, Handlers, Registry, Update},
};

use crate::{api::parcel::v1::Parcel, log::Log};

pub async fn setup(setup: Setup) -> Result<ParcelHandlers> {
    Ok(ParcelHandlers {
        log: setup.shared(),
    })
}

pub struct ParcelHandlers {
    log: Arc<Log>,
}

impl Handlers for ParcelHandlers {
    type Resource = Parcel;

    fn register(&self, on: &mut Registry<Self>) {
        on.create("label-value", Self::note).label("size", "large");
        on.create("label-present", Self::note).has_label("size");
        on.create("label-absent", Self::note)
            .when(|parcel| !parcel.labels().contains_key("size"));
        on.create("label-matches", Self::note).when(|parcel| {
            let size = parcel.labels().get("size");
            size.is_some_and(|size| size.ends_with("large"))
        });
        on.create("annotation-value", Self::note)
            .annotation("stamp", "red");
        on.create("annotation-present", Self::note)
            .has_annotation("stamp");
        on.create("content-value", Self::note)
            .when(|parcel| has(parcel, "books"));
        on.create("content-present", Self::note)
            .when(|parcel| parcel.spec.content.is_some());
        on.create("both", Self::note)
            .label("size", "large")
            .annotation("stamp", "red");

        on.update("books-to-toys", Self::note_update)
            .when_changed(|old, new| old.is_some_and(|old| has(old, "books")) && has(new, "toys"));

        on.daemon("watch-books", Self::watch)
            .when(|parcel| has(parcel, "books"));
    }
}

fn has(parcel: &Parcel, content: &str) -> bool {
    parcel.spec.content.as_deref() == Some(content)
}

impl ParcelHandlers {
    async fn note(self: Arc<Self>, call: Call<Parcel>) -> Result<()> {
        let name = call.object().name_any();
        self.log.add(format!("{name} {}", call.handler()));
        Ok(())
    }

    async fn note_update(self: Arc<Self>, update: Update<Parcel>) -> Result<()> {
        let name = update.object().name_any();
        self.log.add(format!("{name} {}", update.handler()));
        Ok(())
    }

    /// Runs as long as the object exists and its filter accepts it.
    async fn watch(self: Arc<Self>, daemon: DaemonCall<Parcel>) -> Result<()> {
        let name = daemon.object().name_any();
        self.log.add(format!("{name} watch-books begins"));
        daemon.stopped().await;
        self.log.add(format!("{name} watch-books ends"));
        Ok(())
    }
}
