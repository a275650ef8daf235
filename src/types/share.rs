//! One shape, one type: a definition of the same shape as an earlier one becomes its alias, so that every path keeps its name.

use std::collections::HashMap;

use super::graph::{Shape, Type, TypeGraph, TypeId};

/// Makes aliases of all but the first definition of each shape. Descriptions and defaults do not count.
pub fn share(graph: &mut TypeGraph) {
    let mut classes: HashMap<Shape, usize> = HashMap::new();
    let mut class_of = vec![0; graph.definitions.len()];
    // Invariant: children stand behind their parents, so from the end each is classed before it is part of a key.
    for (index, definition) in graph.definitions.iter().enumerate().rev() {
        let mut key = definition.shape.clone();
        if let Shape::Struct(found) = &mut key {
            found
                .fields
                .iter_mut()
                .for_each(|field| by_class(&mut field.type_, &class_of));
        }
        let next = classes.len();
        class_of[index] = *classes.entry(key).or_insert(next);
    }
    let mut first: HashMap<usize, TypeId> = HashMap::new();
    for (index, class) in class_of.into_iter().enumerate() {
        let id = *first.entry(class).or_insert(TypeId(index));
        if id != TypeId(index) {
            graph.definitions[index].shape = Shape::Alias(id);
        }
    }
}

fn by_class(type_: &mut Type, class_of: &[usize]) {
    match type_ {
        Type::Named(id) => *id = TypeId(class_of[id.0]),
        Type::Vec(inner) | Type::Map(inner) | Type::Nullable(inner) => by_class(inner, class_of),
        _ => {}
    }
}
