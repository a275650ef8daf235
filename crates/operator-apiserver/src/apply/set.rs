//! Sets of field paths, as trees, with the operations of structured-merge-diff and the format `fieldsV1`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path::Step;
use super::shape::Node;

/// A set of fields. A path may be a member without its children, and children may be members without their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    members: BTreeSet<Step>,
    children: BTreeMap<Step, FieldSet>,
}

impl FieldSet {
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// The set of one field.
    pub fn of(path: &[Step]) -> Self {
        let mut set = Self::default();
        set.insert(path);
        set
    }

    pub fn insert(&mut self, path: &[Step]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the step leads to a member.
    pub fn has(&self, step: &Step) -> bool {
        self.members.contains(step)
    }

    /// Whether the path leads to a member.
    pub fn has_path(&self, path: &[Step]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|set| set.has_path(rest)),
        }
    }

    /// The members below a step, if there are any.
    pub fn below(&self, step: &Step) -> Option<&FieldSet> {
        self.children.get(step).filter(|set| !set.is_empty())
    }

    pub fn union(&self, other: &Self) -> Self {
        let mut union = self.clone();
        union.members.extend(other.members.iter().cloned());
        for (step, set) in &other.children {
            let merged = match union.children.get(step) {
                Some(mine) => mine.union(set),
                None => set.clone(),
            };
            union.children.insert(step.clone(), merged);
        }
        union
    }

    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            children: self
                .children
                .iter()
                .filter_map(|(step, set)| Some((step, set.intersection(other.children.get(step)?))))
                .filter(|(_, set)| !set.is_empty())
                .map(|(step, set)| (step.clone(), set))
                .collect(),
        }
    }

    /// The members that the other set lacks. A parent in the other set does not affect its children here.
    pub fn difference(&self, other: &Self) -> Self {
        self.subtract(other, Reach::Exact)
    }

    /// The members that the other set lacks, if each of its members also stands for everything below.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.subtract(other, Reach::Below)
    }

    fn subtract(&self, other: &Self, reach: Reach) -> Self {
        let mut left = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            children: BTreeMap::new(),
        };
        for (step, set) in &self.children {
            if reach == Reach::Below && other.members.contains(step) {
                continue;
            }
            let set = match other.children.get(step) {
                Some(theirs) => set.subtract(theirs, reach),
                None => set.clone(),
            };
            if !set.is_empty() {
                left.children.insert(step.clone(), set);
            }
        }
        left
    }

    /// Adds each declared field on the path to a member, because an object that exists only for its fields is removed with them.
    pub fn with_declared_parents(&self, node: Node<'_>) -> Self {
        let mut set = Self {
            members: self.members.clone(),
            children: BTreeMap::new(),
        };
        for (step, below) in &self.children {
            if let Step::Field(name) = step
                && node.declares(name)
            {
                set.members.insert(step.clone());
            }
            set.children
                .insert(step.clone(), below.with_declared_parents(node.at(step)));
        }
        set
    }

    /// The steps to members, and to fields with members below them.
    pub fn steps(&self) -> BTreeSet<&Step> {
        self.members.iter().chain(self.children.keys()).collect()
    }

    /// All members, parents before children.
    pub fn paths(&self) -> Vec<Vec<Step>> {
        let mut paths: Vec<Vec<Step>> =
            self.members.iter().map(|step| vec![step.clone()]).collect();
        for (step, set) in &self.children {
            for mut path in set.paths() {
                path.insert(0, step.clone());
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

    /// The set below a step, and whether the step itself is a member.
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
            // Entries that a future server may support are ignored.
            let Some(step) = Step::parse(key)? else {
                continue;
            };
            let (below, is_owned) = Self::read(value)?;
            if is_owned {
                set.members.insert(step.clone());
            }
            if !below.is_empty() {
                set.children.insert(step, below);
            }
        }
        is_member |= set.is_empty();
        Some((set, is_member))
    }

    /// Writes `fieldsV1`.
    pub fn to_fields(&self) -> Value {
        let mut fields = Map::new();
        for step in self.steps() {
            let mut value = Map::new();
            if let Some(below) = self.below(step) {
                if self.has(step) {
                    value.insert(".".into(), Map::new().into());
                }
                if let Value::Object(below) = below.to_fields() {
                    value.extend(below);
                }
            } else if !self.has(step) {
                continue;
            }
            fields.insert(step.to_key(), value.into());
        }
        fields.into()
    }
}

/// The meaning of a member in the set to be subtracted.
#[derive(Clone, Copy, PartialEq)]
enum Reach {
    Exact,
    Below,
}
