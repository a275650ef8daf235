//! Restores kept values in an object that comes back to the version that had them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::canonical::{hash, is_same};
use super::error::ConversionError;
use super::item::{Identity, identities};
use super::kept::{Entry, KeptStep};
use super::path::is_meta;
use super::place::{self, Step, get};
use super::side::Side;
use super::spoke::Spoke;

/// Restores the values of `entries` in `converted`, which was converted to `side` from `source`. Returns the result, and its conversion
/// back.
///
/// Values of fields that were edited since, and of items that were removed, are ignored. So are values that do not lead back to what
/// `source` has in their place: somebody has edited the annotation, which must neither contradict the object nor make its conversion fail.
pub(super) fn restore(
    spoke: &Spoke,
    side: Side,
    converted: Value,
    source: &Value,
    entries: &[Entry],
) -> Result<(Value, Value), ConversionError> {
    let other = side.other();
    let mut items = Items {
        spoke,
        side,
        converted,
        identities: BTreeMap::new(),
    };
    let mut values: Vec<Candidate<'_>> = Vec::new();
    for entry in entries {
        let Some(place) = items.find(entry) else {
            continue;
        };
        let counterparts = spoke.counterparts(&place, side);
        let places = counterparts.as_deref();
        let written = places.map(|places| spoke.written(source, places, other));
        let is_unedited = |written: &Option<Value>| entry.is_unedited(written.as_ref());
        if written.as_ref().is_none_or(is_unedited) {
            values.push(Candidate {
                entry,
                place,
                counterparts,
            });
        }
    }
    let converted = items.converted;
    // a value may depend on another one that is dropped, so the rest is tried again; but thousands of values must not take thousands of
    // rounds
    const ROUNDS: usize = 3;
    let mut round = 0;
    loop {
        round += 1;
        let mut object = converted.clone();
        for value in &values {
            value.set(&mut object, &converted);
        }
        let count = values.len();
        match spoke.plain(&object, other) {
            Ok(back) => {
                values.retain(|it| it.leads_back(spoke, other, &back, source));
                if values.len() == count {
                    return Ok((object, back));
                }
                if round == ROUNDS {
                    values.clear();
                }
            }
            Err(error) if values.is_empty() => return Err(error),
            Err(_) => values.clear(),
        }
    }
}

/// A value that is restored if it leads back.
struct Candidate<'a> {
    entry: &'a Entry,
    place: Vec<Step>,
    /// The places on the other side where it is written; `None` if there are none.
    counterparts: Option<Vec<Vec<Step>>>,
}

impl Candidate<'_> {
    fn set(&self, object: &mut Value, converted: &Value) {
        match &self.entry.value {
            None => {
                let found = get(converted, &self.place);
                let is_the_same = |instead: &String| found.map(hash).as_ref() == Some(instead);
                if self.entry.instead.as_ref().is_none_or(is_the_same) {
                    place::remove(object, &self.place);
                }
            }
            Some(value) => merge(object, &self.place, value),
        }
    }

    /// Whether `back`, the conversion back, has the same in the place of the value as `source`.
    fn leads_back(&self, spoke: &Spoke, other: Side, back: &Value, source: &Value) -> bool {
        self.counterparts.as_ref().is_none_or(|places| {
            let of = |object| spoke.written(object, places, other);
            is_same(of(back).as_ref(), of(source).as_ref())
        })
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
    /// The place of an entry; `None` if its parent was removed, or has another type now.
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

/// Sets a value. If both are objects, adds its fields to those of the existing one.
fn merge(object: &mut Value, place: &[Step], value: &Value) {
    if let Some(existing) = place::get_mut(object, place) {
        merge_into(existing, value);
    } else {
        // cannot fail: only parents that are objects are missing
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
