//! Compares an object before and after a write, field by field.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::discriminant;

use serde_json::Value;

use super::path::PathElement;
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

    /// Adds the differences between two values at a path. A missing value is `None`.
    fn compare(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Node<'_>,
        path: &mut Vec<PathElement>,
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
        path: &mut Vec<PathElement>,
    ) -> bool {
        match shape {
            Shape::Leaf => true,
            Shape::Fields => self.compare_fields(old, new, node, path),
            Shape::Items(items) => {
                let indexed = |list: Option<&Value>| -> BTreeMap<PathElement, Vec<Value>> {
                    let mut index: BTreeMap<PathElement, Vec<Value>> = BTreeMap::new();
                    for item in list.and_then(Value::as_array).into_iter().flatten() {
                        if let Ok(element) = items.path_element(item) {
                            index.entry(element).or_default().push(item.clone());
                        }
                    }
                    index
                };
                self.compare_items(&indexed(old), &indexed(new), node, path)
            }
        }
    }

    /// Compares the fields of two objects. Returns whether both are empty, and so leaves.
    fn compare_fields(
        &mut self,
        old: Option<&Value>,
        new: Option<&Value>,
        node: Node<'_>,
        path: &mut Vec<PathElement>,
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
            path.push(PathElement::field(name));
            self.compare(old, new, node.field(name), path);
            path.pop();
        }
        names.is_empty()
    }

    /// Compares the items of two lists. Returns whether both are empty, and so leaves. An item that a list has several times is added,
    /// modified or removed as a whole.
    fn compare_items(
        &mut self,
        old: &BTreeMap<PathElement, Vec<Value>>,
        new: &BTreeMap<PathElement, Vec<Value>>,
        node: Node<'_>,
        path: &mut Vec<PathElement>,
    ) -> bool {
        let elements: BTreeSet<&PathElement> = old.keys().chain(new.keys()).collect();
        for element in &elements {
            let (old, new) = (old.get(*element), new.get(*element));
            path.push((*element).clone());
            match (
                old.map_or(&[][..], Vec::as_slice),
                new.map_or(&[][..], Vec::as_slice),
            ) {
                (old @ ([] | [_]), new @ ([] | [_])) => {
                    self.compare(old.first(), new.first(), node.at(element), path);
                }
                (old @ [_, _, ..], new @ [_, _, ..]) => {
                    if old != new {
                        self.modified.insert(path);
                    }
                }
                ([_, _, ..], new) => {
                    if let Some(new) = new.first() {
                        self.compare(None, Some(new), node.at(element), path);
                    }
                    self.removed.insert(path);
                }
                (old, _) => {
                    if let Some(old) = old.first() {
                        self.compare(Some(old), None, node.at(element), path);
                    }
                    self.added.insert(path);
                }
            }
            path.pop();
        }
        elements.is_empty()
    }
}
