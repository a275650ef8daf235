//! Finds edits that make an expression true or false: alternatives, each of which is a list of edits.

use super::super::tree::{Macro, MacroKind, Node};
use super::edit::Edit;
use super::guess;
use super::scene::{Binding, Scene, within};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::Value as Cel;
use kube_cel::cel::common::ast::operators;

/// Edits that are made together.
pub(super) type Plan = Vec<Edit>;

/// How many alternatives of an expression are followed.
const FOLLOWED: usize = 6;

/// The variables in scope of an expression.
type In<'a, 'e> = &'a [(&'e str, Binding<'e>)];

/// Plans after which `expression` is likely to be `truth`, those with the fewest edits first.
pub(super) fn demand<'e>(
    scene: &Scene<'_>,
    expression: &'e IdedExpr,
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    if scene.is_exhausted() {
        return Vec::new();
    }
    if scene.truth(expression, scope) == Some(truth) {
        return vec![Vec::new()];
    }
    let mut plans = match Node::of(expression) {
        Node::Has(..) => presence(scene, expression, truth, scope),
        Node::Ident(name) => bound(scene, name, truth, scope)
            .unwrap_or_else(|| guess::plans(scene, expression, truth, scope)),
        Node::Macro(inner) => quantified(scene, expression, &inner, truth, scope),
        Node::Call(name, arguments) => match (name, arguments.as_slice()) {
            (operators::LOGICAL_NOT, [inner]) => demand(scene, inner, !truth, scope),
            (operators::LOGICAL_AND, parts) if truth => every(scene, parts, true, scope),
            (operators::LOGICAL_OR, parts) if !truth => every(scene, parts, false, scope),
            (operators::LOGICAL_AND | operators::LOGICAL_OR, parts) => parts
                .iter()
                .flat_map(|it| demand(scene, it, truth, scope))
                .collect(),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                chosen(scene, [condition, yes, no], truth, scope)
            }
            (operators::EQUALS, [left, right]) => {
                let plans = same(scene, expression, left, right, truth, scope);
                match filtered(left).or_else(|| filtered(right)) {
                    Some(inner) if truth && plans.is_empty() => {
                        counted(scene, expression, &inner, scope)
                    }
                    _ => plans,
                }
            }
            (operators::NOT_EQUALS, [left, right]) => {
                let is_bool = |it: &&IdedExpr| matches!(scene.eval(it, scope), Some(Cel::Bool(_)));
                if is_bool(left) && is_bool(right) {
                    same(scene, expression, left, right, !truth, scope)
                } else {
                    guess::plans(scene, expression, truth, scope)
                }
            }
            (_, [left, right]) if truth => {
                let plans = guess::plans(scene, expression, truth, scope);
                match filtered(left).or_else(|| filtered(right)) {
                    Some(inner) if plans.is_empty() => counted(scene, expression, &inner, scope),
                    _ => plans,
                }
            }
            _ => guess::plans(scene, expression, truth, scope),
        },
        _ => guess::plans(scene, expression, truth, scope),
    };
    plans.sort_by_key(|plan| cost(plan));
    plans.dedup();
    plans
}

/// The number of edits, and the number of those that change existing values.
fn cost(plan: &[Edit]) -> (usize, usize) {
    let changes = plan.iter().filter(|edit| !edit.adds());
    (plan.len(), changes.count())
}

/// Plans for `has(a.b)`, which create the path or remove its last field.
fn presence<'e>(
    scene: &Scene<'_>,
    expression: &'e IdedExpr,
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    let Some(place) = scene.place(expression, scope) else {
        return Vec::new();
    };
    match truth {
        true => vec![vec![Edit::Make(place)]],
        false if scene.is_removable(&place) => vec![vec![Edit::Remove(place)]],
        false => Vec::new(),
    }
}

/// Plans for a variable that stands for an expression.
fn bound(scene: &Scene<'_>, name: &str, truth: bool, scope: In<'_, '_>) -> Option<Vec<Plan>> {
    let nth = scope.iter().rposition(|(it, _)| *it == name)?;
    match &scope[nth].1 {
        Binding::Expression(expression, depth) => Some(demand(
            scene,
            expression,
            truth,
            &scope[..(*depth).min(nth)],
        )),
        _ => None,
    }
}

/// Plans for all parts: each part is demanded of the scene that the plan for the previous parts leaves.
fn every<'e>(
    scene: &Scene<'_>,
    parts: &[&'e IdedExpr],
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    let mut plans = vec![Vec::new()];
    for part in parts {
        plans = extended(scene, plans, |scene| demand(scene, part, truth, scope));
    }
    plans
}

/// Extends each plan by the plans that `next` returns for the scene after it.
fn extended(
    scene: &Scene<'_>,
    plans: Vec<Plan>,
    next: impl Fn(&Scene<'_>) -> Vec<Plan>,
) -> Vec<Plan> {
    let mut longer = Vec::new();
    for plan in plans {
        let scene = scene.after(&plan);
        let more = next(&scene).into_iter().take(FOLLOWED);
        longer.extend(more.map(|more| [plan.clone(), more].concat()));
    }
    longer.sort_by_key(|plan| cost(plan));
    longer.truncate(FOLLOWED);
    longer
}

/// Plans for `condition ? yes : no`, through either branch.
fn chosen<'e>(
    scene: &Scene<'_>,
    [condition, yes, no]: [&'e IdedExpr; 3],
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (choice, branch) in [(true, yes), (false, no)] {
        let first = demand(scene, condition, choice, scope);
        let first = first.into_iter().take(FOLLOWED).collect();
        plans.extend(extended(scene, first, |scene| {
            demand(scene, branch, truth, scope)
        }));
    }
    plans
}

/// Plans for `left == right`. If both are booleans, either is changed to the other.
fn same<'e>(
    scene: &Scene<'_>,
    whole: &'e IdedExpr,
    left: &'e IdedExpr,
    right: &'e IdedExpr,
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    match (scene.eval(left, scope), scene.eval(right, scope)) {
        (Some(Cel::Bool(is)), Some(Cel::Bool(wanted))) => {
            let mut plans = demand(scene, left, wanted == truth, scope);
            plans.extend(demand(scene, right, is == truth, scope));
            plans
        }
        _ => guess::plans(scene, whole, truth, scope),
    }
}

/// Plans for `all`, `exists` and `exists_one`, which edit items, remove them, or add one.
fn quantified<'e>(
    scene: &Scene<'_>,
    whole: &'e IdedExpr,
    inner: &Macro<'e>,
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    let items = scene.items(inner.range, scope);
    let of = |scene: &Scene<'_>, item: &Binding<'e>, truth| {
        demand(
            scene,
            inner.body,
            truth,
            &within(scope, inner.variable, item),
        )
    };
    let holds = |item: &Binding<'e>| {
        scene.truth(inner.body, &within(scope, inner.variable, item)) == Some(true)
    };
    match (inner.kind, truth) {
        (MacroKind::All, true) | (MacroKind::Exists, false) => {
            let wrong = |item: &&Binding<'e>| holds(item) != truth;
            let mut plans = vec![Vec::new()];
            for item in items.iter().filter(wrong) {
                plans = extended(scene, plans, |scene| of(scene, item, truth));
            }
            plans.extend(without(scene, items.iter().filter(wrong), inner, scope));
            plans.retain(|plan| !plan.is_empty());
            if plans.is_empty() {
                guess::plans(scene, whole, truth, scope)
            } else {
                plans
            }
        }
        (MacroKind::All, false) | (MacroKind::Exists, true) => {
            let mut plans: Vec<Plan> = items.iter().flat_map(|it| of(scene, it, truth)).collect();
            plans.extend(added(scene, whole, inner, truth, scope));
            plans
        }
        (MacroKind::ExistsOne, true) => {
            let (right, wrong): (Vec<_>, Vec<_>) = items.iter().partition(|it| holds(it));
            let mut plans = Vec::new();
            match right.as_slice() {
                [] => {
                    plans.extend(wrong.into_iter().flat_map(|it| of(scene, it, true)));
                    plans.extend(added(scene, whole, inner, true, scope));
                }
                [_, others @ ..] => {
                    let mut fewer = vec![Vec::new()];
                    for item in others {
                        fewer = extended(scene, fewer, |scene| of(scene, item, false));
                    }
                    plans.extend(fewer);
                    plans.extend(without(scene, others.iter().copied(), inner, scope));
                }
            }
            plans
        }
        _ => guess::plans(scene, whole, truth, scope),
    }
}

/// The filter of `range.filter(x, body).size()`.
fn filtered(expression: &IdedExpr) -> Option<Macro<'_>> {
    let Node::Call("size", arguments) = Node::of(expression) else {
        return None;
    };
    match Node::of(arguments.first()?) {
        Node::Macro(inner) if inner.kind == MacroKind::Filter => Some(inner),
        _ => None,
    }
}

/// Plans for a comparison with the size of a filtered list: one item after the other is added to the filter, or removed, until it is true.
fn counted<'e>(
    scene: &Scene<'_>,
    whole: &'e IdedExpr,
    inner: &Macro<'e>,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    const STEPS: usize = 6;
    let mut solved = Vec::new();
    for in_filter in [true, false] {
        let mut plans = vec![Vec::new()];
        for _ in 0..STEPS {
            plans = extended(scene, plans, |scene| {
                let of = |item: &Binding<'e>| within(scope, inner.variable, item);
                let holds = |item: &Binding<'e>| scene.truth(inner.body, &of(item)) == Some(true);
                let mut items = scene.items(inner.range, scope);
                items.retain(|it| holds(it) != in_filter);
                let edits = |it| demand(scene, inner.body, in_filter, &of(it));
                let mut next: Vec<Plan> = items.iter().flat_map(edits).collect();
                next.extend(if in_filter {
                    added(scene, whole, inner, true, scope)
                } else {
                    Vec::from_iter(without(scene, items.iter().take(1), inner, scope))
                });
                next
            });
            let is_solved = |plan: &&Plan| scene.after(plan).truth(whole, scope) == Some(true);
            solved.extend(plans.iter().filter(is_solved).cloned());
            if !solved.is_empty() || plans.is_empty() {
                break;
            }
        }
    }
    solved
}

/// The plan that removes items, the last first.
fn without<'i, 'e: 'i>(
    scene: &Scene<'_>,
    items: impl Iterator<Item = &'i Binding<'e>>,
    inner: &Macro<'e>,
    scope: In<'_, 'e>,
) -> Option<Plan> {
    let mut pointers: Vec<String> = Vec::new();
    for item in items {
        match item {
            Binding::Place(pointer) => pointers.push(pointer.clone()),
            Binding::Value(Cel::String(key)) => {
                let map = scene.place(inner.range, scope)?;
                pointers.push(super::edit::member(&map, key));
            }
            _ => return None,
        }
    }
    let is_item = |pointer: &String| scene.is_removable(pointer);
    if pointers.is_empty() || !pointers.iter().all(is_item) {
        return None;
    }
    pointers.reverse();
    Some(pointers.into_iter().map(Edit::Remove).collect())
}

/// The plans that add an item, and edit it until the body is `truth` for it.
fn added<'e>(
    scene: &Scene<'_>,
    whole: &'e IdedExpr,
    inner: &Macro<'e>,
    truth: bool,
    scope: In<'_, 'e>,
) -> Vec<Plan> {
    let mut plans = Vec::new();
    for pointer in scene.sources(inner.range, scope) {
        let first = match super::edit::at(scene.schema, &pointer) {
            Some(schema) if schema.items.is_some() => vec![vec![Edit::Append(pointer, None)]],
            Some(schema) if schema.additional_properties.is_some() => {
                let keys = guess::keys(scene, inner.body, scope);
                keys.iter()
                    .map(|key| vec![Edit::Make(super::edit::member(&pointer, key))])
                    .collect()
            }
            _ => continue,
        };
        plans.extend(extended(scene, first, |scene| {
            let items = scene.items(inner.range, scope);
            let Some(item) = items
                .last()
                .filter(|_| scene.truth(whole, scope) != Some(truth))
            else {
                return vec![Vec::new()];
            };
            demand(
                scene,
                inner.body,
                truth,
                &within(scope, inner.variable, item),
            )
        }));
    }
    plans
}
