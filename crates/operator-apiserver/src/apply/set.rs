//! Sets of field paths, as trees, with the operations of structured-merge-diff and the format `fieldsV1`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::PathElement;
use super::shape::Node;

/// A set of fields. A path may be a member without its children, and children may be members without their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    members: BTreeSet<PathElement>,
    children: BTreeMap<PathElement, FieldSet>,
}

impl FieldSet {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// The set of one field.
    pub fn of(path: &[PathElement]) -> Self {
        let mut set = Self::default();
        set.insert(path);
        set
    }

    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the element is a member.
    pub fn has(&self, element: &PathElement) -> bool {
        self.members.contains(element)
    }

    /// Whether the path is a member.
    pub fn has_path(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|set| set.has_path(rest)),
        }
    }

    /// The members below an element, if there are any.
    pub fn below(&self, element: &PathElement) -> Option<&FieldSet> {
        self.children.get(element).filter(|set| !set.is_empty())
    }

    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.members.extend(other.members.iter().cloned());
        for (element, set) in &other.children {
            let merged = match union.children.get(element) {
                Some(mine) => mine.union(set),
                None => set.clone(),
            };
            union.children.insert(element.clone(), merged);
        }
        union
    }

    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self
                .children
                .iter()
                .filter_map(|(element, set)| {
                    Some((element, set.intersection(other.children.get(element)?)))
                })
                .filter(|(_, set)| !set.is_empty())
                .map(|(element, set)| (element.clone(), set))
                .collect(),
        }
    }

    /// The members that the other set lacks. A parent in the other set does not affect its children here.
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, Reach::Exact)
    }

    /// The members that the other set lacks, where each member of the other set also stands for everything below it.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.subtract(other, Reach::Below)
    }

    /// The members that the other set does not cover, depending on the reach of its members.
    fn subtract(&self, other: &Self, reach: Reach) -> Self {
        let mut left = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (element, set) in &self.children {
            if reach == Reach::Below && other.members.contains(element) {
                continue;
            }
            let set = match other.children.get(element) {
                Some(theirs) => set.subtract(theirs, reach),
                None => set.clone(),
            };
            if !set.is_empty() {
                left.children.insert(element.clone(), set);
            }
        }
        left
    }

    /// Adds each parent of a member that is a field in the schema, because an object that exists only for its fields is removed with them.
    pub fn with_declared_parents(&self, node: Node<'_>) -> Self {
        let mut set = Self {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (element, below) in &self.children {
            if let PathElement::Field(name) = element
                && node.declares(name)
            {
                set.members.insert(element.clone());
            }
            set.children.insert(
                element.clone(),
                below.with_declared_parents(node.at(element)),
            );
        }
        set
    }

    /// The elements that are members or have members below them.
    pub fn elements(&self) -> BTreeSet<&PathElement> {
        self.members.iter().chain(self.children.keys()).collect()
    }

    /// All members, parents before children.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut paths: Vec<Vec<PathElement>> = self
            .members
            .iter()
            .map(|element| vec![element.clone()])
            .collect();
        for (element, set) in &self.children {
            for mut path in set.paths() {
                path.insert(0, element.clone());
                paths.push(path);
            }
        }
        paths
    }

    /// Reads [`fieldsV1`]. Returns `None` if the format is invalid.
    ///
    /// [`fieldsV1`]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/#System
    pub fn from_fields(fields: &Value) -> Option<Self> {
        Some(Self::read(fields)?.0)
    }

    /// The set below an element, and whether the element itself is a member.
    fn read(fields: &Value) -> Option<(Self, bool)> {
        let mut set = Self::default();
        let mut is_member = false;
        let fields = match fields {
            Value::Null => return Some((set, true)),
            other => other.as_object()?,
        };
        for (key, value) in fields {
            if key == "." {
                is_member = true;
                continue;
            }
            // a newer server may know more types of elements; they are ignored
            let Some(element) = PathElement::parse(key)? else {
                continue;
            };
            let (below, is_owned) = Self::read(value)?;
            if is_owned {
                set.members.insert(element.clone());
            }
            if !below.is_empty() {
                set.children.insert(element, below);
            }
        }
        is_member |= set.is_empty();
        Some((set, is_member))
    }

    /// Writes `fieldsV1`.
    pub fn to_fields(&self) -> Value {
        let mut fields = Map::new();
        for element in self.elements() {
            let mut value = Map::new();
            if let Some(below) = self.below(element) {
                if self.has(element) {
                    value.insert(".".into(), Map::new().into());
                }
                if let Value::Object(below) = below.to_fields() {
                    value.extend(below);
                }
            } else if !self.has(element) {
                continue;
            }
            fields.insert(element.to_key(), value.into());
        }
        fields.into()
    }
}

/// What a member of the subtracted set stands for: only itself, or also everything below it.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Exact,
    Below,
}
