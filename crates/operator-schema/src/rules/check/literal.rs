//! The checks of the API server after type checking: whether the elements of a list or map have one type, and whether literals are valid
//! regular expressions, durations, times or formats, and can be converted.

use super::super::{evaluate, tree};
use super::format;
use super::infer::Inference;
use super::types::Type;
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue};

/// What is wrong with the literals of an expression whose types were inferred without an error.
pub(super) fn faults(expression: &IdedExpr, inference: &Inference<'_>) -> Vec<String> {
    let mut found = Vec::new();
    visit(expression, inference, false, &mut found);
    found
}

/// Collects what is wrong. If `is_formatted`, the expression is in a call of `format`, whose lists may have elements of several types.
fn visit(
    expression: &IdedExpr,
    inference: &Inference<'_>,
    is_formatted: bool,
    found: &mut Vec<String>,
) {
    let mut is_formatted = is_formatted;
    match &expression.expr {
        Expr::List(list) if !is_formatted => {
            let types = list.elements.iter().enumerate().map(|(index, element)| {
                of_element(inference, element, list.optional_indices.contains(&index))
            });
            found.extend(mixed(types));
        }
        Expr::Map(map) if !is_formatted => {
            let entries = || {
                map.entries.iter().filter_map(|it| match &it.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                })
            };
            found.extend(mixed(entries().map(|it| inference.settled(&it.key))));
            let values = entries().map(|it| of_element(inference, &it.value, it.optional));
            found.extend(mixed(values));
        }
        Expr::Call(call) => {
            is_formatted |= call.func_name == "format";
            found.extend(literal(expression, call));
            found.extend(format::fault(call, inference));
        }
        _ => {}
    }
    for part in parts(expression) {
        visit(part, inference, is_formatted, found);
    }
}

/// Like [`tree::parts`], but of a comprehension also the parts that the macro added.
fn parts(expression: &IdedExpr) -> Vec<&IdedExpr> {
    match &expression.expr {
        Expr::Comprehension(inner) => vec![
            &inner.iter_range,
            &inner.accu_init,
            &inner.loop_step,
            &inner.result,
        ],
        _ => tree::parts(expression),
    }
}

fn of_element<'s>(inference: &Inference<'s>, element: &IdedExpr, is_optional: bool) -> Type<'s> {
    let type_ = inference.settled(element);
    match type_.of_optional() {
        Some(inner) if is_optional => inner,
        _ => type_,
    }
}

/// The error if a type differs from that of the first element.
fn mixed<'s>(mut types: impl Iterator<Item = Type<'s>>) -> Option<String> {
    let first = types.next()?;
    let other = types.find(|it| *it != first)?;
    Some(format!("expected type '{first}' but found '{other}'"))
}

/// What is wrong with a literal argument.
fn literal(expression: &IdedExpr, call: &CallExpr) -> Option<String> {
    let name = call.func_name.as_str();
    let patterns: &[&IdedExpr] = match (name, &call.target, call.args.as_slice()) {
        ("matches" | "find" | "findAll", Some(_), [pattern, ..]) => &[pattern],
        ("matches", None, [text, pattern]) => &[text, pattern],
        _ => &[],
    };
    for pattern in patterns {
        if let Expr::Literal(LiteralValue::String(pattern)) = &pattern.expr
            && let Err(error) = crate::pattern::compiled(pattern.inner())
        {
            return Some(format!("invalid regular expression: {error}"));
        }
    }
    let [argument] = call.args.as_slice() else {
        return None;
    };
    let Expr::Literal(value) = &argument.expr else {
        return None;
    };
    let is_convertible = match (name, value) {
        ("duration", LiteralValue::String(text)) => is_duration(text.inner()),
        // the overload is declared, but an integer literal is rejected
        ("duration", LiteralValue::Int(_)) => false,
        ("timestamp", LiteralValue::String(text)) => {
            is_time(text.inner()) && evaluate::context([]).resolve(expression).is_ok()
        }
        ("timestamp", LiteralValue::Int(seconds)) => {
            (-62_135_596_800..=253_402_300_799).contains(seconds.inner())
        }
        ("bool", LiteralValue::String(_)) => evaluate::context([]).resolve(expression).is_ok(),
        ("int", LiteralValue::String(text)) => text.parse::<i64>().is_ok(),
        ("int", LiteralValue::UInt(value)) => i64::try_from(*value.inner()).is_ok(),
        ("int", LiteralValue::Double(value)) => value.inner().abs() < 2_f64.powi(63),
        ("uint", LiteralValue::String(text)) => {
            text.parse::<u64>().is_ok() && !text.starts_with('+')
        }
        ("uint", LiteralValue::Int(value)) => u64::try_from(*value.inner()).is_ok(),
        ("uint", LiteralValue::Double(value)) => (0.0..2_f64.powi(64)).contains(value.inner()),
        ("double", LiteralValue::String(text)) => is_double(text.inner()),
        _ => true,
    };
    (!is_convertible).then(|| format!("invalid {name} argument"))
}

/// Whether Go parses a text as a `float64`.
fn is_double(text: &str) -> bool {
    if text.contains(['x', 'X']) {
        return text.contains(['p', 'P']);
    }
    let has_digit = text.contains(|c: char| c.is_ascii_digit());
    let number = text.parse::<f64>();
    text.contains('_') || number.is_ok_and(|it| it.is_finite() || !has_digit)
}

/// Whether Go parses a text as a duration, such as `-1h30.5m`.
fn is_duration(text: &str) -> bool {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1.0),
        ("us", 1e3),
        ("µs", 1e3),
        ("μs", 1e3),
        ("ms", 1e6),
        ("s", 1e9),
        ("m", 60e9),
        ("h", 3600e9),
    ];
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut total = 0.0;
    if rest == "0" {
        return true;
    }
    loop {
        let end = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'));
        let (number, unit) = rest.split_at(end.unwrap_or(rest.len()));
        let unit = UNITS
            .iter()
            .find_map(|(name, size)| Some((unit.strip_prefix(name)?, size)));
        let (Ok(number), Some((after, size))) = (number.parse::<f64>(), unit) else {
            return false;
        };
        total += number * size;
        rest = after;
        if rest.is_empty() {
            return total < 2_f64.powi(63);
        }
    }
}

/// Whether Go parses a text as a time, provided that the evaluator does.
fn is_time(text: &str) -> bool {
    let is_separated = text.as_bytes().get(10) == Some(&b'T');
    is_separated && !text.ends_with('z') && !text.starts_with("0000") && !text.contains(":60")
}
