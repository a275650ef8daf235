//! Shares types: a definition with the same shape as an earlier one becomes its alias, so that every path keeps its name. A shape is the
//! whole schema that the attributes of the type express, so both modes have the same types.

use std::{
    collections::HashSet,
    hash::{BuildHasher, Hash, Hasher},
};

use foldhash::{HashMap, fast::FixedState};
use serde_json::Value;

use super::{
    doc::Doc,
    graph::{Shape, Type, TypeGraph, TypeId},
};

/// Keywords that are attributes of a struct's field, not of its type.
pub const OF_FIELD: [&str; 3] = ["description", "default", "nullable"];

/// Turns all definitions but the first of each schema in `nodes` into aliases. The attributes of a type express its whole schema, except
/// for the keywords that a field of a struct expresses. Items, values and fields of the root have no such field, so the returned types
/// express their whole node.
pub fn share<'a>(graph: &mut TypeGraph, nodes: &mut [&'a Value]) -> HashSet<TypeId> {
    let of_fields: HashSet<TypeId> = graph
        .structs()
        .flat_map(|shape| &shape.fields)
        .filter_map(|field| match field.type_ {
            Type::Named(id) => Some(id),
            _ => None,
        })
        .collect();
    let mut groups: HashMap<Key<'a>, Vec<TypeId>> = HashMap::default();
    let mut hashes = Hashes::default();
    let mut whole = HashSet::new();
    for index in 0..nodes.len() {
        let (id, node) = (TypeId(index), nodes[index]);
        let group = groups.entry(Key::of(node, &mut hashes)).or_default();
        let is_whole = !of_fields.contains(&id);
        let first = group.iter().copied().find(|first| {
            let agrees = |keyword| node.get(keyword) == nodes[first.0].get(keyword);
            !is_whole || !whole.contains(first) || OF_FIELD.into_iter().all(agrees)
        });
        // structs without fields are equal only by chance
        let shape = &graph.definitions[index].shape;
        let first = first.filter(|_| !matches!(shape, Shape::Struct(it) if it.is_empty()));
        if let Some(first) = first {
            graph.definitions[index].shape = Shape::Alias(first);
        } else {
            group.push(id);
        }
        let first = first.unwrap_or(id);
        if is_whole && whole.insert(first) {
            nodes[first.0] = node;
            let description = node["description"].as_str();
            graph.definitions[first.0].doc = description.map(|text| Doc::new(0, text));
        }
    }
    whole
}

/// The keywords of a node that its type expresses, in the order of their names.
struct Key<'a> {
    hash: u64,
    keywords: Vec<(&'a String, &'a Value)>,
}

impl<'a> Key<'a> {
    fn of(node: &'a Value, hashes: &mut Hashes) -> Self {
        let mut keywords: Vec<_> = node.as_object().into_iter().flatten().collect();
        keywords.retain(|(keyword, _)| !OF_FIELD.contains(&keyword.as_str()));
        keywords.sort_by_key(|(keyword, _)| *keyword);
        let hash = hashes.of_members(keywords.iter().copied());
        Self { hash, keywords }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        let mut pairs = self.keywords.iter().zip(&other.keywords);
        self.hash == other.hash
            && self.keywords.len() == other.keywords.len()
            && pairs.all(|((a, left), (b, right))| a == b && is_equal(left, right))
    }
}

impl Eq for Key<'_> {}

/// Compares like `==`, but does not look up each member by hash if both objects have their members in the same order, as copies do.
fn is_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) if left.keys().eq(right.keys()) => left
            .values()
            .zip(right.values())
            .all(|(left, right)| is_equal(left, right)),
        _ => left == right,
    }
}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// The hashes of the objects of a schema, by address. Hashing all nodes below again at every level would take most of the time.
#[derive(Default)]
struct Hashes(HashMap<*const Value, u64>);

impl Hashes {
    fn of(&mut self, value: &Value) -> u64 {
        match value {
            Value::Object(members) => {
                if let Some(known) = self.0.get(&std::ptr::from_ref(value)) {
                    return *known;
                }
                let hash = self.of_members(members);
                self.0.insert(value, hash);
                hash
            }
            Value::Array(items) => {
                let mut hasher = FixedState::default().build_hasher();
                items
                    .iter()
                    .for_each(|item| self.of(item).hash(&mut hasher));
                hasher.finish()
            }
            scalar => FixedState::default().hash_one(scalar),
        }
    }

    /// A hash that does not depend on the order of members. Descriptions are skipped, because they are long and seldom differ alone.
    fn of_members<'a>(
        &mut self,
        members: impl IntoIterator<Item = (&'a String, &'a Value)>,
    ) -> u64 {
        members
            .into_iter()
            .filter(|(key, _)| *key != "description")
            .fold(0, |sum: u64, (key, value)| {
                let mut hasher = FixedState::default().build_hasher();
                key.hash(&mut hasher);
                self.of(value).hash(&mut hasher);
                sum.wrapping_add(hasher.finish())
            })
    }
}
