//! Candidates for a scalar that rules mention: the values of the rules, values beside them, and texts composed of them.

use super::super::tree::{self, Node};
use super::super::value::json;
use super::scene::{Binding, Scene};
use crate::sample::{scalar, text::matching};
use crate::{Schema, number};
use kube_cel::cel::common::ast::{Expr, LiteralValue};
use kube_cel::cel::{IdedExpr, Value as Cel};
use serde_json::Value;
use std::collections::HashSet;
use std::rc::Rc;

/// What an expression suggests for the fields in it.
#[derive(Default)]
pub(super) struct Hints {
    /// The values of its parts.
    pub(super) values: Vec<Cel>,
    /// The texts among them.
    pub(super) texts: Vec<String>,
    shape: Shape,
}

/// What expressions demand of texts.
#[derive(Default)]
struct Shape {
    prefixes: Vec<String>,
    suffixes: Vec<String>,
    parts: Vec<String>,
    patterns: Vec<String>,
    separators: Vec<String>,
    numbers: Vec<i64>,
    texts: Vec<String>,
}

/// The most texts of each sort that are combined.
const COMBINED: usize = 4;

/// The longest text that is made for a bound of its length.
const LONGEST: i64 = 4096;

impl Hints {
    pub(super) fn of<'e>(
        scene: &Scene<'_>,
        expression: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Self {
        let mut hints = Hints {
            shape: Shape::of([expression]),
            ..Hints::default()
        };
        for part in tree::all(expression) {
            match scene.eval(part, scope) {
                Some(Cel::List(items)) => hints.values.extend(items.iter().take(50).cloned()),
                Some(Cel::Map(_) | Cel::Bool(_)) | None => {}
                Some(value) => hints.values.push(value),
            }
        }
        let mut seen = HashSet::new();
        for value in &hints.values {
            if let Cel::String(text) = value
                && seen.insert(text.clone())
            {
                hints.texts.push(text.to_string());
            }
        }
        hints
    }
}

impl Shape {
    fn of<'e>(expressions: impl IntoIterator<Item = &'e IdedExpr>) -> Self {
        let mut shape = Shape::default();
        for part in expressions.into_iter().flat_map(tree::all) {
            match (Node::of(part), literal(part)) {
                (_, Some(Cel::String(text))) => shape.texts.push(text.to_string()),
                (_, Some(Cel::Int(number))) => shape.numbers.push(number),
                (Node::Call(name, arguments), _) => {
                    let [_, argument, ..] = arguments.as_slice() else {
                        continue;
                    };
                    let Some(Cel::String(text)) = literal(argument) else {
                        continue;
                    };
                    match name {
                        "startsWith" => shape.prefixes.push(text.to_string()),
                        "endsWith" => shape.suffixes.push(text.to_string()),
                        "contains" | "indexOf" | "lastIndexOf" => {
                            shape.parts.push(text.to_string())
                        }
                        "matches" | "find" | "findAll" => shape.patterns.push(text.to_string()),
                        "split" => shape.separators.push(text.to_string()),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        for list in [
            &mut shape.prefixes,
            &mut shape.suffixes,
            &mut shape.parts,
            &mut shape.patterns,
            &mut shape.separators,
            &mut shape.texts,
        ] {
            let mut seen = HashSet::new();
            list.retain(|it| seen.insert(it.clone()));
        }
        shape.numbers.sort_unstable();
        shape.numbers.dedup();
        shape
    }
}

fn literal(expression: &IdedExpr) -> Option<Cel> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().into()),
        Expr::Literal(LiteralValue::Int(number)) => Some(Cel::Int(*number.inner())),
        _ => None,
    }
}

/// Values for a field of an expression with these hints, the likely ones first. `rules` are those that apply to the field as well.
pub(super) fn of(
    schema: &Schema,
    name: &str,
    current: &Value,
    hints: &Hints,
    rules: &[Rc<IdedExpr>],
) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    if let Some(allowed) = &schema.enum_ {
        return allowed.clone();
    }
    let type_ = schema.type_.as_deref();
    if type_ == Some("boolean") {
        return vec![true.into(), false.into()];
    }
    values.extend(hints.values.iter().filter_map(|it| json(schema, it)));
    if matches!(type_, Some("integer" | "number")) || schema.int_or_string {
        values.extend(numbers(schema, current, hints));
    }
    if matches!(type_, Some("string")) || schema.int_or_string {
        let current = current.as_str().unwrap_or("example");
        let others = Shape::of(rules.iter().map(|it| &**it));
        values.extend(texts(current, hints, &others).into_iter().map(Value::from));
    }
    values.extend(scalar::candidates(&[schema], name));
    let mut seen = HashSet::new();
    values.retain(|it| seen.insert(it.to_string()));
    values
}

/// Whole numbers near those of the expression, and near the current one.
fn numbers(schema: &Schema, current: &Value, hints: &Hints) -> Vec<Value> {
    let ints = |value: &Cel| match value {
        Cel::Int(number) => Some(*number),
        Cel::Float(number) => Some(*number as i64),
        _ => None,
    };
    let known: Vec<i64> = hints.values.iter().filter_map(ints).collect();
    let current = current.as_i64().unwrap_or_default();
    let mut numbers = Vec::new();
    for number in &known {
        numbers.extend([number.saturating_add(1), number.saturating_sub(1)]);
    }
    for one in known.iter().take(8) {
        for other in known.iter().take(8) {
            let difference = one.saturating_sub(*other);
            numbers.extend([
                current.saturating_add(difference),
                difference,
                one.saturating_add(*other),
            ]);
            numbers.push(current.saturating_add(difference).saturating_add(1));
        }
    }
    numbers.extend(
        (1..=12).flat_map(|step| [current.saturating_add(step), current.saturating_sub(step)]),
    );
    for step in &known {
        numbers.extend((2..6).map(|nth| step.saturating_mul(nth)));
    }
    let step = schema
        .multiple_of
        .as_ref()
        .and_then(|it| it.as_i64())
        .filter(|it| *it > 1);
    if let Some(step) = step {
        let multiples: Vec<_> = numbers
            .iter()
            .map(|it| it.div_euclid(step).saturating_mul(step))
            .collect();
        numbers.extend(multiples.iter().map(|it| it.saturating_add(step)));
        numbers.extend(multiples);
    }
    let mut values: Vec<Value> = numbers.into_iter().map(Value::from).collect();
    if schema.type_.as_deref() == Some("number") {
        let fractions = hints.values.iter().filter_map(|it| match it {
            Cel::Float(number) => Some(*number),
            _ => None,
        });
        let beside = fractions.flat_map(|it| [it + 0.5, it - 0.5, it / 2.0, it + 0.01, it - 0.01]);
        values.extend(beside.filter_map(number::written));
    }
    values
}

/// Texts that the expression and the other rules suggest.
fn texts(current: &str, hints: &Hints, others: &Shape) -> Vec<String> {
    let of = &hints.shape;
    let both = |part: fn(&Shape) -> &Vec<String>| -> Vec<&String> {
        part(of)
            .iter()
            .chain(part(others))
            .take(COMBINED * 2)
            .collect()
    };
    let mut texts: Vec<String> = of.texts.iter().flat_map(|it| beside(it)).collect();
    let patterns = both(|it| &it.patterns);
    let generated: Vec<String> = patterns.iter().flat_map(|it| matching(it, 0)).collect();
    texts.extend(generated.iter().cloned());
    let numbers = of.numbers.iter().chain(&others.numbers);
    let lengths: Vec<i64> = numbers
        .clone()
        .flat_map(|it| [*it, it + 1, it - 1])
        .collect();
    // composed of prefixes, suffixes and parts
    let mut bases = vec![current.to_owned()];
    bases.extend(["example", "a", ""].map(str::to_owned));
    bases.extend(generated.into_iter().take(COMBINED));
    let (prefixes, suffixes) = (both(|it| &it.prefixes), both(|it| &it.suffixes));
    let parts: Vec<String> = both(|it| &it.parts).into_iter().cloned().collect();
    let all_parts = parts.concat();
    let ends = |list: Vec<&String>| -> Vec<String> {
        let list = list.into_iter().take(COMBINED).cloned();
        std::iter::once(String::new()).chain(list).collect()
    };
    let (prefixes, suffixes) = (ends(prefixes), ends(suffixes));
    let middles: Vec<String> = [String::new()]
        .into_iter()
        .chain(parts.into_iter().take(COMBINED))
        .chain([all_parts])
        .collect();
    let mut composed = Vec::new();
    for base in &bases {
        for prefix in prefixes.iter().rev() {
            for suffix in suffixes.iter().rev() {
                for middle in &middles {
                    let base = base.strip_prefix(prefix.as_str()).unwrap_or(base);
                    let base = base.strip_suffix(suffix.as_str()).unwrap_or(base);
                    composed.push(format!("{prefix}{base}{middle}{suffix}"));
                }
            }
        }
    }
    // with the number of parts that `split` is to find
    let counts: Vec<usize> = lengths
        .iter()
        .filter(|it| (1..=8).contains(*it))
        .map(|it| *it as usize)
        .collect();
    let separators = both(|it| &it.separators);
    let mut joined = vec!["example".to_owned()];
    for separator in separators.iter().take(COMBINED) {
        let longer = |text: &String| -> Vec<String> {
            let more = counts
                .iter()
                .map(|count| format!("{text}{}", format!("{separator}example").repeat(count - 1)));
            more.collect()
        };
        let mut next: Vec<String> = joined.iter().flat_map(longer).collect();
        next.truncate(64);
        joined.extend(next);
    }
    if !separators.is_empty() {
        texts.extend(joined);
    }
    // what the current text lacks, before what replaces it
    texts.extend(composed.iter().filter(|it| !it.is_empty()).cloned());
    for length in lengths.iter().filter(|it| (0..=LONGEST).contains(*it)) {
        let length = *length as usize;
        for base in composed
            .iter()
            .take(COMBINED)
            .chain([&"example".to_owned()])
        {
            let missing = length.saturating_sub(base.chars().count());
            texts.push(
                base.chars()
                    .chain("example".chars().cycle().take(missing))
                    .take(length)
                    .collect(),
            );
        }
    }
    for number in numbers.clone().filter(|it| (0..=128).contains(*it)) {
        for prefix in [*number, number + 1, number - 1] {
            texts.extend([format!("10.0.0.0/{prefix}"), format!("fd00::/{prefix}")]);
        }
        texts.extend([
            format!("{number}s"),
            format!("https://example.com:{number}"),
        ]);
    }
    for text in &of.texts {
        texts.extend([
            format!("{text}://example.com"),
            format!("https://{text}"),
            format!("https://example.com{text}"),
        ]);
        texts.push(format!("https://example.com/?{text}=example"));
    }
    texts.extend(numbers.map(i64::to_string));
    texts
}

/// A text of a rule, and texts with a number beside its first or last one: `1Gi` and `2Gi`, `10.0.0.1` and `10.0.0.2`.
fn beside(text: &str) -> Vec<String> {
    let mut texts = vec![text.to_owned()];
    let is_digit = |c: char| c.is_ascii_digit();
    let mut step = |start: usize, end: usize| {
        if let Ok(number) = text[start..end].parse::<u64>() {
            for other in [number.saturating_add(1), number.saturating_sub(1)] {
                texts.push(format!("{}{other}{}", &text[..start], &text[end..]));
            }
        }
    };
    if let Some(start) = text.find(is_digit) {
        let length = text[start..]
            .find(|c| !is_digit(c))
            .unwrap_or(text.len() - start);
        step(start, start + length);
        let end = text.rfind(is_digit).map_or(text.len(), |it| it + 1);
        let start = text[..end].rfind(|c| !is_digit(c)).map_or(0, |it| it + 1);
        if text.is_char_boundary(start) {
            step(start, end);
        }
    }
    texts
}
