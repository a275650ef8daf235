//! The limits of the costs of rules, and the bounds in the schema that would lower a cost.

use super::Estimate;
use super::declared::{Part, REQUEST, bound};
use super::path::{ITEMS, VALUES};
use crate::pointer::unescape;
use crate::rules::check::Parsed;
use crate::rules::check::infer::Inference;
use crate::rules::value::escaped;
use crate::{Schema, SchemaOrBool};
use std::collections::{BTreeMap, HashSet};
use std::ptr;

/// The maximum cost of an expression, for all values for which it is evaluated: `StaticEstimatedCostLimit` of the API server.
pub(in crate::rules::check) const RULE_LIMIT: u64 = 10_000_000;

/// The maximum cost of all expressions of a version: `StaticEstimatedCRDCostLimit` of the API server.
pub(in crate::rules::check) const VERSION_LIMIT: u64 = 100_000_000;

/// A bound that makes most rules cheap.
pub(super) const LOW: u64 = 64;

/// An expression of a rule, at its place in the schema.
pub(in crate::rules::check) struct Rated<'s> {
    pub(in crate::rules::check) parsed: Parsed,
    pub(in crate::rules::check) inference: Inference<'s>,
    pub(in crate::rules::check) part: Part<'s>,
    pub(in crate::rules::check) text: &'s str,
    /// A pointer to the schema with the rule.
    pub(in crate::rules::check) place: String,
    /// A pointer to the expression.
    pub(in crate::rules::check) pointer: String,
    /// The maximum number of values for which it is evaluated; `None` without a bound.
    pub(in crate::rules::check) count: Option<u64>,
}

/// Schemas by the paths of their fields.
type Fields<'s> = BTreeMap<String, &'s Schema>;

impl<'s> Rated<'s> {
    /// The cost of one evaluation, if it is known, and the number of evaluations.
    pub(in crate::rules::check) fn cost(&self) -> Option<(u64, u64)> {
        let (cost, _) = self.estimated(&HashSet::new())?;
        Some((cost, self.count.unwrap_or_else(|| fitting(self.part))))
    }

    /// The cost of one evaluation, and the schemas that it depends on.
    fn estimated(&self, bounded: &HashSet<*const Schema>) -> Option<(u64, Fields<'s>)> {
        let expression = self.parsed.as_ref().as_ref().ok()?;
        let mut estimate = Estimate::new(&self.inference, self.part, bounded);
        let cost = estimate.cost(expression);
        let used = estimate
            .used
            .into_iter()
            .map(|(steps, schema)| (self.field(&steps), schema));
        (!estimate.is_unknown).then(|| (cost, used.collect()))
    }

    /// The path of the field to which `steps` lead from the schema with the rule.
    fn field(&self, steps: &[&str]) -> String {
        let (mut place, mut part) = (field(&self.place), Some(self.part));
        for step in steps {
            let name = part
                .and_then(Part::schema)
                .into_iter()
                .flat_map(|it| it.properties.keys())
                .find(|it| escaped(it).as_deref() == Some(step));
            place = joined(place, name.map_or(step, String::as_str));
            part = part.and_then(|it| it.step(step));
        }
        place
    }

    /// The advice on how to lower the cost of the expression to `limit`: the bounds that the schema lacks, the most effective first.
    pub(in crate::rules::check) fn advice(&self, root: &'s Schema, limit: u64) -> String {
        let around = if self.pointer.ends_with("/rule") {
            around(root, &self.place)
        } else {
            Fields::new()
        };
        let cost = |bounded: &HashSet<*const Schema>| {
            let (once, mut used) = self.estimated(bounded).unwrap_or_default();
            let count = around.values().try_fold(1_u64, |count, schema| {
                let is_bounded = bounded.contains(&ptr::from_ref(*schema));
                let most = most(schema).flatten();
                Some(count.saturating_mul(if is_bounded { LOW } else { most? }))
            });
            let large = around.iter().filter(|(_, schema)| {
                let most = most(schema).flatten();
                most.is_none_or(|it| it > LOW) && !bounded.contains(&ptr::from_ref(**schema))
            });
            used.extend(large.map(|(field, schema)| (field.clone(), *schema)));
            let count = count.unwrap_or_else(|| fitting(self.part));
            (once.saturating_mul(count), used)
        };
        let mut bounded = HashSet::new();
        let mut bounds = Vec::new();
        loop {
            let (before, used) = cost(&bounded);
            if before <= limit {
                break;
            }
            let after = |(_, schema): &(&String, &&'s Schema)| {
                let mut bounded = bounded.clone();
                bounded.insert(ptr::from_ref(**schema));
                cost(&bounded).0
            };
            let best = used
                .iter()
                .min_by_key(after)
                .filter(|it| after(it) < before);
            // A single bound has no effect if several surrounding lists have none, or if the cost is saturated. Then any of them is taken.
            let best = best.or_else(|| {
                used.iter()
                    .find(|it| before == u64::MAX || around.contains_key(it.0))
            });
            let Some((field, schema)) = best else {
                break;
            };
            bounded.insert(ptr::from_ref(*schema));
            bounds.extend(bound(schema).map(|(keyword, value)| match value {
                Some(value) => format!("lowering {keyword} of {field} ({value})"),
                None => format!("adding {keyword} to {field}"),
            }));
        }
        if bounds.is_empty() {
            "try simplifying the rule".to_owned()
        } else {
            format!("try {}, or simplifying the rule", bounds.join(" and "))
        }
    }
}

/// How many times the limit a cost is, as the API server prints it.
pub(in crate::rules::check) fn factor(cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    match factor {
        _ if factor > 100.0 => "more than 100x".to_owned(),
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    }
}

/// The number of values of a schema that fit into a request.
fn fitting(part: Part<'_>) -> u64 {
    (REQUEST / (part.least_bytes() + 1)) as u64
}

/// The maximum number of values directly below a schema, if there are at most `around` values of the schema itself.
pub(in crate::rules::check) fn counted(around: Option<u64>, schema: &Schema) -> Option<u64> {
    match most(schema) {
        Some(most) => Some(around?.saturating_mul(most?)),
        None => around,
    }
}

/// The bound of a list or map, which may be absent; `None` for other schemas.
fn most(schema: &Schema) -> Option<Option<u64>> {
    let (keyword, most) = bound(schema)?;
    (keyword != "maxLength").then(|| most.map(|it| it.max(0) as u64))
}

/// The lists and maps that surround a place.
fn around<'s>(root: &'s Schema, place: &str) -> Fields<'s> {
    let mut found = Fields::new();
    let mut schema = Some(root);
    let mut tokens = place.match_indices('/').map(|(at, _)| at);
    let mut end = tokens.next();
    while let (Some(at), Some(current)) = (end, schema) {
        if most(current).is_some() {
            found.insert(field(&place[..at]), current);
        }
        let mut keyword = place[at + 1..].split('/');
        schema = match keyword.next() {
            Some("items") => current.items.as_deref(),
            Some("additionalProperties") => match &current.additional_properties {
                Some(SchemaOrBool::Schema(values)) => Some(values),
                _ => None,
            },
            _ => {
                tokens.next();
                keyword
                    .next()
                    .map(unescape)
                    .and_then(|it| current.properties.get(it.as_ref()))
            }
        };
        end = tokens.next();
    }
    found
}

/// The path of a field in messages, such as `spec.hosts[*]`, for a pointer in a schema.
fn field(pointer: &str) -> String {
    let mut field = String::new();
    let mut tokens = pointer.split('/').skip(1);
    while let Some(token) = tokens.next() {
        field = match token {
            "properties" => joined(field, &unescape(tokens.next().unwrap_or_default())),
            "items" => joined(field, ITEMS),
            _ => joined(field, VALUES),
        };
    }
    field
}

fn joined(field: String, step: &str) -> String {
    match step {
        ITEMS => field + "[*]",
        VALUES => field + ".*",
        _ if field.is_empty() => step.to_owned(),
        _ => format!("{field}.{step}"),
    }
}
