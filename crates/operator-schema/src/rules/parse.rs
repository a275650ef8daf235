//! Parses expressions into a form that the evaluator can run.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, operators};
use kube_cel::cel::parser::Parser;

/// Parses an expression, with `a.?b` as `a[?"b"]`, because the evaluator fails for the former if the field is absent.
pub(super) fn parsed(expression: &str) -> Result<IdedExpr, String> {
    let parser = Parser::new().enable_optional_syntax(true);
    let mut parsed = parser
        .parse(expression)
        .map_err(|errors| format!("syntax: {errors}"))?;
    select_by_index(&mut parsed);
    Ok(parsed)
}

fn select_by_index(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if call.func_name == operators::OPT_SELECT {
                call.func_name = operators::OPT_INDEX.to_owned();
            }
            call.target
                .as_deref_mut()
                .into_iter()
                .chain(&mut call.args)
                .for_each(select_by_index);
        }
        Expr::Comprehension(inner) => {
            for part in [
                &mut inner.iter_range,
                &mut inner.accu_init,
                &mut inner.loop_cond,
                &mut inner.loop_step,
                &mut inner.result,
            ] {
                select_by_index(part);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(select_by_index),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .for_each(|entry| entry_by_index(&mut entry.expr)),
        Expr::Struct(made) => made
            .entries
            .iter_mut()
            .for_each(|entry| entry_by_index(&mut entry.expr)),
        Expr::Select(select) => select_by_index(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
    }
}

fn entry_by_index(entry: &mut EntryExpr) {
    match entry {
        EntryExpr::StructField(field) => select_by_index(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            select_by_index(&mut entry.key);
            select_by_index(&mut entry.value);
        }
    }
}
