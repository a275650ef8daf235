//! The conversion of an object by the rules alone: without what is kept in the annotation.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ConversionError;
use super::function::Refused;
use super::path::Path;
use super::place::{self, Shown, Step, type_of};
use super::side::Side;
use super::spoke::Spoke;

/// The index of a rule, and the steps that the `[]` and `{}` of its paths match.
type Application = (usize, Vec<Step>);

impl Spoke {
    /// Converts an object to a side. `apiVersion` stays that of the source.
    pub(super) fn plain(&self, source: &Value, to: Side) -> Result<Value, ConversionError> {
        let from = to.other();
        let mut rest = source.clone();
        self.drop_implied(&mut rest, from);
        let read = self.read(&mut rest, from);
        self.write(&mut rest, read, to)?;
        self.set_defaults(&mut rest, to);
        self.set_supplies(&mut rest, source, to)?;
        Ok(rest)
    }

    /// Removes what the other side expresses by an absent field: values that are defaults on this side only, and `null`.
    fn drop_implied(&self, rest: &mut Value, from: Side) {
        for path in self.nulls.of(from) {
            for place in path.places(rest) {
                if place::get(rest, &place).is_some_and(Value::is_null) {
                    place::remove(rest, &place);
                }
            }
        }
        let mut defaults: Vec<&(Path, Value)> = self.defaults.of(from).iter().collect();
        defaults.sort_by_key(|(path, _)| Reverse(path.len()));
        for (path, default) in defaults {
            // not within a field that a function maps: it gets the whole value
            let functions = self.rules.iter().filter(|rule| rule.functions.is_some());
            let mut sources = functions.flat_map(|rule| rule.paths.of(from));
            if sources.any(|source| source.len() < path.len() && source.covers(path)) {
                continue;
            }
            for place in path.places(rest) {
                if place::get(rest, &place) == Some(default) {
                    place::remove(rest, &place);
                }
            }
        }
    }

    /// Takes the values of all rules out of an object, and removes what the other side has no place for: the deepest first.
    fn read(&self, rest: &mut Value, from: Side) -> BTreeMap<Application, Vec<Option<Value>>> {
        let rules = self.rules.iter().enumerate().flat_map(|(rule, it)| {
            let paths = it.paths.of(from).iter().enumerate();
            paths.map(move |(index, path)| (path, Some((rule, index))))
        });
        let only = self.only.of(from).iter().map(|path| (path, None));
        let mut paths: Vec<(&Path, Option<(usize, usize)>)> = rules.chain(only).collect();
        paths.sort_by_key(|(path, _)| Reverse(path.len()));
        let mut read = BTreeMap::new();
        for (path, rule) in paths {
            for place in path.places(rest) {
                let value = place::remove(rest, &place);
                let (Some((rule, index)), Some(bindings)) = (rule, path.bindings(&place)) else {
                    continue;
                };
                let count = self.rules[rule].paths.of(from).len();
                let values: &mut Vec<Option<Value>> = read
                    .entry((rule, bindings))
                    .or_insert_with(|| vec![None; count]);
                values[index] = value;
            }
        }
        read
    }

    /// Writes the values of all rules, the outermost first. Removes what the source had at paths that have another meaning on this side.
    fn write(
        &self,
        target: &mut Value,
        read: BTreeMap<Application, Vec<Option<Value>>>,
        to: Side,
    ) -> Result<(), ConversionError> {
        let mut writes = Vec::new();
        for ((rule, bindings), values) in read {
            let rule = &self.rules[rule];
            let values = match &rule.functions {
                Some(functions) => functions.of(to)(values).map_err(|refused| {
                    let source = rule.paths.of(to.other()).get(refused.source);
                    let place = source.map(|path| path.bind(&bindings));
                    self.refused(refused, to.other(), &place.unwrap_or_default())
                })?,
                None => values,
            };
            let places = rule.paths.of(to).iter().map(|path| path.bind(&bindings));
            writes.extend(
                places
                    .zip(values)
                    .filter_map(|(place, value)| Some((place, value?))),
            );
        }
        writes.sort_by_key(|(place, _)| place.len());
        let rules = self.rules.iter().flat_map(|rule| rule.paths.of(to));
        let mut claims: Vec<&Path> = rules.chain(self.only.of(to)).collect();
        claims.sort_by_key(|path| path.len());
        let mut claims = claims.into_iter().peekable();
        for (place, value) in writes {
            while let Some(claim) = claims.next_if(|claim| claim.len() <= place.len()) {
                remove_all(claim, target);
            }
            place::set(target, &place, value).map_err(|depth| {
                let parent = &place[..depth];
                let found = place::get(target, parent).map_or("absent", type_of);
                ConversionError::Field {
                    version: self.versions.of(to).clone(),
                    field: Shown(&place).to_string(),
                    reason: format!("cannot be written, because {} is {found}", Shown(parent)),
                }
            })?;
        }
        claims.for_each(|claim| remove_all(claim, target));
        Ok(())
    }

    /// Sets the defaults that only this side has, the outer ones first.
    fn set_defaults(&self, target: &mut Value, to: Side) {
        let mut defaults: Vec<&(Path, Value)> = self.defaults.of(to).iter().collect();
        defaults.sort_by_key(|(path, _)| path.len());
        for (path, default) in defaults {
            for place in absent(path, target) {
                // cannot fail: the parent is an object
                let _ = place::set(target, &place, default.clone());
            }
        }
    }

    /// Sets the fields that are absent after all other rules, to the values that functions of the user supply.
    fn set_supplies(
        &self,
        target: &mut Value,
        source: &Value,
        to: Side,
    ) -> Result<(), ConversionError> {
        for (path, value) in self.supplies.of(to) {
            let places = absent(path, target);
            if places.is_empty() {
                continue;
            }
            let value = value(source).map_err(|refused| {
                if refused.below.is_empty() {
                    return ConversionError::Field {
                        version: self.versions.of(to).clone(),
                        field: path.to_string(),
                        reason: refused.reason,
                    };
                }
                self.refused(refused, to.other(), &[])
            })?;
            let Some(value) = value else {
                continue;
            };
            for place in places {
                let _ = place::set(target, &place, value.clone());
            }
        }
        Ok(())
    }

    /// The error for the argument of a function, which is at `place` on `side`.
    fn refused(&self, refused: Refused, side: Side, place: &[Step]) -> ConversionError {
        let field = format!("{}{}", Shown(place), refused.below);
        ConversionError::Field {
            version: self.versions.of(side).clone(),
            field: field.trim_start_matches('.').to_owned(),
            reason: refused.reason,
        }
    }

    /// The places on the other side where the value at a place of a side is written; `None` if it has no place there.
    pub(super) fn counterparts(&self, place: &[Step], side: Side) -> Option<Vec<Vec<Step>>> {
        let rules = self.rules.iter().flat_map(|rule| {
            rule.paths
                .of(side)
                .iter()
                .map(move |path| (path, Some(rule)))
        });
        let only = self.only.of(side).iter().map(|path| (path, None));
        let matching = only.chain(rules).filter_map(|(path, rule)| {
            let bindings = path.bindings(place)?;
            Some((path.len(), bindings, rule))
        });
        // without a rule, the value is copied to the same place, unless a rule of the other side is about that place
        let Some((length, bindings, rule)) = matching.max_by_key(|(length, ..)| *length) else {
            let mut claims = self
                .rules
                .iter()
                .flat_map(|rule| rule.paths.of(side.other()));
            let is_claimed = |path: &Path| path.bindings(place).is_some();
            let is_claimed_there =
                claims.any(is_claimed) || self.only.of(side.other()).iter().any(is_claimed);
            return (!is_claimed_there).then(|| vec![place.to_vec()]);
        };
        let rule = rule?;
        let mut places: Vec<Vec<Step>> = rule
            .paths
            .of(side.other())
            .iter()
            .map(|path| path.bind(&bindings))
            .collect();
        if rule.functions.is_none() {
            places
                .iter_mut()
                .for_each(|it| it.extend_from_slice(&place[length..]));
        }
        Some(places)
    }
}

fn remove_all(path: &Path, object: &mut Value) {
    for place in path.places(object) {
        place::remove(object, &place);
    }
}

/// The places where the field of a path is absent, but its parent is an object.
fn absent(path: &Path, object: &Value) -> Vec<Vec<Step>> {
    let Some(field) = path.field() else {
        return Vec::new();
    };
    let parents = path.parents(object).into_iter();
    let lacks = |parent: &Vec<Step>| {
        let fields = place::get(object, parent).and_then(Value::as_object);
        fields.is_some_and(|fields| !fields.contains_key(field))
    };
    let place = |mut parent: Vec<Step>| {
        parent.push(Step::Field(field.to_owned()));
        parent
    };
    parents.filter(lacks).map(place).collect()
}
