//! The place of an object's records: its annotations, or a field of its status.

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

/// The records to write; `None` removes one.
pub(super) type Changes = BTreeMap<Entry, Option<String>>;

const ENTRIES: [Entry; 2] = [Entry::Handled, Entry::Progress];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    Handled,
    Progress,
}

/// The place of the records of a controller.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// The prefix of the names of the annotations.
    prefix: String,
    /// The prefix of the keys in the field of the status.
    inner_prefix: String,
    field: Option<Arc<Field>>,
}

/// A field of the status.
#[derive(Debug)]
struct Field {
    name: String,
    /// Whether the last write has shown that the schema or the Rust type lacks the field, so that annotations are used.
    is_missing: AtomicBool,
    /// Whether a write has shown that the Rust type has the field.
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
    /// The place of the records of a controller. A controller with a name has its own, because others of the same kind may exist.
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
        self.field
            .as_deref()
            .filter(|it| !it.is_missing.load(Relaxed))
    }

    /// Whether the records are kept in annotations.
    pub fn uses_annotations(&self) -> bool {
        self.field().is_none()
    }

    /// The records of an object as text, each with its place for messages. If there are annotations, the status is not read: annotations
    /// are written only if the status lacks the field, and are removed once it has it.
    pub fn texts(
        &self,
        object: &impl Object,
    ) -> serde_json::Result<BTreeMap<Entry, (String, String)>> {
        let texts: BTreeMap<_, _> = ENTRIES
            .into_iter()
            .filter_map(|entry| {
                let name = self.annotation(entry);
                let text = object.annotations().get(&name)?.clone();
                Some((entry, (format!("the annotation {name}"), text)))
            })
            .collect();
        let Some(field) = self.field.as_deref().filter(|_| texts.is_empty()) else {
            return Ok(texts);
        };
        let status = status_field(object, &field.name)?;
        let of_status = ENTRIES.into_iter().filter_map(|entry| {
            let text = status[self.key(entry)].as_str()?.to_owned();
            let place = format!("{} in status.{}", entry.name(), field.name);
            Some((entry, (place, text)))
        });
        Ok(of_status.collect())
    }

    /// The name of an entry in the field of the status.
    fn key(&self, entry: Entry) -> String {
        format!("{}{}", self.inner_prefix, entry.name())
    }

    /// Writes records. Returns `false` if the object was deleted, even if another one has its name now.
    pub async fn write<K: Object>(
        &self,
        object: &K,
        cx: &Context,
        mut changes: Changes,
    ) -> Result<bool> {
        if self.field.is_some() {
            // also write the record that does not change, so that both are in one place
            for (entry, (_, text)) in self.texts(object)? {
                changes.entry(entry).or_insert(Some(text));
            }
        }
        if let Some(field) = self.field() {
            if self.write_status(field, object, cx, &changes).await? {
                let old = ENTRIES.map(|entry| self.annotation(entry));
                let has_old = old.iter().any(|it| object.annotations().contains_key(it));
                if cx.is_gone() || !has_old {
                    return Ok(!cx.is_gone());
                }
                let removed = old.into_iter().map(|name| (name, None)).collect();
                return cx.annotate(object, removed, Precondition::Uid).await;
            }
            let note = format!(
                "the handlers cannot record their progress in status.{}: the schema needs a field of this name, of the type object, with `additionalProperties: {{type: string}}`. Annotations are used",
                field.name
            );
            warn!("{note}");
            cx.limited_event(object, EventType::Warning, "StatusFieldMissing", note)
                .await;
        }
        let annotations = changes
            .into_iter()
            .map(|(entry, text)| (self.annotation(entry), text));
        cx.annotate(object, annotations.collect(), Precondition::Uid)
            .await
    }

    /// Writes records to a field of the status. Returns `false` if the schema or the Rust type lacks the field.
    async fn write_status<K: Object>(
        &self,
        field: &Field,
        object: &K,
        cx: &Context,
        changes: &Changes,
    ) -> Result<bool> {
        let inner: serde_json::Map<String, Value> = changes
            .iter()
            .map(|(entry, text)| (self.key(*entry), json!(text)))
            .collect();
        let sets_one = inner.values().any(|text| !text.is_null());
        let status = json!({ (field.name.as_str()): inner });
        match cx.set_status(object, &status).await {
            // the field has another type in the schema, or the rest of this object's status is invalid
            Err(Error::Kube(error)) if has_code(&error, &[422]) => return Ok(false),
            written => written?,
        }
        if cx.is_gone() || !sets_one {
            return Ok(true);
        }
        let written = cx.written().clone().unwrap_or_default();
        // the API server has dropped the field if the schema lacks it
        let mut has_field = written["status"][&field.name].is_object();
        if has_field && !field.is_proven.load(Relaxed) {
            let typed: Box<K> = read(&written).map_err(serde_path_to_error::Error::into_inner)?;
            has_field = status_field(&*typed, &field.name)?.is_object();
            field.is_proven.store(has_field, Relaxed);
        }
        field.is_missing.store(!has_field, Relaxed);
        Ok(has_field)
    }
}

/// The value of a field of the status; null if the Rust type lacks the field.
fn status_field(object: &impl Object, field: &str) -> serde_json::Result<Value> {
    let mut object = serde_json::to_value(object)?;
    Ok(object["status"][field].take())
}
