//! Candidates for a scalar that rules mention: the values in the rules, their neighbors, and texts that are composed of them.

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

/// The maximum number of texts of each sort that are combined.
const COMBINED: usize = 4;

/// The maximum length of a text that is generated for a bound of its length.
const LONGEST: usize = 4096;

/// The maximum numbers of items of a list, and of numbers, that are combined.
const ITEMS: usize = 50;
const NUMBERS: usize = 8;

/// The maximum distance of tried numbers from the current one.
const NEAR: i64 = 12;

/// The maximum numbers of composed texts, and of those with separators for each separator.
const TEXTS: usize = 400;
const JOINED: usize = 32;

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
                Some(Cel::List(items)) => {
                    hints.values.extend(items.iter().take(ITEMS).cloned());
                    hints.values.push(Cel::List(items));
                }
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
                            shape.parts.push(text.to_string());
                        }
                        "matches" | "find" | "findAll" => shape.patterns.push(text.to_string()),
                        "split" => shape.separators.push(text.to_string()),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        shape.numbers.sort_unstable();
        shape
    }

    /// The demands of both, its own first, with each text once.
    fn with(&self, other: Shape) -> Shape {
        let both = |own: &[String], more: Vec<String>| {
            let mut all = own.to_vec();
            all.extend(more);
            let mut seen = HashSet::new();
            all.retain(|it| seen.insert(it.clone()));
            all
        };
        let mut numbers = [self.numbers.as_slice(), &other.numbers].concat();
        numbers.dedup();
        Shape {
            prefixes: both(&self.prefixes, other.prefixes),
            suffixes: both(&self.suffixes, other.suffixes),
            parts: both(&self.parts, other.parts),
            patterns: both(&self.patterns, other.patterns),
            separators: both(&self.separators, other.separators),
            texts: both(&self.texts, other.texts),
            numbers,
        }
    }

    /// Whether a text is only a part of those that the rules demand.
    fn is_part(&self, text: &str) -> bool {
        let lists = [
            &self.prefixes,
            &self.suffixes,
            &self.parts,
            &self.patterns,
            &self.separators,
        ];
        lists.into_iter().flatten().any(|it| it == text)
    }
}

fn literal(expression: &IdedExpr) -> Option<Cel> {
    match &expression.expr {
        Expr::Literal(LiteralValue::String(text)) => Some(text.inner().into()),
        Expr::Literal(LiteralValue::Int(number)) => Some(Cel::Int(*number.inner())),
        _ => None,
    }
}

/// Values for a field in an expression with these hints, the likely ones first. `rules` are all rules of the value with the field.
pub(super) fn of(
    schema: &Schema,
    name: &str,
    current: &Value,
    hints: &Hints,
    rules: &[Rc<IdedExpr>],
) -> Vec<Value> {
    if let Some(allowed) = &schema.enum_ {
        return allowed.clone();
    }
    let type_ = schema.type_.as_deref();
    if type_ == Some("boolean") {
        return vec![true.into(), false.into()];
    }
    let shape = &hints.shape;
    let is_whole = |it: &&Cel| !matches!(it, Cel::String(text) if shape.is_part(text));
    let known = hints.values.iter().filter(is_whole);
    let mut values: Vec<Value> = known.filter_map(|it| json(schema, it)).collect();
    if matches!(type_, Some("integer" | "number")) || schema.int_or_string {
        values.extend(numbers(schema, current, hints));
    }
    if matches!(type_, Some("string")) || schema.int_or_string {
        let near = values.iter().filter_map(Value::as_str).flat_map(neighbors);
        let near: Vec<_> = near.map(Value::from).collect();
        values.extend(near);
        let current = current.as_str().unwrap_or("example");
        let shape = shape.with(Shape::of(rules.iter().map(|it| &**it)));
        values.extend(texts(current, &shape).into_iter().map(Value::from));
        values.extend(scalar::candidates(&[schema], name));
        values.extend(composites(current, &shape).into_iter().map(Value::from));
    }
    values.extend(scalar::candidates(&[schema], name));
    let mut seen = HashSet::new();
    values.retain(|it| seen.insert(it.to_string()));
    values
}

/// Numbers near those of the expression, and near the current one.
fn numbers(schema: &Schema, current: &Value, hints: &Hints) -> Vec<Value> {
    let mut values = Vec::new();
    if schema.type_.as_deref() == Some("number") {
        let fractions = hints.values.iter().filter_map(|it| match it {
            Cel::Float(number) => Some(*number),
            _ => None,
        });
        let near = fractions.flat_map(|it| [it + 0.5, it - 0.5, it / 2.0, it + 0.01, it - 0.01]);
        values.extend(near.filter_map(number::written));
    }
    let ints = |value: &Cel| match value {
        Cel::Int(number) => Some(*number),
        Cel::Float(number) => Some(*number as i64),
        _ => None,
    };
    let known: Vec<i64> = hints.values.iter().filter_map(ints).take(NUMBERS).collect();
    let current = current.as_i64().unwrap_or_default();
    let mut numbers = Vec::new();
    for number in &known {
        numbers.extend([number.saturating_add(1), number.saturating_sub(1)]);
    }
    for one in &known {
        for other in &known {
            let difference = one.saturating_sub(*other);
            let moved = current.saturating_add(difference);
            numbers.extend([
                moved,
                difference,
                one.saturating_add(*other),
                moved.saturating_add(1),
            ]);
        }
    }
    let steps = 1..=NEAR;
    numbers.extend(steps.flat_map(|it| [current.saturating_add(it), current.saturating_sub(it)]));
    for number in &known {
        numbers.extend((2..6).map(|times| number.saturating_mul(times)));
        numbers.extend((2..6).map(|times| number / times));
    }
    let step = schema
        .multiple_of
        .as_ref()
        .and_then(serde_json::Number::as_i64);
    if let Some(step) = step.filter(|it| *it > 1) {
        let below = |it: &i64| it.div_euclid(step).saturating_mul(step);
        let multiples: Vec<_> = numbers.iter().map(below).collect();
        numbers.extend(multiples.iter().map(|it| it.saturating_add(step)));
        numbers.extend(multiples);
    }
    values.extend(numbers.into_iter().map(Value::from));
    values
}

/// Texts that are composed as the rules demand, with their prefixes, parts, suffixes, lengths and numbers of parts.
fn texts(current: &str, shape: &Shape) -> Vec<String> {
    let generated: Vec<String> = shape
        .patterns
        .iter()
        .flat_map(|it| matching(it, 0).to_vec())
        .collect();
    let mut bases = vec![current.to_owned(), "example".to_owned()];
    bases.extend(generated.iter().take(COMBINED).cloned());
    bases.extend(joined(shape));
    bases.extend(["a", ""].map(str::to_owned));
    let with_none = |list: &[String]| -> Vec<String> {
        let list = list.iter().take(COMBINED).cloned();
        list.chain([String::new()]).collect()
    };
    let prefixes = with_none(&shape.prefixes);
    let suffixes = with_none(&shape.suffixes);
    let mut parts = with_none(&shape.parts);
    parts.insert(0, shape.parts.concat());
    let mut texts = generated;
    let ends = || {
        prefixes
            .iter()
            .flat_map(|prefix| suffixes.iter().map(move |suffix| (prefix, suffix)))
    };
    let length = |text: &str| text.chars().count();
    let sizes: Vec<usize> = shape
        .numbers
        .iter()
        .flat_map(|it| [*it, it.saturating_add(1), it.saturating_sub(1)])
        .filter_map(|it| usize::try_from(it).ok())
        .collect();
    for (prefix, suffix) in ends() {
        for part in &parts {
            for base in &bases {
                let base = base.strip_prefix(prefix.as_str()).unwrap_or(base);
                let base = base.strip_suffix(suffix.as_str()).unwrap_or(base);
                let part = if base.contains(part.as_str()) {
                    ""
                } else {
                    part
                };
                texts.push(format!("{prefix}{base}{part}{suffix}"));
            }
            for size in sizes.iter().filter(|it| **it <= LONGEST) {
                let around = length(prefix) + length(part) + length(suffix);
                let fill = current.chars().chain("example".chars().cycle());
                let fill: String = fill.take(size.saturating_sub(around)).collect();
                texts.push(format!("{prefix}{fill}{part}{suffix}"));
            }
        }
    }
    texts.truncate(TEXTS);
    texts
}

/// Texts with the numbers of parts that `split` should return.
fn joined(shape: &Shape) -> Vec<String> {
    const MOST: i64 = 8;
    let counts: Vec<usize> = shape
        .numbers
        .iter()
        .flat_map(|it| [*it, it.saturating_add(1), it.saturating_sub(1)])
        .filter(|it| (2..=MOST).contains(it))
        .filter_map(|it| usize::try_from(it).ok())
        .collect();
    let mut texts = vec!["example".to_owned()];
    for separator in shape.separators.iter().take(COMBINED) {
        let more = |text: &String| -> Vec<String> {
            let one = format!("{separator}example");
            counts
                .iter()
                .map(|count| format!("{text}{}", one.repeat(count - 1)))
                .collect()
        };
        let longer: Vec<String> = texts.iter().flat_map(more).take(JOINED).collect();
        texts.extend(longer);
    }
    texts.split_off(1)
}

/// Versions, addresses and URLs with the texts and numbers of the rules, and the current text with them.
fn composites(current: &str, shape: &Shape) -> Vec<String> {
    let mut texts: Vec<String> = shape
        .texts
        .iter()
        .filter(|it| shape.is_part(it))
        .cloned()
        .collect();
    for number in shape
        .numbers
        .iter()
        .flat_map(|it| [*it, it.saturating_add(1), it.saturating_sub(1)])
        .filter(|it| *it >= 0)
        .take(NUMBERS)
    {
        texts.extend([
            format!("{number}.0.0"),
            format!("v{number}.0.0"),
            format!("{number}s"),
        ]);
        texts.extend([format!("10.0.0.0/{number}"), format!("fd00::/{number}")]);
        texts.extend([number.to_string(), format!("https://example.com:{number}")]);
    }
    // combinations of two parts, each of which has a pattern
    let first = |pattern: &String| {
        let texts = matching(pattern, 1);
        texts.get(1).or(texts.first()).cloned()
    };
    let parts: Vec<String> = shape
        .patterns
        .iter()
        .filter_map(first)
        .take(COMBINED)
        .collect();
    for separator in shape.separators.iter().take(COMBINED) {
        for one in &parts {
            texts.extend(parts.iter().map(|other| format!("{one}{separator}{other}")));
        }
    }
    for text in shape.texts.iter().take(NUMBERS) {
        texts.extend([
            format!("{current}{text}"),
            format!("{text}{current}"),
            format!("{current}:{text}"),
        ]);
        texts.extend([format!("{text}://example.com"), format!("https://{text}")]);
        texts.extend([
            format!("https://example.com{text}"),
            format!("https://example.com:{text}"),
        ]);
        texts.push(format!("https://example.com/?{text}=example"));
    }
    texts
}

/// The texts in which the first or the last number of a text is one greater or less: `2Gi` for `1Gi`, `10.0.0.2` for `10.0.0.1`.
fn neighbors(text: &str) -> Vec<String> {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut texts = Vec::new();
    let mut step = |start: usize, end: usize| {
        if let Ok(number) = text[start..end].parse::<u64>() {
            for other in [number.saturating_add(1), number.saturating_sub(1)] {
                texts.push(format!("{}{other}{}", &text[..start], &text[end..]));
            }
        }
    };
    let runs: Vec<_> = text
        .split(|c| !is_digit(c))
        .filter(|run| !run.is_empty())
        .collect();
    for run in runs.first().into_iter().chain(runs.last()) {
        let start = run.as_ptr() as usize - text.as_ptr() as usize;
        step(start, start + run.len());
    }
    texts
}
