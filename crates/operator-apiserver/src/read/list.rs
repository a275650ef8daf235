//! The response to a list request. Items that are returned as they are stored are serialized without a copy.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use crate::model::Kind;
use crate::model::json::entries;
use crate::store::stored::Item;

/// The response to a list request.
pub(crate) struct List {
    kind: Kind,
    metadata: Value,
    items: Vec<Item>,
}

impl List {
    pub fn new(kind: &Kind, metadata: Value, items: Vec<Item>) -> Self {
        Self {
            kind: kind.clone(),
            metadata,
            items,
        }
    }

    /// The list as a value, for other formats.
    pub fn into_value(self) -> Value {
        let items = self.items.into_iter().map(|item| match item {
            Item::Stored(object) => Value::clone(&object),
            Item::Made(object) => object,
        });
        list(&self.kind, self.metadata, items.collect())
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = list(&self.kind, self.metadata.clone(), vec![]);
        let mut fields = serializer.serialize_map(None)?;
        for (name, value) in entries(&head) {
            match name.as_str() {
                "items" => fields.serialize_entry(name, &Items(self))?,
                _ => fields.serialize_entry(name, value)?,
            }
        }
        fields.end()
    }
}

struct Items<'a>(&'a List);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_type_meta = self.0.kind.custom.is_some();
        serializer.collect_seq(self.0.items.iter().map(|item| Listed {
            object: item.object(),
            has_type_meta,
        }))
    }
}

/// An item as the list shows it.
struct Listed<'a> {
    object: &'a Value,
    has_type_meta: bool,
}

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.object.as_object() {
            Some(fields) if !self.has_type_meta => {
                let is_kept =
                    |(name, _): &(&String, &Value)| !matches!(name.as_str(), "apiVersion" | "kind");
                serializer.collect_map(fields.iter().filter(is_kept))
            }
            _ => self.object.serialize(serializer),
        }
    }
}

/// Creates a list. Only items of custom kinds have `apiVersion` and `kind`.
pub(crate) fn list(kind: &Kind, mut metadata: Value, mut items: Vec<Value>) -> Value {
    if kind.custom.is_some() {
        if metadata["continue"].is_null() {
            metadata["continue"] = "".into();
        }
    } else {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.shift_remove("apiVersion");
            item.shift_remove("kind");
        }
    }
    json!({
        "kind": kind.list_kind(),
        "apiVersion": kind.api_version(),
        "metadata": metadata,
        "items": items,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::resource::{CLUSTER_ROLES, NAMESPACES};
    use crate::store::state::State;
    use crate::store::stored;

    #[test]
    fn a_list_serializes_like_its_value() {
        let state = State::new();
        for (group, plural) in [NAMESPACES, CLUSTER_ROLES] {
            let kind = state.registry.kind(group, "v1", plural).unwrap();
            let objects = state.store.of_kind((group, plural), "");
            let items: Vec<Item> = objects
                .map(|(_, stored)| stored::item(&state.conversions, &kind, stored).unwrap())
                .collect();
            assert!(items.len() > 2 && items.iter().all(|item| matches!(item, Item::Stored(_))));
            let list = List::new(&kind, json!({"resourceVersion": "1"}), items);
            let written: Value = serde_json::to_value(&list).unwrap();
            assert_eq!(written.to_string(), list.into_value().to_string());
        }
    }
}
