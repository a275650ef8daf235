//! Parses expressions into a form that the evaluator can run.

use std::cell::Cell;

use super::tree::{MacroKind, Node};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;

/// The most parts that [`with_errors`] adds to an expression.
const MOST_ADDED: usize = 5_000;

/// Parses an expression, with `a.?b` as `a[?"b"]`, because the evaluator fails for the former if the field is absent.
pub(super) fn parsed(expression: &str) -> Result<IdedExpr, String> {
    let mut parsed = read(expression)?;
    for_each(&mut parsed, &|part| {
        if let Expr::Call(call) = &mut part.expr
            && call.func_name == operators::OPT_SELECT
        {
            call.func_name = operators::OPT_INDEX.to_owned();
        }
    });
    Ok(parsed)
}

/// Parses an expression.
pub(super) fn read(expression: &str) -> Result<IdedExpr, String> {
    let parser = Parser::new().enable_optional_syntax(true);
    let parsed = parser.parse(expression);
    parsed.map_err(|errors| format!("syntax: {errors}"))
}

/// The same expression, for which the evaluator fails as the API server does: with the error of the first argument of a function, which it
/// drops otherwise, and not because of an item of `all` or `exists` if another one decides.
///
/// `size(a)` becomes `[a, size(a)][1]`, and `a.all(x, p)` becomes `a.all(x, @not_strictly_false(p)) && a.all(x, p)`.
///
/// A call in an argument is written twice for each call around it, so only so many parts are added.
pub(super) fn with_errors(expression: &IdedExpr) -> IdedExpr {
    let mut expression = expression.clone();
    let left = Cell::new(MOST_ADDED);
    let fits = |part: &IdedExpr| {
        let rest = left.get().checked_sub(size(part));
        left.set(rest.unwrap_or_default());
        rest.is_some()
    };
    for_each(&mut expression, &|part| {
        let kind = match Node::of(part) {
            Node::Macro(found) => Some(found.kind),
            _ => None,
        };
        match (&part.expr, kind) {
            (Expr::Comprehension(inner), Some(MacroKind::All | MacroKind::Exists))
                if fits(part) =>
            {
                let mut decided = inner.clone();
                let Expr::Call(step) = &mut decided.loop_step.expr else {
                    return;
                };
                let (name, not) = (step.func_name.clone(), operators::LOGICAL_NOT);
                let Some(body) = step.args.get_mut(1) else {
                    return;
                };
                let not_false = |body| call(operators::NOT_STRICTLY_FALSE, [body]);
                *body = match kind {
                    Some(MacroKind::All) => not_false(body.clone()),
                    _ => call(not, [not_false(call(not, [body.clone()]))]),
                };
                let decided = of(Expr::Comprehension(decided));
                *part = call(&name, [decided, part.clone()]);
            }
            (Expr::Call(function), _)
                if function.target.is_none()
                    && function
                        .func_name
                        .starts_with(|c: char| c.is_ascii_alphabetic())
                    && fits(part) =>
            {
                if let Some(first) = function.args.first() {
                    let list = ListExpr {
                        elements: vec![first.clone(), part.clone()],
                        optional_indices: Vec::new(),
                    };
                    let second = Expr::Literal(LiteralValue::Int(1.into()));
                    *part = call(operators::INDEX, [of(Expr::List(list)), of(second)]);
                }
            }
            _ => {}
        }
    });
    expression
}

/// The number of parts of an expression.
fn size(expression: &IdedExpr) -> usize {
    let size = Cell::new(0);
    for_each(&mut expression.clone(), &|_| size.set(size.get() + 1));
    size.get()
}

fn of(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn call<const N: usize>(name: &str, args: [IdedExpr; N]) -> IdedExpr {
    of(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: None,
        args: args.into(),
    }))
}

/// Changes the parts of an expression, then the expression.
fn for_each(expression: &mut IdedExpr, change: &impl Fn(&mut IdedExpr)) {
    match &mut expression.expr {
        Expr::Call(call) => call
            .target
            .as_deref_mut()
            .into_iter()
            .chain(&mut call.args)
            .for_each(|it| for_each(it, change)),
        Expr::Comprehension(inner) => {
            for part in [
                &mut inner.iter_range,
                &mut inner.accu_init,
                &mut inner.loop_cond,
                &mut inner.loop_step,
                &mut inner.result,
            ] {
                for_each(part, change);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|it| for_each(it, change)),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .for_each(|entry| for_each_entry(&mut entry.expr, change)),
        Expr::Struct(made) => made
            .entries
            .iter_mut()
            .for_each(|entry| for_each_entry(&mut entry.expr, change)),
        Expr::Select(select) => for_each(&mut select.operand, change),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
    change(expression);
}

fn for_each_entry(entry: &mut EntryExpr, change: &impl Fn(&mut IdedExpr)) {
    match entry {
        EntryExpr::StructField(field) => for_each(&mut field.value, change),
        EntryExpr::MapEntry(entry) => {
            for_each(&mut entry.key, change);
            for_each(&mut entry.value, change);
        }
    }
}
