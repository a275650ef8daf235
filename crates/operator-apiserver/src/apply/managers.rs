//! The owners of an object's fields: reads [`metadata.managedFields`] into sets, and writes the sets back.
//!
//! [`metadata.managedFields`]: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::set::FieldSet;
use crate::model::json::items;
use crate::model::metadata;

/// The identity of an entry of `managedFields`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerId {
    /// The name of the field manager.
    pub name: String,
    pub operation: Operation,
    /// The `apiVersion`; empty for applies, because a manager has one entry for applies in all versions.
    pub api_version: String,
    pub subresource: String,
}

/// The operation of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Apply,
    Update,
}

/// The fields of one entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Owned {
    pub fields: FieldSet,
    pub api_version: String,
    /// The time of the last change of the set.
    pub time: Option<String>,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Managers(pub BTreeMap<ManagerId, Owned>);

impl ManagerId {
    /// Formats the manager as in conflicts.
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == Operation::Update {
            text += &format!(" using {}", self.api_version);
        }
        text
    }
}

impl Managers {
    /// Reads `managedFields`. Returns `None` if an entry does not have the format that the server writes.
    pub fn read(entries: &Value) -> Option<Self> {
        let mut managers = Self::default();
        for entry in items(entries) {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            let operation = match text("operation").as_str() {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let api_version = text("apiVersion");
            if api_version.is_empty() || text("fieldsType") != "FieldsV1" {
                return None;
            }
            let id = ManagerId {
                name: text("manager"),
                operation,
                api_version: match operation {
                    Operation::Apply => String::new(),
                    Operation::Update => api_version.clone(),
                },
                subresource: text("subresource"),
            };
            let fields = FieldSet::from_fields(&entry["fieldsV1"])?;
            let time = entry["time"].as_str().map(str::to_owned);
            managers.0.insert(
                id,
                Owned {
                    fields,
                    api_version,
                    time,
                },
            );
        }
        Some(managers)
    }

    /// Whether the serialized entries are equal, apart from times.
    pub fn is_same(&self, other: &Self) -> bool {
        let alike = |(a, x): (&ManagerId, &Owned), (b, y): (&ManagerId, &Owned)| {
            (&a.name, a.operation, &a.subresource) == (&b.name, b.operation, &b.subresource)
                && (&x.fields, &x.api_version) == (&y.fields, &y.api_version)
        };
        let has = |one| other.0.iter().any(|another| alike(one, another));
        self.0.len() == other.0.len() && self.0.iter().all(has)
    }

    /// Merges the oldest updates of a version into one entry if there are too many.
    pub fn cap(&mut self) {
        const MOST: usize = 10;
        let is_update = |id: &&ManagerId| id.operation == Operation::Update;
        let mut updaters: Vec<ManagerId> = self.0.keys().filter(is_update).cloned().collect();
        let mut excess = updaters.len().saturating_sub(MOST);
        updaters.sort_by_key(|id| {
            (
                self.0.get(id).and_then(|owned| owned.time.clone()),
                id.clone(),
            )
        });
        let mut first: BTreeMap<String, ManagerId> = BTreeMap::new();
        for id in updaters {
            if excess == 0 {
                break;
            }
            let bucket = ManagerId {
                name: "ancient-changes".to_owned(),
                subresource: String::new(),
                ..id.clone()
            };
            let Some(first) = first.get(&id.api_version) else {
                first.insert(id.api_version.clone(), id);
                continue;
            };
            let older = self.0.remove(&bucket).or_else(|| self.0.remove(first));
            if let (Some(older), Some(mut owned)) = (older, self.0.remove(&id)) {
                owned.fields = owned.fields.union(&older.fields);
                self.0.insert(bucket, owned);
                excess -= 1;
            }
        }
    }

    /// The value of `managedFields`; null if nobody owns a field.
    pub fn write_or_null(&self) -> Value {
        if self.0.is_empty() {
            Value::Null
        } else {
            self.write()
        }
    }

    /// The value of `managedFields` in the server's order: applies first, then by time and name.
    fn write(&self) -> Value {
        let mut entries: Vec<(&ManagerId, &Owned)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            (
                a.operation,
                &x.time,
                &a.name,
                &x.api_version,
                &a.subresource,
            )
                .cmp(&(
                    b.operation,
                    &y.time,
                    &b.name,
                    &y.api_version,
                    &b.subresource,
                ))
        });
        let entries = entries.into_iter().map(|(id, owned)| {
            let mut entry = Map::new();
            let operation = match id.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            };
            if !id.name.is_empty() {
                entry.insert("manager".into(), id.name.as_str().into());
            }
            entry.insert("operation".into(), operation.into());
            entry.insert("apiVersion".into(), owned.api_version.as_str().into());
            if let Some(time) = &owned.time {
                entry.insert("time".into(), time.as_str().into());
            }
            entry.insert("fieldsType".into(), "FieldsV1".into());
            entry.insert("fieldsV1".into(), owned.fields.to_fields());
            if !id.subresource.is_empty() {
                entry.insert("subresource".into(), id.subresource.as_str().into());
            }
            Value::Object(entry)
        });
        Value::Array(entries.collect())
    }
}

pub(crate) fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    metadata::set(&mut object, "managedFields", Value::Null);
    object
}
