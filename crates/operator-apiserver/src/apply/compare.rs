//! Compares an object before and after a write, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use serde_json::Value;

use super::path::Step;
use super::set::FieldSet;
use super::shape::{Node, Shape};

/// The fields that differ between two objects, each in one of three sets.
#[derive(Default)]
pub(crate) struct Comparison {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

impl Comparison {
    pub fn between(old: &Value, new: &Value, node: Node<'_>) -> Self {
        let mut comparison = Self::default();
        comparison.compare(Some(old), Some(new), node, &mut Vec::new());
        comparison
    }

    /// Removes the fields that a write through this path cannot change.
    pub fn excluding(self, fields: &FieldSet) -> Self {
        Self {
            added: self.added.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            removed: self.removed.recursive_difference(fields),
        }
    }

    /// The added and the changed fields.
    pub fn written(&self) -> FieldSet {
        self.modified.union(&self.added)
    }

    fn compare(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Node<'_>,
        path: &mut Vec<Step>,
    ) {
        let shaped = new.filter(|value| !value.is_null()).or(old).or(new);
        let shape = shaped.map_or(Shape::Leaf, |value| node.shape(value));
        // Without a schema, a value may change its shape; then it is also compared in its previous shape.
        let before = old
            .filter(|value| !value.is_null())
            .map(|value| node.shape(value));
        let was_leaf = before
            .filter(|before| discriminant(before) != discriminant(&shape))
            .is_some_and(|shape| self.compare_as(shape, old, new, node, path));
        let is_leaf = self.compare_as(shape, old, new, node, path) || was_leaf;
        match (old, new) {
            (None, _) => self.added.insert(path),
            (_, None) => self.removed.insert(path),
            (Some(old), Some(new)) if is_leaf && old != new => self.modified.insert(path),
            _ => {}
        }
    }

    /// Compares the content of two values with the same shape. Returns whether they are leaves.
    fn compare_as(
        &mut self,
        shape: Shape<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Node<'_>,
        path: &mut Vec<Step>,
    ) -> bool {
        match shape {
            Shape::Leaf => true,
            Shape::Fields => self.compare_fields(old, new, node, path),
            Shape::Items(items) => {
                let indexed = |list: Option<&Value>| -> BTreeMap<Step, Vec<Value>> {
                    let mut index: BTreeMap<Step, Vec<Value>> = BTreeMap::new();
                    for item in list.and_then(Value::as_array).into_iter().flatten() {
                        if let Ok(step) = items.step(item) {
                            index.entry(step).or_default().push(item.clone());
                        }
                    }
                    index
                };
                self.compare_items(&indexed(old), &indexed(new), node, path)
            }
        }
    }

    /// Whether the two values must be compared as leaves.
    fn compare_fields(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Node<'_>,
        path: &mut Vec<Step>,
    ) -> bool {
        let (old, new) = (
            old.and_then(Value::as_object),
            new.and_then(Value::as_object),
        );
        let names: BTreeSet<&String> = old
            .into_iter()
            .flat_map(|o| o.keys())
            .chain(new.into_iter().flat_map(|n| n.keys()))
            .collect();
        for name in &names {
            let (old, new) = (
                old.and_then(|o| o.get(*name)),
                new.and_then(|n| n.get(*name)),
            );
            path.push(Step::field(name));
            self.compare(old, new, node.field(name), path);
            path.pop();
        }
        names.is_empty()
    }

    fn compare_items(
        &mut self,
        old: &BTreeMap<Step, Vec<Value>>,
        new: &BTreeMap<Step, Vec<Value>>,
        node: Node<'_>,
        path: &mut Vec<Step>,
    ) -> bool {
        let steps: BTreeSet<&Step> = old.keys().chain(new.keys()).collect();
        for step in &steps {
            let (old, new) = (old.get(*step), new.get(*step));
            path.push((*step).clone());
            match (
                old.map_or(&[][..], Vec::as_slice),
                new.map_or(&[][..], Vec::as_slice),
            ) {
                (old @ ([] | [_]), new @ ([] | [_])) => {
                    self.compare(old.first(), new.first(), node.at(step), path);
                }
                (old @ [_, _, ..], new @ [_, _, ..]) => {
                    if old != new {
                        self.modified.insert(path);
                    }
                }
                ([_, _, ..], new) => {
                    if let Some(new) = new.first() {
                        self.compare(None, Some(new), node.at(step), path);
                    }
                    self.removed.insert(path);
                }
                (old, _) => {
                    if let Some(old) = old.first() {
                        self.compare(Some(old), None, node.at(step), path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
        steps.is_empty()
    }
}
