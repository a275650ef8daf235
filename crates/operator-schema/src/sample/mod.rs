//! Finds a small valid value for a schema.
//!
//! The value is built from the required fields and one branch of each union. Each part is checked when it is complete; if it is invalid,
//! the next branch, the next candidate or another optional field is tried, within a budget. If rules still reject the whole value,
//! `rules::solve` edits it. The same schema gives the same sample.

pub(crate) mod scalar;
pub(crate) mod text;

use crate::default::field;
use crate::prune::is_meta;
use crate::validate::is_valid;
use crate::{Schema, SchemaOrBool, Violation, apply_defaults, prune, rules, violations};
use serde_json::{Map, Value};

/// No valid sample was found.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no valid sample was found, the closest has {} violations", .violations.len())]
pub struct NoSample {
    /// The best attempt.
    pub closest: Value,
    /// Its violations.
    pub violations: Vec<Violation>,
}

/// Finds a small object that the API server accepts after defaulting: with the required fields, those that unions require, and `spec`.
///
/// A valid default or example of the schema is preferred. Optional fields are omitted. `apiVersion`, `kind` and `metadata` of the root are
/// left to the caller, unless rules of the root require a name: then `metadata` has one. Rules are evaluated only with the feature `cel`;
/// then the object is edited until all are true. Fails with the best attempt if no valid object was found with a fixed number of tries.
pub fn sample(schema: &Schema) -> Result<Value, NoSample> {
    let has_spec = schema.properties.contains_key("spec");
    let wanted: &[&str] = if has_spec { &["spec"] } else { &[] };
    let root = ValueContext {
        wanted,
        ..ValueContext::default()
    };
    let mut closest = Sampler { budget: BUDGET }.value(vec![schema], &root);
    prune(schema, &mut closest);
    let mut defaulted = closest.clone();
    apply_defaults(schema, &mut defaulted);
    let violations = all_violations(schema, &defaulted);
    if violations.is_empty() {
        return Ok(named(schema, closest));
    }
    rules::solve(schema, &closest, wanted).ok_or(NoSample {
        closest,
        violations,
    })
}

/// Adds the metadata that the rules of the root require.
pub(crate) fn named(schema: &Schema, mut object: Value) -> Value {
    if let Some(metadata) = rules::metadata(schema, &object) {
        object["metadata"] = metadata;
    }
    object
}

/// The violations of a value by the schema, or else by its rules.
fn all_violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut violations = violations(schema, value);
    if violations.is_empty() && !rules::permits(schema, value) {
        violations = rules::broken(schema, value);
    }
    violations
}

/// The maximum number of values that are built, including invalid ones.
const BUDGET: usize = 5_000;

/// How many optional fields are tried one by one if the required fields are not sufficient.
const OPTIONAL_TRIED: usize = 40;

/// A small value that satisfies all facets, if one is found with little effort, and how many values were built for it.
pub(crate) fn smallest(facets: &[&Schema]) -> (Option<Value>, usize) {
    const BUDGET: usize = 400;
    let mut sampler = Sampler { budget: BUDGET };
    let value = sampler.value(facets.to_vec(), &ValueContext::default());
    let spent = BUDGET - sampler.budget;
    if accepts(facets, &value) {
        return (Some(value), spent);
    }
    let solved = facets.first().and_then(|it| rules::solve(it, &value, &[]));
    (solved.filter(|it| accepts(facets, it)), BUDGET)
}

/// A small value of a schema: the `nth` of its different values; the best attempt if no valid one is found.
#[cfg(feature = "cel")]
pub(crate) fn nth(schema: &Schema, name: &str, nth: usize) -> Value {
    let context = ValueContext {
        name,
        skip: nth,
        ..ValueContext::default()
    };
    Sampler { budget: 400 }.value(vec![schema], &context)
}

/// How many pairs of the fields that rules mention are tried.
const PAIRS_TRIED: usize = 100;

struct Sampler {
    budget: usize,
}

/// The context of a value.
#[derive(Clone, Copy, Default)]
struct ValueContext<'p> {
    /// The name of the field.
    name: &'p str,
    /// Optional fields that the value must have.
    wanted: &'p [&'p str],
    /// How many valid candidates to skip, so that the items of a set differ.
    skip: usize,
}

/// All schemas that a value must satisfy. The first is the structural one, the others stem from `allOf` and chosen branches.
pub(crate) type Facets<'a> = Vec<&'a Schema>;

impl Sampler {
    fn value(&mut self, facets: Facets<'_>, context: &ValueContext<'_>) -> Value {
        if self.budget == 0 {
            return Value::Null;
        }
        self.budget -= 1;
        let (mut all, mut unions) = (Vec::new(), Vec::new());
        for facet in facets {
            flatten(facet, &mut all, &mut unions);
        }
        let given: Vec<_> = scalar::given(&all).filter(|it| accepts(&all, it)).collect();
        if context.wanted.is_empty()
            && let Some(given) = given.get(context.skip)
        {
            return (*given).clone();
        }
        let mut closest = None;
        self.resolve(&all, &all, &unions, context, &mut closest)
            .or_else(|| given.last().copied().cloned())
            .or(closest)
            .unwrap_or(Value::Null)
    }

    /// Chooses a branch of each open union. `checked` are the schemas that the value must satisfy, `facets` those that it is built from.
    fn resolve<'a>(
        &mut self,
        checked: &[&'a Schema],
        facets: &[&'a Schema],
        open: &[&'a [Schema]],
        context: &ValueContext<'_>,
        closest: &mut Option<Value>,
    ) -> Option<Value> {
        let Some((union, open)) = open.split_first() else {
            return self.complete(checked, facets, context, closest);
        };
        for branch in *union {
            let (mut facets, mut open) = (facets.to_vec(), open.to_vec());
            flatten(branch, &mut facets, &mut open);
            let value = self.resolve(checked, &facets, &open, context, closest);
            if value.is_some() || self.budget == 0 {
                return value;
            }
        }
        None
    }

    /// Builds the value with the required fields; if that is invalid, with all fields that a branch mentions; then with one optional field,
    /// those that rules mention first; then with two of the fields that rules mention, and with all of them.
    fn complete<'a>(
        &mut self,
        checked: &[&'a Schema],
        facets: &[&'a Schema],
        context: &ValueContext<'_>,
        closest: &mut Option<Value>,
    ) -> Option<Value> {
        let names = |facet: &&'a Schema| facet.properties.keys().map(String::as_str);
        let of_branches: Vec<_> = facets.iter().skip(1).flat_map(names).collect();
        let optional = facets
            .first()
            .into_iter()
            .flat_map(names)
            .take(OPTIONAL_TRIED);
        let more = (!of_branches.is_empty()).then_some(of_branches).into_iter();
        let ruled = facets
            .first()
            .map_or_else(Vec::new, |it| rules::mentioned(it));
        let pairs = ruled
            .iter()
            .enumerate()
            .flat_map(|(nth, one)| ruled.iter().skip(nth + 1).map(|other| vec![*one, *other]));
        let tries = std::iter::once(Vec::new())
            .chain(more)
            .chain(ruled.iter().map(|name| vec![*name]))
            .chain(optional.map(|name| vec![name]))
            .chain(pairs.take(PAIRS_TRIED))
            .chain(std::iter::once(ruled.clone()));
        for extra in tries {
            let wanted = [context.wanted, &extra].concat();
            let context = ValueContext {
                wanted: &wanted,
                ..*context
            };
            let value = self.make(checked, facets, &context)?;
            if accepts(checked, &value) {
                return Some(value);
            }
            let is_object = value.is_object();
            closest.get_or_insert(value);
            if !is_object {
                return None;
            }
        }
        None
    }

    /// Builds a value, which may be invalid; `None` if the budget is used up.
    fn make<'a>(
        &mut self,
        checked: &[&'a Schema],
        facets: &[&'a Schema],
        context: &ValueContext<'_>,
    ) -> Option<Value> {
        self.budget = self.budget.checked_sub(1)?;
        Some(match kind_of(facets) {
            Kind::Object => self.object(facets, context),
            Kind::Array => self.array(facets, context),
            Kind::Scalar => {
                let candidates = scalar::candidates(facets, context.name);
                let mut good = candidates.iter().filter(|it| accepts(checked, it));
                let another = || {
                    let text = candidates
                        .iter()
                        .find(|it| accepts(checked, it))?
                        .as_str()?;
                    let another = Value::from(text::another(text, context.skip)?);
                    Some(another).filter(|it| accepts(checked, it))
                };
                let nth = good.nth(context.skip).cloned().or_else(another);
                nth.or(candidates.first().cloned()).unwrap_or(Value::Null)
            }
        })
    }

    fn object(&mut self, facets: &[&Schema], context: &ValueContext<'_>) -> Value {
        let least = most_of(facets, |facet| facet.min_properties);
        let mut map = Map::new();
        for key in keys(facets, context.wanted, least) {
            // the server drops the field before it evaluates unions
            if facets.first().is_some_and(|schema| !keeps(schema, key)) {
                continue;
            }
            let fields = facets
                .iter()
                .filter_map(|facet| field(facet, key))
                .collect();
            let context = ValueContext {
                name: key,
                skip: context.skip,
                wanted: &[],
            };
            map.insert(key.to_owned(), self.value(fields, &context));
        }
        let any = facets
            .iter()
            .find_map(|facet| facet.additional_properties.as_ref());
        let fields = match any {
            Some(SchemaOrBool::Schema(schema)) => vec![schema.as_ref()],
            Some(SchemaOrBool::Bool(true)) => Vec::new(),
            Some(SchemaOrBool::Bool(false)) | None => return Value::Object(map),
        };
        for n in 0..least.saturating_sub(map.len()) {
            map.insert(
                text::numbered(n),
                self.value(fields.clone(), &ValueContext::default()),
            );
        }
        Value::Object(map)
    }

    fn array(&mut self, facets: &[&Schema], context: &ValueContext<'_>) -> Value {
        let items: Facets<'_> = facets.iter().filter_map(|it| it.items.as_deref()).collect();
        let is_keyed = |it: &Schema| matches!(it.list_type.as_deref(), Some("set" | "map"));
        let distinct = facets.iter().any(|it| it.unique_items || is_keyed(it));
        let least = most_of(facets, |facet| facet.min_items);
        let item = |n| ValueContext {
            skip: context.skip + if distinct { n } else { 0 },
            ..ValueContext::default()
        };
        let mut list = Vec::new();
        for n in 0..least {
            if self.budget == 0 {
                break;
            }
            list.push(self.value(items.clone(), &item(n)));
        }
        Value::Array(list)
    }
}

/// The members of an object, in the order of the structural schema as far as it specifies them.
fn keys<'a>(facets: &[&'a Schema], wanted: &[&'a str], least: usize) -> Vec<&'a str> {
    let required = facets
        .iter()
        .flat_map(|facet| facet.required.iter().map(String::as_str));
    let embedded = facets.iter().any(|facet| facet.embedded_resource);
    let meta = if embedded {
        ["apiVersion", "kind"].as_slice()
    } else {
        &[]
    };
    let named: Vec<&str> = required
        .chain(wanted.iter().copied())
        .chain(meta.iter().copied())
        .collect();
    let (mut keys, rest): (Vec<&str>, Vec<&str>) = facets
        .first()
        .into_iter()
        .flat_map(|it| it.properties.keys().map(String::as_str))
        .partition(|key| named.contains(key));
    for key in named {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let missing = least.saturating_sub(keys.len());
    keys.into_iter()
        .chain(rest.into_iter().take(missing))
        .collect()
}

/// The largest size of lists and maps in a sample.
const LARGEST: usize = 1000;

/// The kind of value that facets describe.
pub(crate) enum Kind {
    Object,
    Array,
    Scalar,
}

pub(crate) fn kind_of(facets: &[&Schema]) -> Kind {
    match facets.iter().find_map(|facet| facet.type_.as_deref()) {
        Some("object") => Kind::Object,
        Some("array") => Kind::Array,
        Some(_) => Kind::Scalar,
        None if facets
            .iter()
            .any(|it| !it.properties.is_empty() || !it.required.is_empty()) =>
        {
            Kind::Object
        }
        None if facets
            .iter()
            .any(|it| it.preserve_unknown_fields == Some(true)) =>
        {
            Kind::Object
        }
        None => Kind::Scalar,
    }
}

/// The largest lower bound of the facets, up to a limit.
pub(crate) fn most_of(facets: &[&Schema], bound: impl Fn(&Schema) -> Option<i64>) -> usize {
    let most = facets.iter().filter_map(|facet| bound(facet)).max();
    most.and_then(|most| usize::try_from(most).ok())
        .unwrap_or(0)
        .min(LARGEST)
}

/// Adds a schema with all its `allOf` schemas to the facets, and their unions.
pub(crate) fn flatten<'a>(
    schema: &'a Schema,
    facets: &mut Facets<'a>,
    unions: &mut Vec<&'a [Schema]>,
) {
    facets.push(schema);
    let of_schema = [schema.one_of.as_slice(), schema.any_of.as_slice()];
    unions.extend(of_schema.into_iter().filter(|union| !union.is_empty()));
    for part in &schema.all_of {
        flatten(part, facets, unions);
    }
}

/// Whether pruning keeps a field of an object, as far as that depends on its name.
fn keeps(schema: &Schema, key: &str) -> bool {
    is_meta(key)
        || schema.preserve_unknown_fields == Some(true)
        || matches!(schema.additional_properties, Some(SchemaOrBool::Bool(_)))
        || field(schema, key).is_some()
}

/// Whether the value satisfies all facets after defaulting.
pub(crate) fn accepts(facets: &[&Schema], value: &Value) -> bool {
    let mut defaulted = value.clone();
    if let Some(structural) = facets.first() {
        apply_defaults(structural, &mut defaulted);
    }
    facets.iter().all(|facet| is_valid(facet, &defaulted))
        && facets
            .first()
            .is_none_or(|schema| rules::permits(schema, &defaulted))
}
