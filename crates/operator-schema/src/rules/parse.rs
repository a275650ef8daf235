//! Parses expressions into a form that the evaluator can run.

use std::borrow::Cow;
use std::cell::Cell;

use super::depth::{MAX_DEPTH, depth};
use super::tree::{MacroKind, Node};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;

/// Why [`read`] fails for an expression that may be valid.
pub(super) const TOO_DEEP: &str = "the expression is nested too deeply";

/// The maximum number of parts that [`with_errors`] adds to an expression.
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
    if depth(expression) > MAX_DEPTH {
        return Err(TOO_DEEP.to_owned());
    }
    let parser = Parser::new().enable_optional_syntax(true);
    let parsed = parser.parse(&without_pairs(expression));
    parsed.map_err(|errors| format!("syntax: {errors}"))
}

/// The expression without pairs of `!` or `-` before a value, which cancel out: the parser takes `!!a` for `!a`.
fn without_pairs(expression: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(expression);
    let bytes = expression.as_bytes();
    let mut at = 0;
    while let Some(first) = bytes.get(at) {
        let rest = &expression[at..];
        let length = match first {
            b'\'' | b'"' => quoted(rest, at > 0 && bytes[at - 1].eq_ignore_ascii_case(&b'r')),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'!' | b'-' => {
                let is_sign = |c: char| c == char::from(*first) || c.is_ascii_whitespace();
                let run = rest.find(|c| !is_sign(c)).unwrap_or(rest.len());
                let before = expression[..at].trim_ascii_end();
                let is_binary = *first == b'-'
                    && before.ends_with(|c: char| c.is_alphanumeric() || "_)]}'\"".contains(c));
                let is_unequal = *first == b'!' && rest[run..].starts_with('=');
                let signs = rest[..run].bytes().filter(|it| it == first).count();
                let unary = signs - usize::from(is_binary || is_unequal);
                if unary > 0 && unary.is_multiple_of(2) {
                    let kept = if is_binary { "-" } else { "" };
                    let kept = if is_unequal { "!" } else { kept };
                    text.to_mut()
                        .replace_range(at..at + run, &format!("{kept:>run$}"));
                }
                run
            }
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        at += length;
    }
    text
}

/// The length of the string literal at the start of a text.
pub(super) fn quoted(text: &str, is_raw: bool) -> usize {
    let quote = &text[..1];
    let quote = if text.starts_with(&quote.repeat(3)) {
        &text[..3]
    } else {
        quote
    };
    let mut at = quote.len();
    while !text[at..].starts_with(quote) {
        let mut rest = text[at..].chars();
        let is_escape = rest.next() == Some('\\') && !is_raw;
        if is_escape {
            rest.next();
        }
        if rest.as_str().is_empty() {
            return text.len();
        }
        at = text.len() - rest.as_str().len();
    }
    at + quote.len()
}

/// An equivalent expression for which the evaluator fails if and only if the API server fails, and with the same error. By itself, the
/// evaluator drops the error of the first argument of a function, and fails for an item of `all` or `exists` even if another item decides.
///
/// `size(a)` becomes `[a, size(a)][1]`, and `a.all(x, p)` becomes `a.all(x, @not_strictly_false(p)) && a.all(x, p)`.
///
/// Nested calls double the expression at each level, so at most [`MOST_ADDED`] parts are added.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_signs_cancel_out() {
        for (text, expected) in [
            ("!!a && !b", "  a && !b"),
            ("! ! !a || !!!!a", "! ! !a ||     a"),
            ("!!a != !!b", "  a !=   b"),
            ("!a!=b", "!a!=b"),
            ("--a - -1", "  a - -1"),
            ("a---b", "a  -b"),
            ("f(x)--y", "f(x)--y"),
            (
                "'!!' + \"--\" + \"\"\"a\"!!\"\"\" // !!",
                "'!!' + \"--\" + \"\"\"a\"!!\"\"\" // !!",
            ),
            (r"'\'!!' == r'\' || !!a", r"'\'!!' == r'\' ||   a"),
            ("'é' == a || !!'open", "'é' == a ||   'open"),
        ] {
            assert_eq!(without_pairs(text), expected);
        }
    }
}
