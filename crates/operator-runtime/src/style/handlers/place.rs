//! Where the records of an object are: in annotations, or in a field of its status.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use kube::{ResourceExt, runtime::events::EventType};
use serde_json::{Value, json};
use tracing::warn;

use crate::{
    Context, Error, Result, context::Precondition, engine::decode::read, error::has_code,
    style::Object,
};

/// Texts to set, or to remove.
pub(super) type Changes = BTreeMap<Entry, Option<String>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    Handled,
    Progress,
}

/// The place of the records of a controller.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Before the name of an annotation.
    prefix: String,
    /// Before the name in the field of the status.
    inner_prefix: String,
    field: Option<Arc<Field>>,
}

/// A field of the status.
#[derive(Debug)]
struct Field {
    name: String,
    /// Whether the schema or the type turned out to have no room, so that annotations are used.
    is_missing: AtomicBool,
    /// Whether a write has shown that there is room.
    is_proven: AtomicBool,
}

impl Entry {
    fn name(self) -> &'static str {
        match self {
            Self::Handled => "handled",
            Self::Progress => "progress",
        }
    }
}

impl Place {
    /// The place of a controller; one that has a name does not share it with others of its kind.
    pub fn of(operator: &str, controller: Option<&str>, status: Option<&str>) -> Self {
        let inner_prefix = controller.map_or_else(String::new, |it| format!("{it}."));
        Self {
            prefix: format!("{operator}/{inner_prefix}"),
            inner_prefix,
            field: status.map(|name| {
                Arc::new(Field {
                    name: name.to_owned(),
                    is_missing: AtomicBool::new(false),
                    is_proven: AtomicBool::new(false),
                })
            }),
        }
    }

    /// The name of an annotation.
    pub fn annotation(&self, entry: Entry) -> String {
        format!("{}{}", self.prefix, entry.name())
    }

    /// The field of the status that is used.
    fn field(&self) -> Option<&Field> {
        let field = self.field.as_deref();
        field.filter(|it| !it.is_missing.load(Relaxed))
    }

    /// Whether records are annotations.
    pub fn is_annotations(&self) -> bool {
        self.field().is_none()
    }

    /// The texts of an object, with their places for messages. Those of the status win.
    pub fn texts(
        &self,
        object: &impl Object,
    ) -> serde_json::Result<BTreeMap<Entry, (String, String)>> {
        let mut texts = BTreeMap::new();
        for entry in [Entry::Handled, Entry::Progress] {
            let name = self.annotation(entry);
            if let Some(text) = object.annotations().get(&name) {
                texts.insert(entry, (format!("the annotation {name}"), text.clone()));
            }
        }
        if let Some(field) = &self.field {
            let status = status_field(object, &field.name)?;
            let inner =
                |entry: Entry| status[format!("{}{}", self.inner_prefix, entry.name())].as_str();
            let of_status: Vec<_> = [Entry::Handled, Entry::Progress]
                .into_iter()
                .filter_map(|entry| Some((entry, inner(entry)?.to_owned())))
                .collect();
            if !of_status.is_empty() {
                texts.clear();
            }
            for (entry, text) in of_status {
                texts.insert(
                    entry,
                    (format!("{} in status.{}", entry.name(), field.name), text),
                );
            }
        }
        Ok(texts)
    }

    /// Writes records. Returns whether the object is still there and what it was.
    pub async fn write<K: Object>(
        &self,
        object: &K,
        cx: &Context,
        changes: Changes,
    ) -> Result<bool> {
        if let Some(field) = self.field() {
            if self.write_status(field, object, cx, &changes).await? {
                let old = [Entry::Handled, Entry::Progress].map(|entry| self.annotation(entry));
                let has_old = old.iter().any(|it| object.annotations().contains_key(it));
                // all is recorded in the status now
                if cx.is_gone() || !has_old || !changes.contains_key(&Entry::Handled) {
                    return Ok(!cx.is_gone());
                }
                let removed = old.into_iter().map(|name| (name, None)).collect();
                return cx.annotate(object, removed, Precondition::Uid).await;
            }
            field.is_missing.store(true, Relaxed);
            let note = format!(
                "the handlers cannot record their progress in status.{}: the schema needs a field of this name, of the type object, with `additionalProperties: {{type: string}}`. Annotations are used",
                field.name
            );
            warn!("{note}");
            cx.event(object, EventType::Warning, "StatusFieldMissing", note)
                .await;
        }
        let annotations = changes.into_iter();
        let annotations = annotations.map(|(entry, text)| (self.annotation(entry), text));
        cx.annotate(object, annotations.collect(), Precondition::Uid)
            .await
    }

    /// Returns whether the status has room for it, or the object is gone.
    async fn write_status<K: Object>(
        &self,
        field: &Field,
        object: &K,
        cx: &Context,
        changes: &Changes,
    ) -> Result<bool> {
        let inner = changes.iter().map(|(entry, text)| {
            (
                format!("{}{}", self.inner_prefix, entry.name()),
                json!(text),
            )
        });
        let inner: serde_json::Map<String, Value> = inner.collect();
        let sets_one = inner.values().any(|text| !text.is_null());
        let status = json!({ (field.name.as_str()): inner });
        match cx.set_status(object, &status).await {
            // a field of another type
            Err(Error::Kube(error)) if has_code(&error, &[422]) => return Ok(false),
            written => written?,
        }
        if cx.is_gone() || !sets_one || field.is_proven.load(Relaxed) {
            return Ok(true);
        }
        let Some(written) = cx.written().clone() else {
            return Ok(false);
        };
        let written: Box<K> = read(&written).map_err(|error| error.into_inner())?;
        let has_room = status_field(&*written, &field.name)?.is_object();
        field.is_proven.store(has_room, Relaxed);
        Ok(has_room)
    }
}

/// A field of the status, as the type of the kind knows it.
fn status_field(object: &impl Object, field: &str) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(object)?;
    Ok(object["status"][field].take())
}
