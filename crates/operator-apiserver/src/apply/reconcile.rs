//! Updates field sets after a change of the schema: if a value became atomic, its owners own the whole value.
//!
//! If a value became granular, its field sets do not change: the owner of the whole value owns none of its parts.

use super::path::PathElement;
use super::set::FieldSet;
use super::shape::{Node, Relation};

/// The set, updated to the current schema.
pub(crate) fn reconciled(set: &FieldSet, node: Node<'_>) -> FieldSet {
    let mut whole = FieldSet::default();
    walk(Some(set), node, false, &mut Vec::new(), &mut whole);
    if whole.is_empty() {
        set.clone()
    } else {
        set.recursive_difference(&whole).union(&whole)
    }
}

/// Collects the atomic values of which the set contains parts. `is_whole`: the set contains the value itself, and nothing below.
fn walk(
    set: Option<&FieldSet>,
    node: Node<'_>,
    is_whole: bool,
    path: &mut Vec<PathElement>,
    whole: &mut FieldSet,
) {
    let (is_list, is_atomic) = match node.relation() {
        Relation::Unknown => return,
        Relation::List { is_atomic } => (true, is_atomic),
        Relation::Object { is_atomic } => (false, is_atomic && set.is_some()),
    };
    if is_atomic && !is_whole {
        whole.insert(path);
        return;
    }
    let Some(set) = set else {
        return;
    };
    for element in set.elements() {
        let below = set.below(element);
        let node = if is_list {
            node.item()
        } else {
            node.at(element)
        };
        let is_whole = set.has(element) && below.is_none();
        path.push(element.clone());
        walk(below, node, is_whole, path, whole);
        path.pop();
    }
}
