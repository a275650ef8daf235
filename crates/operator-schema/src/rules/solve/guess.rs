//! Solves an expression without boolean parts, such as a comparison: tries other values for the fields in it.
//!
//! A candidate that brings the expression nearer to the wanted truth is kept, and the search continues from there.

use super::super::tree::{self, Macro, Node};
use super::super::value::json;
use super::candidate::{self, Hints};
use super::demand::Plan;
use super::edit::{self, Edit, member};
use super::scene::{Binding, Scene, within};
use crate::Schema;
use crate::sample::accepts;
use kube_cel::cel::common::ast::operators;
use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::Value;
use std::collections::HashSet;

/// The maximum number of fields that are edited for one expression.
const STEPS: usize = 6;

/// How many successful candidates for a field are compared by the number of rules that are then true.
const COMPARED: usize = 12;

/// The maximum number of items of a list, or of keys of a map, that are edited.
const ITEMS: usize = 6;

/// A part of a value that an expression depends on.
enum Leaf {
    Value(String),
    Presence(String),
}

/// Plans after which the expression has this truth, one for each field whose edit suffices.
pub(super) fn plans<'e>(
    scene: &Scene<'_>,
    expression: &'e IdedExpr,
    truth: bool,
    scope: &[(&'e str, Binding<'e>)],
) -> Vec<Plan> {
    let goal = Goal {
        expression,
        truth,
        scope,
        hints: Hints::of(scene, expression, scope),
    };
    let mut plan = Plan::new();
    let mut current = scene.after(&plan);
    let mut gap = goal.gap(&current);
    for _ in 0..STEPS {
        let mut nearest = None;
        let mut solved = Vec::new();
        for leaf in goal.leaves(&current) {
            let mut best: Option<(usize, Edit)> = None;
            let mut compared = 0;
            for edit in goal.moves(&current, &leaf) {
                if scene.is_exhausted() {
                    return Vec::new();
                }
                let after = current.after(std::slice::from_ref(&edit));
                let left = goal.gap(&after);
                if left == 0.0 {
                    let kept = after.kept();
                    if best.as_ref().is_none_or(|(most, _)| kept > *most) {
                        best = Some((kept, edit));
                    }
                    compared += 1;
                    if compared == COMPARED || kept == scene.rules.len() {
                        break;
                    }
                } else if left < gap {
                    gap = left;
                    nearest = Some((edit, after));
                }
            }
            solved.extend(best.map(|(kept, edit)| (kept, [plan.as_slice(), &[edit]].concat())));
        }
        if !solved.is_empty() {
            solved.sort_by_key(|(kept, _)| std::cmp::Reverse(*kept));
            return solved.into_iter().map(|(_, plan)| plan).collect();
        }
        let Some((edit, after)) = nearest else {
            return Vec::new();
        };
        plan.push(edit);
        current = after;
    }
    Vec::new()
}

/// The keys that may be added to a map to make an expression true.
pub(super) fn keys<'e>(
    scene: &Scene<'_>,
    expression: &'e IdedExpr,
    scope: &[(&'e str, Binding<'e>)],
) -> Vec<String> {
    let texts = Hints::of(scene, expression, scope).texts;
    texts
        .into_iter()
        .take(ITEMS)
        .chain(["example".to_owned()])
        .collect()
}

struct Goal<'a, 'e> {
    expression: &'e IdedExpr,
    truth: bool,
    scope: &'a [(&'e str, Binding<'e>)],
    hints: Hints,
}

impl Goal<'_, '_> {
    /// How far the expression is from the wanted truth; 0 if it has it.
    fn gap(&self, scene: &Scene<'_>) -> f64 {
        const FAILED: f64 = 1e12;
        let fails = |part: &&IdedExpr| scene.eval(part, self.scope).is_none();
        const LARGEST: f64 = 1e9;
        match scene.truth(self.expression, self.scope) {
            // the evaluation fails: the fewer parts fail, the smaller the gap
            None => {
                let failed = tree::all(self.expression).into_iter().filter(fails);
                return FAILED * (1 + failed.count()) as f64;
            }
            Some(value) if value == self.truth => return 0.0,
            Some(_) => {}
        }
        let Node::Call(name, arguments) = Node::of(self.expression) else {
            return 1.0;
        };
        let sides: Vec<_> = arguments
            .iter()
            .map(|it| scene.eval(it, self.scope))
            .collect();
        match (name, sides.as_slice()) {
            (operators::IN, [_, Some(Cel::List(items))]) if items.is_empty() => 2.0,
            (_, [Some(left), Some(right)]) => match (measure(left), measure(right)) {
                (Some(left), Some(right)) => 1.0 + (left - right).abs().min(LARGEST),
                _ => 1.0,
            },
            _ => 1.0,
        }
    }

    /// The fields that the expression depends on.
    fn leaves(&self, scene: &Scene<'_>) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        collect(scene, self.expression, self.scope, &mut leaves);
        let mut seen = HashSet::new();
        leaves.retain(|leaf| {
            seen.insert(match leaf {
                Leaf::Value(pointer) => (pointer.clone(), true),
                Leaf::Presence(pointer) => (pointer.clone(), false),
            })
        });
        leaves
    }

    /// The edits of a field that are tried.
    fn moves(&self, scene: &Scene<'_>, leaf: &Leaf) -> Vec<Edit> {
        let pointer = match leaf {
            Leaf::Presence(pointer) => {
                return match scene.value.pointer(pointer) {
                    None => vec![Edit::Make(pointer.clone())],
                    Some(_) if scene.is_removable(pointer) => vec![Edit::Remove(pointer.clone())],
                    Some(_) => Vec::new(),
                };
            }
            Leaf::Value(pointer) => pointer,
        };
        let none = Schema::default();
        let schema = edit::at(scene.schema, pointer).unwrap_or(&none);
        let Some(value) = scene.value.pointer(pointer) else {
            let make = Edit::Make(pointer.clone());
            let set = self.values(scene, pointer, schema, &Value::Null);
            return std::iter::once(make).chain(set).collect();
        };
        match value {
            Value::Array(items) => {
                let whole = self
                    .hints
                    .values
                    .iter()
                    .filter(|it| matches!(it, Cel::List(_)))
                    .filter_map(|it| json(schema, it))
                    .filter(|it| it != value);
                let mut edits = self.list(scene, pointer, schema, items);
                edits.extend(whole.map(|it| Edit::Set(pointer.clone(), it)));
                edits
            }
            Value::Object(map) => {
                let mut edits = Vec::new();
                if schema.additional_properties.is_some() {
                    let texts = self.hints.texts.iter().take(ITEMS).cloned();
                    let more = (1..=ITEMS).map(|nth| format!("example-{nth}"));
                    let new = texts
                        .chain(["example".to_owned()])
                        .chain(more)
                        .filter(|key| !map.contains_key(key));
                    edits.extend(new.map(|key| Edit::Make(member(pointer, &key))));
                }
                let keys = map.keys().map(|key| member(pointer, key));
                edits.extend(keys.filter(|it| scene.is_removable(it)).map(Edit::Remove));
                edits
            }
            value => self.values(scene, pointer, schema, value),
        }
    }

    /// The edits that append an item to a list, remove one, or change a scalar item.
    fn list(
        &self,
        scene: &Scene<'_>,
        pointer: &str,
        schema: &Schema,
        items: &[Value],
    ) -> Vec<Edit> {
        let none = Schema::default();
        let each = schema.items.as_deref().unwrap_or(&none);
        let values = self.hints.values.iter().filter_map(|it| json(each, it));
        let known = values
            .filter(|it| !items.contains(it) && accepts(&[each], it))
            .take(ITEMS);
        let items_to_append = std::iter::once(None).chain(known.map(Some));
        let append = |item| Edit::Append(pointer.to_owned(), item);
        let mut edits: Vec<_> = items_to_append.map(append).collect();
        let places = (0..items.len().min(ITEMS))
            .rev()
            .map(|nth| format!("{pointer}/{nth}"));
        edits.extend(places.clone().map(Edit::Remove));
        for place in places {
            if let Some(item) = scene
                .value
                .pointer(&place)
                .filter(|it| !it.is_object() && !it.is_array())
            {
                edits.extend(self.values(scene, &place, each, item));
            }
        }
        edits
    }

    /// The edits that set a scalar.
    fn values(
        &self,
        scene: &Scene<'_>,
        pointer: &str,
        schema: &Schema,
        current: &Value,
    ) -> Vec<Edit> {
        let (_, name) = edit::split(pointer);
        let candidates = candidate::of(schema, name, current, &self.hints, scene.rules);
        candidates
            .into_iter()
            .filter(|it| it != current && accepts(&[schema], it))
            .map(|it| Edit::Set(pointer.to_owned(), it))
            .collect()
    }
}

/// The number by which values are compared; of a list or map, its size.
fn measure(value: &Cel) -> Option<f64> {
    match value {
        Cel::Int(value) => Some(*value as f64),
        Cel::UInt(value) => Some(*value as f64),
        Cel::Float(value) => Some(*value),
        Cel::List(items) => Some(items.len() as f64),
        Cel::Map(map) => Some(map.map.len() as f64),
        _ => None,
    }
}

/// Collects the fields that an expression depends on.
fn collect<'e>(
    scene: &Scene<'_>,
    expression: &'e IdedExpr,
    scope: &[(&'e str, Binding<'e>)],
    leaves: &mut Vec<Leaf>,
) {
    let node = Node::of(expression);
    if let Some(pointer) = scene.place(expression, scope) {
        if let Node::Index(_, key) = &node {
            collect(scene, key, scope, leaves);
        }
        leaves.push(match node {
            Node::Has(..) => Leaf::Presence(pointer),
            _ => Leaf::Value(pointer),
        });
        return;
    }
    match node {
        Node::Macro(Macro {
            range,
            variable,
            body,
            ..
        }) => {
            collect(scene, range, scope, leaves);
            leaves.extend(scene.sources(range, scope).into_iter().map(Leaf::Value));
            for item in scene.items(range, scope).iter().take(ITEMS) {
                collect(scene, body, &within(scope, variable, item), leaves);
            }
        }
        Node::Ident(name) => {
            if let Some(nth) = scope.iter().rposition(|(it, _)| *it == name)
                && let Binding::Expression(expression, depth) = &scope[nth].1
            {
                collect(scene, expression, &scope[..(*depth).min(nth)], leaves);
            }
        }
        _ => {
            for part in tree::parts(expression) {
                collect(scene, part, scope, leaves);
            }
        }
    }
}
