//! What an object loses in another version: the difference between it and what comes back.

use std::collections::BTreeSet;

use serde_json::Value;

use super::canonical::hash;
use super::error::ConversionError;
use super::item::identities;
use super::kept::{Entry, KeptStep};
use super::path::{is_list_at, is_meta, places};
use super::place::{Shown, Step, get, remove};
use super::side::Side;
use super::spoke::Spoke;

/// The comparison of an object with what comes back of its conversion.
pub(super) struct Difference<'a> {
    pub spoke: &'a Spoke,
    /// The side of the object.
    pub side: Side,
    /// The object on the other side.
    pub converted: &'a Value,
    pub entries: Vec<Entry>,
    /// The current place, with indices of list items.
    place: Vec<Step>,
    /// The current place, with identities of list items, as an entry has it.
    kept: Vec<KeptStep>,
    /// How many of the innermost parents of the current place did not come back.
    missing: usize,
}

impl<'a> Difference<'a> {
    /// The entries that have to be kept of `object`. `converted` is the object on the other side, and `back` its conversion back.
    pub fn of(
        spoke: &'a Spoke,
        side: Side,
        object: &Value,
        converted: &'a Value,
        back: &Value,
    ) -> Result<Vec<Entry>, ConversionError> {
        let mut difference = Self {
            spoke,
            side,
            converted,
            entries: Vec::new(),
            place: Vec::new(),
            kept: Vec::new(),
            missing: 0,
        };
        for name in names(object, back) {
            if !is_meta(name) {
                difference.field(name, object.get(name), back.get(name))?;
            }
        }
        Ok(difference.entries)
    }

    /// Compares a field of the object at the current place.
    fn field(
        &mut self,
        name: &str,
        original: Option<&Value>,
        back: Option<&Value>,
    ) -> Result<(), ConversionError> {
        self.place.push(Step::Field(name.to_owned()));
        self.kept.push(KeptStep::Field(name.to_owned()));
        let result = self.node(original, back);
        self.place.pop();
        self.kept.pop();
        result
    }

    /// Compares the values at the current place, and adds entries for what differs.
    fn node(
        &mut self,
        original: Option<&Value>,
        back: Option<&Value>,
    ) -> Result<(), ConversionError> {
        if original == back || self.is_lossy() {
            return Ok(());
        }
        match (original, back) {
            (Some(value @ Value::Object(_)), Some(back @ Value::Object(_))) => {
                for name in names(value, back) {
                    self.field(name, value.get(name), back.get(name))?;
                }
                Ok(())
            }
            (Some(Value::Array(items)), Some(Value::Array(returned)))
                if items.len() == returned.len() && self.keys().is_some() =>
            {
                let keys = self.keys().unwrap_or_default();
                let identities = identities(returned, &keys);
                for (index, identity) in identities.into_iter().enumerate() {
                    self.place.push(Step::Item(index));
                    self.kept.push(KeptStep::Item([identity]));
                    let result = self.node(items.get(index), returned.get(index));
                    self.place.pop();
                    self.kept.pop();
                    result?;
                }
                Ok(())
            }
            // each part on its own: some may have a place on the other side, or be declared as lossy
            (Some(value @ Value::Object(fields)), None) if self.has_parts() => {
                let before = self.entries.len();
                self.missing += 1;
                let result = fields
                    .keys()
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .try_for_each(|name| self.field(name, value.get(name), None));
                self.missing -= 1;
                result?;
                if self.entries.len() == before {
                    self.keep(Some(&Value::Object(serde_json::Map::new())), None)?;
                }
                Ok(())
            }
            // rules created this object on the way back: its hash is kept, so that it is removed again as long as it is the same
            (None, Some(back @ Value::Object(_))) => self.keep(None, Some(hash(back))),
            (original, _) => self.keep(original, None),
        }
    }

    /// Adds an entry for the current place.
    fn keep(
        &mut self,
        value: Option<&Value>,
        instead: Option<String>,
    ) -> Result<(), ConversionError> {
        if value.is_some_and(|value| self.is_sensitive(value)) {
            return Err(ConversionError::Sensitive {
                version: self.spoke.versions.of(self.side).clone(),
                field: Shown(&self.place).to_string(),
            });
        }
        let entry = Entry {
            path: self.kept.clone(),
            create: self.missing,
            value: value.cloned(),
            instead,
            wrote: None,
            hash: None,
        };
        let counterparts = self.spoke.counterparts(&self.place, self.side);
        let written = counterparts
            .as_ref()
            .and_then(|it| self.spoke.written(self.converted, it, self.side.other()));
        let sensitive = self.spoke.sensitive.of(self.side.other());
        let is_secret = counterparts.iter().flatten().any(|place| {
            sensitive
                .iter()
                .any(|it| it.bindings(place).is_some() || it.below(place).is_some())
        });
        self.entries.push(entry.wrote(written, is_secret));
        Ok(())
    }

    /// The keys of the list at the current place; `None` if no rule is about its items.
    fn keys(&self) -> Option<Vec<String>> {
        self.spoke.keys(&self.place, self.side)
    }

    fn is_lossy(&self) -> bool {
        let mut lossy = self.spoke.lossy.of(self.side).iter();
        lossy.any(|path| path.is_at(&self.place))
    }

    /// Whether rules are about parts of the current place.
    fn has_parts(&self) -> bool {
        let rules = self
            .spoke
            .rules
            .iter()
            .flat_map(|rule| rule.paths.of(self.side));
        let only = self.spoke.only.of(self.side).iter();
        rules
            .chain(only)
            .chain(self.spoke.lossy.of(self.side))
            .any(|path| path.below(&self.place).is_some())
    }

    fn is_sensitive(&self, value: &Value) -> bool {
        self.spoke.sensitive.of(self.side).iter().any(|path| {
            let below = path.below(&self.place);
            path.bindings(&self.place).is_some()
                || below.is_some_and(|below| !places(below, value).is_empty())
        })
    }
}

impl Spoke {
    /// The value at the places of a side, without the parts that other rules are about; a list of values if there are several places.
    pub(super) fn written(
        &self,
        object: &Value,
        places: &[Vec<Step>],
        side: Side,
    ) -> Option<Value> {
        match places {
            [place] => self.own(object, place, side),
            places => {
                let values = places.iter().map(|place| self.own(object, place, side));
                let values: Vec<Value> = values.map(Option::unwrap_or_default).collect();
                Some(Value::Array(values))
            }
        }
    }

    /// The value at a place, without the parts that other rules are about.
    fn own(&self, object: &Value, place: &[Step], side: Side) -> Option<Value> {
        let mut value = get(object, place)?.clone();
        let rules = self.rules.iter().flat_map(|rule| rule.paths.of(side));
        for path in rules.chain(self.only.of(side)) {
            if let Some(below) = path.below(place) {
                for place in places(below, &value) {
                    remove(&mut value, &place);
                }
            }
        }
        Some(value)
    }

    /// The keys of the list at a place of a side; `None` if no rule of either side is about its items.
    pub(super) fn keys(&self, place: &[Step], side: Side) -> Option<Vec<String>> {
        self.keys_of(place, side)
            .or_else(|| match &self.counterparts(place, side)?[..] {
                [place] => self.keys_of(place, side.other()),
                _ => None,
            })
    }

    fn keys_of(&self, place: &[Step], side: Side) -> Option<Vec<String>> {
        let rules = self.rules.iter().flat_map(|rule| rule.paths.of(side));
        let defaults = self.defaults.of(side).iter().map(|(path, _)| path);
        let supplies = self.supplies.of(side).iter().map(|(path, _)| path);
        let paths = rules
            .chain(self.only.of(side))
            .chain(self.nulls.of(side))
            .chain(self.lossy.of(side))
            .chain(self.sensitive.of(side))
            .chain(defaults)
            .chain(supplies);
        paths
            .flat_map(|path| path.lists())
            .filter(|(list, _)| is_list_at(list, place))
            .map(|(_, keys)| keys.to_vec())
            .max_by_key(Vec::len)
    }
}

/// The names of the fields that at least one of the objects has.
fn names<'v>(a: &'v Value, b: &'v Value) -> BTreeSet<&'v String> {
    let fields = [a, b].into_iter().filter_map(Value::as_object);
    fields.flat_map(|fields| fields.keys()).collect()
}
