//! Candidates for scalar values, the most readable first.

use super::text;
use crate::Schema;
use crate::number::written;
use serde_json::{Number, Value};

/// The values that the schemas contain: defaults, examples, enums.
pub(super) fn given<'a>(facets: &[&'a Schema]) -> impl Iterator<Item = &'a Value> {
    let defaults = facets.iter().filter_map(|facet| facet.default.as_ref());
    let examples = facets.iter().filter_map(|facet| facet.example.as_ref());
    let enums = facets
        .iter()
        .filter_map(|facet| facet.enum_.as_deref())
        .flatten();
    defaults
        .chain(examples)
        .chain(enums)
        .filter(|it| !it.is_null())
        .collect::<Vec<_>>()
        .into_iter()
}

/// Candidates of the type of the facets.
pub(crate) fn candidates(facets: &[&Schema], name: &str) -> Vec<Value> {
    let mut candidates = Vec::new();
    let type_ = facets.iter().find_map(|facet| facet.type_.as_deref());
    let int_or_string = facets.iter().any(|facet| facet.int_or_string);
    if matches!(type_, Some("integer" | "number")) || (type_.is_none() && int_or_string) {
        candidates.extend(numbers(facets, type_ == Some("number")));
    }
    if matches!(type_, Some("string") | None) {
        candidates.extend(
            text::candidates(facets, name)
                .into_iter()
                .map(Value::String),
        );
    }
    if type_ == Some("boolean") {
        candidates.extend([Value::Bool(false), Value::Bool(true)]);
    }
    candidates
}

fn numbers(facets: &[&Schema], fractions: bool) -> Vec<Value> {
    let bounds = |bound: fn(&Schema) -> &Option<Number>| {
        facets
            .iter()
            .filter_map(move |facet| bound(facet).as_ref()?.as_f64())
    };
    let least = bounds(|facet| &facet.minimum).reduce(f64::max);
    let most = bounds(|facet| &facet.maximum).reduce(f64::min);
    let step = bounds(|facet| &facet.multiple_of).reduce(f64::max);
    let mut candidates = vec![1.0];
    candidates.extend(least.map(f64::ceil));
    candidates.extend(least.map(|least| least.floor() + 1.0));
    candidates.extend(most.map(f64::floor));
    candidates.extend(most.map(|most| most.ceil() - 1.0));
    candidates.push(0.0);
    for step in step.into_iter().filter(|step| *step > 0.0) {
        candidates.extend([step, -step]);
        candidates.extend(least.map(|least| (least / step).ceil() * step));
        candidates.extend(least.map(|least| ((least / step).floor() + 1.0) * step));
        candidates.extend(most.map(|most| (most / step).floor() * step));
    }
    if fractions {
        candidates.extend(least.into_iter().chain(most));
        candidates.extend(
            least
                .zip(most)
                .map(|(least, most)| f64::midpoint(least, most)),
        );
    }
    candidates.extend((2..10).map(f64::from));
    // The server drops the fraction of a bound: it accepts 0 for `minimum: 0.5`. A sample satisfies the bound as it is written.
    let is_within =
        |it: &f64| least.is_none_or(|least| *it >= least) && most.is_none_or(|most| *it <= most);
    if candidates.iter().any(is_within) {
        candidates.retain(is_within);
    }
    let mut seen = Vec::new();
    for value in candidates.into_iter().filter_map(written) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
