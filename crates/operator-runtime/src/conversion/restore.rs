//! Restores kept values in an object that comes back to the version that had them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::canonical::hash;
use super::item::{Identity, identities};
use super::kept::{Entry, KeptStep};
use super::path::is_meta;
use super::place::{self, Step, get};
use super::side::Side;
use super::spoke::Spoke;

/// Restores the values in `object`, which was converted to `side` from `source`. Values of fields that were edited since, and of items
/// that are gone, are ignored.
pub(super) fn restore(
    spoke: &Spoke,
    side: Side,
    object: &mut Value,
    source: &Value,
    entries: &[Entry],
) {
    let mut items = Items {
        spoke,
        side,
        converted: object.clone(),
        identities: BTreeMap::new(),
    };
    for entry in entries {
        let Some(place) = items.find(entry) else {
            continue;
        };
        let counterparts = spoke.counterparts(&place, side);
        let is_unedited = counterparts.is_none_or(|places| {
            entry.is_unedited(spoke.written(source, &places, side.other()).as_ref())
        });
        if !is_unedited {
            continue;
        }
        match &entry.value {
            None => {
                let found = get(&items.converted, &place);
                let is_the_same = |instead: &String| found.map(hash).as_ref() == Some(instead);
                if entry.instead.as_ref().is_none_or(is_the_same) {
                    place::remove(object, &place);
                }
            }
            Some(value) => merge(object, &place, value),
        }
    }
}

/// Finds the places of entries in an object before values are restored in it.
struct Items<'a> {
    spoke: &'a Spoke,
    side: Side,
    converted: Value,
    identities: BTreeMap<Vec<Step>, Vec<Identity>>,
}

impl Items<'_> {
    /// The place of an entry; `None` if its parent is gone, or is not what it was.
    fn find(&mut self, entry: &Entry) -> Option<Vec<Step>> {
        let (KeptStep::Field(first), created) = (entry.path.first()?, entry.create) else {
            return None;
        };
        if is_meta(first) {
            return None;
        }
        let existing = entry.path.len().checked_sub(created + 1)?;
        let mut place = Vec::new();
        for (depth, step) in entry.path.iter().enumerate() {
            let step = match step {
                KeptStep::Field(name) => Step::Field(name.clone()),
                KeptStep::Item([identity]) => Step::Item(self.item(&place, identity)?),
            };
            let parent = get(&self.converted, &place);
            let fits = match (&step, parent) {
                (Step::Field(_), Some(Value::Object(_)))
                | (Step::Item(_), Some(Value::Array(_))) => true,
                (Step::Field(_), None) => depth > existing,
                _ => false,
            };
            fits.then_some(())?;
            place.push(step);
        }
        Some(place)
    }

    fn item(&mut self, list: &[Step], identity: &Identity) -> Option<usize> {
        if !self.identities.contains_key(list) {
            let items = get(&self.converted, list)?.as_array()?;
            let keys = self.spoke.keys(list, self.side)?;
            self.identities
                .insert(list.to_vec(), identities(items, &keys));
        }
        let identities = self.identities.get(list)?;
        identities.iter().position(|it| it == identity)
    }
}

/// Sets a value; the fields of an object are added to those of an object that is there.
fn merge(object: &mut Value, place: &[Step], value: &Value) {
    if let Some(existing) = place::get_mut(object, place) {
        merge_into(existing, value);
    } else {
        // only objects are missing on the way
        let _ = place::set(object, place, value.clone());
    }
}

fn merge_into(existing: &mut Value, value: &Value) {
    match (existing, value) {
        (Value::Object(existing), Value::Object(fields)) => {
            for (name, value) in fields {
                merge_into(existing.entry(name.as_str()).or_insert(Value::Null), value);
            }
        }
        (existing, value) => *existing = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_kept_object_is_merged_into_one_that_is_there() {
        let mut object = json!({"spec": {"a": {"new": 1}}});
        merge(
            &mut object,
            &[Step::Field("spec".into()), Step::Field("a".into())],
            &json!({"kept": {}}),
        );
        assert_eq!(object, json!({"spec": {"a": {"new": 1, "kept": {}}}}));
    }
}
