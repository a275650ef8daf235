//! The parsed tree of a rule, with its operators and macros by name.
//!
//! The parser replaces a macro by a comprehension. Here, the macro is recognized by its comprehension.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, operators};

/// A node of the tree.
pub(super) enum Node<'e> {
    /// A literal.
    Literal,
    /// A variable.
    Ident(&'e str),
    /// `operand.field`.
    Select(&'e IdedExpr, &'e str),
    /// `has(operand.field)`.
    Has(&'e IdedExpr, &'e str),
    /// `operand[key]` or `operand[?key]`.
    Index(&'e IdedExpr, &'e IdedExpr),
    /// `[a, b]`.
    List(&'e [IdedExpr]),
    /// An operator or function by its name, with the receiver as the first argument.
    Call(&'e str, Vec<&'e IdedExpr>),
    /// A macro over the items of a list or the keys of a map.
    Macro(Macro<'e>),
    /// A map, a message, or the comprehension of another macro.
    Other,
}

/// A macro over a range.
pub(super) struct Macro<'e> {
    pub(super) kind: MacroKind,
    pub(super) range: &'e IdedExpr,
    pub(super) variable: &'e str,
    pub(super) body: &'e IdedExpr,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl<'e> Node<'e> {
    pub(super) fn of(expression: &'e IdedExpr) -> Self {
        match &expression.expr {
            Expr::Literal(_) => Node::Literal,
            Expr::Ident(name) => Node::Ident(name),
            Expr::Select(select) if select.test => Node::Has(&select.operand, &select.field),
            Expr::Select(select) => Node::Select(&select.operand, &select.field),
            Expr::List(list) => Node::List(&list.elements),
            Expr::Call(call) => {
                let arguments: Vec<_> = call
                    .target
                    .as_deref()
                    .into_iter()
                    .chain(&call.args)
                    .collect();
                match (call.func_name.as_str(), arguments.as_slice()) {
                    (operators::INDEX | operators::OPT_INDEX, [operand, key]) => {
                        Node::Index(operand, key)
                    }
                    (name, _) => Node::Call(name, arguments),
                }
            }
            Expr::Comprehension(inner) => match macro_of(inner) {
                Some(found) => Node::Macro(found),
                None => Node::Other,
            },
            _ => Node::Other,
        }
    }
}

fn macro_of(inner: &ComprehensionExpr) -> Option<Macro<'_>> {
    let Expr::Call(step) = &inner.loop_step.expr else {
        return None;
    };
    let is_list = matches!(inner.accu_init.expr, Expr::List(_));
    let (kind, body) = match (step.func_name.as_str(), step.args.as_slice()) {
        (operators::LOGICAL_AND, [_, body]) => (MacroKind::All, body),
        (operators::LOGICAL_OR, [_, body]) => (MacroKind::Exists, body),
        (operators::CONDITIONAL, [body, ..]) if !is_list => (MacroKind::ExistsOne, body),
        (operators::CONDITIONAL, [body, added, _]) => match added_of(added)?.expr {
            Expr::Ident(ref name) if *name == inner.iter_var => (MacroKind::Filter, body),
            _ => return None,
        },
        (operators::ADD, _) => (MacroKind::Map, added_of(&inner.loop_step)?),
        _ => return None,
    };
    Some(Macro {
        kind,
        range: &inner.iter_range,
        variable: &inner.iter_var,
        body,
    })
}

/// The item that a step adds to the list of results.
fn added_of(step: &IdedExpr) -> Option<&IdedExpr> {
    match &step.expr {
        Expr::Call(call) => match &call.args.get(1)?.expr {
            Expr::List(list) => list.elements.first(),
            _ => None,
        },
        _ => None,
    }
}

/// The direct parts of an expression; of a macro, its range and its body.
pub(super) fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Call(call) => call
            .target
            .as_deref()
            .into_iter()
            .chain(&call.args)
            .collect(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Comprehension(inner) => match macro_of(inner) {
            Some(found) => vec![found.range, found.body],
            None => vec![&inner.iter_range, &inner.loop_step],
        },
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
                EntryExpr::StructField(field) => vec![&field.value],
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// The expression and all expressions within it, from the outside to the inside.
pub(super) fn all(expression: &IdedExpr) -> Vec<&IdedExpr> {
    let mut found = vec![expression];
    let mut next = 0;
    while let Some(expression) = found.get(next) {
        let below = parts(expression);
        found.extend(below);
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::parse::parsed;
    use super::*;

    #[test]
    fn macros_are_recognized_by_their_loops() {
        for (text, kind) in [
            ("a.all(x, x > 1)", MacroKind::All),
            ("a.exists(x, x > 1)", MacroKind::Exists),
            ("a.exists_one(x, x > 1)", MacroKind::ExistsOne),
            ("a.filter(x, x > 1)", MacroKind::Filter),
            ("a.map(x, x > 1)", MacroKind::Map),
        ] {
            let parsed = parsed(text).unwrap();
            let Node::Macro(found) = Node::of(&parsed) else {
                panic!("{text}");
            };
            assert!(found.kind == kind && found.variable == "x", "{text}");
            assert!(matches!(Node::of(found.range), Node::Ident("a")), "{text}");
            assert!(
                matches!(Node::of(found.body), Node::Call("_>_", _)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_map_with_a_condition_is_no_macro_over_all_items() {
        let parsed = parsed("a.map(x, x > 1, x + 1)").unwrap();
        assert!(matches!(Node::of(&parsed), Node::Other));
        assert!(matches!(
            Node::of(&super::super::parse::parsed("has(a.b)").unwrap()),
            Node::Has(_, "b")
        ));
    }
}
