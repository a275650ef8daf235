//! One shape, one type: a definition of the same shape as an earlier one becomes its alias, so that every path keeps its name.
//! A shape is the whole schema, as attributes of the type carry it, so both modes have the same types.

use std::{
    collections::{HashMap, HashSet},
    hash::{Hash, Hasher},
};

use serde_json::Value;

use super::graph::{Shape, Type, TypeGraph, TypeId};

/// Keywords that the field of a struct carries in place of its type.
pub const OF_FIELD: [&str; 3] = ["description", "default", "nullable"];

/// Makes aliases of all but the first definition of each schema, `nodes`: attributes of a type carry its whole schema, but for what the
/// field of a struct says. Items, values and fields of the root have no such field: the types in the answer carry the whole of their node.
pub fn share<'a>(graph: &mut TypeGraph, nodes: &mut [&'a Value]) -> HashSet<TypeId> {
    let of_fields: HashSet<TypeId> = graph
        .structs()
        .flat_map(|found| &found.fields)
        .filter_map(|field| match field.type_ {
            Type::Named(id) => Some(id),
            _ => None,
        })
        .collect();
    let mut groups: HashMap<Key<'a>, Vec<TypeId>> = HashMap::new();
    let mut whole = HashSet::new();
    for index in 0..nodes.len() {
        let (id, node) = (TypeId(index), nodes[index]);
        let group = groups.entry(Key::of(node)).or_default();
        let is_whole = !of_fields.contains(&id);
        let first = group.iter().copied().find(|first| {
            let agrees = |keyword| node.get(keyword) == nodes[first.0].get(keyword);
            !is_whole || !whole.contains(first) || OF_FIELD.into_iter().all(agrees)
        });
        if let Some(first) = first {
            graph.definitions[index].shape = Shape::Alias(first);
        } else {
            group.push(id);
        }
        let first = first.unwrap_or(id);
        if is_whole && whole.insert(first) {
            nodes[first.0] = node;
            graph.definitions[first.0].doc = node["description"].as_str().map(str::to_owned);
        }
    }
    whole
}

/// The keywords of a node that its type carries, in the order of their names.
#[derive(PartialEq, Eq)]
struct Key<'a>(Vec<(&'a String, &'a Value)>);

impl<'a> Key<'a> {
    fn of(node: &'a Value) -> Self {
        let mut keywords: Vec<_> = node.as_object().into_iter().flatten().collect();
        keywords.retain(|(keyword, _)| !OF_FIELD.contains(&keyword.as_str()));
        keywords.sort_by_key(|(keyword, _)| *keyword);
        Self(keywords)
    }
}

/// Of the node's own level: hashing all below it at every level would take most of the time, and what is below seldom differs alone.
impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (keyword, value) in &self.0 {
            keyword.hash(state);
            match value {
                Value::Object(map) => map.keys().map(String::len).sum::<usize>().hash(state),
                Value::Array(items) => items.len().hash(state),
                scalar => scalar.hash(state),
            }
        }
    }
}
