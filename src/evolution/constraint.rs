//! Compares the keywords of one schema node that restrict or default its values.

use std::{cmp::Ordering, collections::HashSet};

use operator_schema::{Schema, violations};
use serde_json::{Number, Value, json};

use super::{
    change::Change,
    difference::{Side, shown, transition},
    shape,
    walk::{NodeContext, Walk, default},
};

/// Whether a limit is a lower or an upper one.
#[derive(Clone, Copy)]
enum Limit {
    Least,
    Most,
}

impl Walk<'_> {
    /// Compares the keywords in the order of [`Schema`], except for those that contain other nodes.
    pub fn keywords(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        self.format(before, after, context);
        self.nullable(before, after, context);
        self.default(before, after, context);
        self.values(before, after, context);
        for (keyword, limit, was, is) in [
            (
                "minProperties",
                Limit::Least,
                before.min_properties,
                after.min_properties,
            ),
            (
                "maxProperties",
                Limit::Most,
                before.max_properties,
                after.max_properties,
            ),
            ("minItems", Limit::Least, before.min_items, after.min_items),
            ("maxItems", Limit::Most, before.max_items, after.max_items),
            (
                "minLength",
                Limit::Least,
                before.min_length,
                after.min_length,
            ),
            (
                "maxLength",
                Limit::Most,
                before.max_length,
                after.max_length,
            ),
        ] {
            // a minimum of 0 restricts nothing
            let real = |bound: &i64| matches!(limit, Limit::Most) || *bound > 0;
            let bound = |bound: Option<i64>| bound.filter(real).map(|it| (Number::from(it), false));
            self.bound(keyword, limit, bound(was), bound(is), context);
        }
        for (keyword, limit, was, is) in [
            (
                "minimum",
                Limit::Least,
                (&before.minimum, before.exclusive_minimum),
                (&after.minimum, after.exclusive_minimum),
            ),
            (
                "maximum",
                Limit::Most,
                (&before.maximum, before.exclusive_maximum),
                (&after.maximum, after.exclusive_maximum),
            ),
        ] {
            let bound = |(bound, exclusive): (&Option<Number>, bool)| {
                bound.clone().map(|it| (it, exclusive))
            };
            self.bound(keyword, limit, bound(was), bound(is), context);
        }
        self.multiple(before, after, context);
        self.flag(
            before.unique_items,
            after.unique_items,
            (Change::BoundTightened, "duplicate items are refused"),
            (Change::BoundLoosened, "duplicate items are accepted"),
            "uniqueItems",
            context,
        );
        self.pattern(before, after, context);
        self.unions(before, after, context);
        self.extensions(before, after, context);
    }

    /// Compares a keyword that is true or false.
    pub fn flag(
        &mut self,
        was: bool,
        is: bool,
        (added, is_new): (Change, &str),
        (removed, is_gone): (Change, &str),
        keyword: &str,
        context: NodeContext,
    ) {
        let step = format!("/{keyword}");
        match (was, is) {
            (false, true) => self.report(added, context, Side::After, &step, is_new),
            (true, false) => self.report(removed, context, Side::Before, &step, is_gone),
            _ => {}
        }
    }

    /// Reports a change of a keyword with its old and its new value, one of which may be absent: `pattern ^a -> ^b`.
    fn report_transition(
        &mut self,
        change: Change,
        keyword: &str,
        was: Option<&str>,
        is: Option<&str>,
        context: NodeContext,
    ) {
        let side = match is {
            Some(_) => Side::After,
            None => Side::Before,
        };
        let message = format!("{keyword} {}", transition(was, is));
        self.report(change, context, side, &format!("/{keyword}"), message);
    }

    /// Compares formats. The API server checks a format only for some types, so a change of the type can enable it.
    fn format(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let is_same = before.format == after.format;
        if is_same && shape::json(before) == shape::json(after) {
            return;
        }
        let (was_checked, is_checked) = (is_checked(before), is_checked(after));
        let change = match (was_checked, is_checked) {
            (false, true) => Change::PatternAdded,
            (true, false) => Change::PatternRemoved,
            (true, true) if !is_same => Change::PatternChanged,
            _ => return,
        };
        let was = before.format.as_deref().filter(|_| !is_same || was_checked);
        let is = after.format.as_deref().filter(|_| !is_same || is_checked);
        self.report_transition(change, "format", was, is, context);
    }

    fn pattern(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let pattern = |schema: &Schema| schema.pattern.clone().filter(|it| !it.is_empty());
        let (was, is) = (pattern(before), pattern(after));
        let change = match (&was, &is) {
            _ if was == is => return,
            (None, _) => Change::PatternAdded,
            (_, None) => Change::PatternRemoved,
            _ => Change::PatternChanged,
        };
        self.report_transition(change, "pattern", was.as_deref(), is.as_deref(), context);
    }

    fn nullable(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        self.flag(
            before.nullable,
            after.nullable,
            (Change::NullableAdded, "it may be null"),
            (Change::NullableRemoved, "it may no longer be null"),
            "nullable",
            context,
        );
    }

    /// Compares defaults. A default for a field that was required changes nothing for existing objects.
    fn default(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let (was, is) = (default(before), default(after));
        let change = match (was, is) {
            _ if was == is => return,
            (None, _) if context.was_required => Change::DefaultAddedToRequired,
            (None, _) => Change::DefaultAdded,
            (_, None) => Change::DefaultRemoved,
            _ => Change::DefaultChanged,
        };
        let text = |value: Option<&Value>| value.map(Value::to_string);
        self.report_transition(
            change,
            "default",
            text(was).as_deref(),
            text(is).as_deref(),
            context,
        );
    }

    /// Compares `enum`. For the API server, `null` never satisfies an enum.
    fn values(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let values = |schema: &Schema| {
            let values = schema.enum_.iter().flatten().enumerate();
            values
                .filter(|(_, value)| !value.is_null())
                .map(|(index, value)| (index, value.to_string()))
                .collect::<Vec<_>>()
        };
        let (was, is) = (values(before), values(after));
        let all = |values: &[(usize, String)]| {
            let texts: Vec<&str> = values.iter().map(|(_, text)| text.as_str()).collect();
            shown(&texts.join(", "))
        };
        match (was.is_empty(), is.is_empty()) {
            (true, true) => {}
            (true, false) => {
                let message = format!("any value -> one of {}", all(&is));
                // a null is not in the enum, and the API server refuses it even if an update does not change it
                let is_renewed = context.is_renewed || before.nullable;
                let context = NodeContext {
                    is_renewed,
                    ..context
                };
                self.report(Change::EnumAdded, context, Side::After, "/enum", message);
            }
            (false, true) => {
                let message = format!("one of {} -> any value", all(&was));
                self.report(Change::EnumRemoved, context, Side::Before, "/enum", message);
            }
            (false, false) => {
                let old: HashSet<&String> = was.iter().map(|(_, text)| text).collect();
                let new: HashSet<&String> = is.iter().map(|(_, text)| text).collect();
                for (index, text) in was.iter().filter(|(_, text)| !new.contains(text)) {
                    let (step, text) = (format!("/enum/{index}"), shown(text));
                    let message = format!("the value {text} is removed");
                    self.report(
                        Change::EnumValueRemoved,
                        context,
                        Side::Before,
                        &step,
                        message,
                    );
                }
                for (index, text) in is.iter().filter(|(_, text)| !old.contains(text)) {
                    let (step, text) = (format!("/enum/{index}"), shown(text));
                    let message = format!("the value {text} is added");
                    self.report(Change::EnumValueAdded, context, Side::After, &step, message);
                }
            }
        }
    }

    /// Compares the old and the new bound, each with whether it is exclusive.
    fn bound(
        &mut self,
        keyword: &str,
        limit: Limit,
        was: Option<(Number, bool)>,
        is: Option<(Number, bool)>,
        context: NodeContext,
    ) {
        let change = match (&was, &is) {
            (None, None) => return,
            (None, Some(_)) => Change::BoundTightened,
            (Some(_), None) => Change::BoundLoosened,
            (Some((was, was_exclusive)), Some((is, is_exclusive))) => {
                let order = match limit {
                    Limit::Least => ordered(is, was),
                    Limit::Most => ordered(was, is),
                };
                match order.then(is_exclusive.cmp(was_exclusive)) {
                    Ordering::Greater => Change::BoundTightened,
                    Ordering::Less => Change::BoundLoosened,
                    Ordering::Equal => return,
                }
            }
        };
        let text = |bound: Option<(Number, bool)>| match bound {
            Some((bound, true)) => Some(format!("{bound} (exclusive)")),
            Some((bound, false)) => Some(bound.to_string()),
            None => None,
        };
        self.report_transition(
            change,
            keyword,
            text(was).as_deref(),
            text(is).as_deref(),
            context,
        );
    }

    /// Compares `multipleOf`. A multiple of the old factor is tighter, a divisor is looser.
    fn multiple(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let number = |factor: &Option<Number>| factor.as_ref().and_then(Number::as_f64);
        let is_multiple = |of: f64, factor: f64| (of / factor).fract() == 0.0;
        let change = match (number(&before.multiple_of), number(&after.multiple_of)) {
            (was, is) if was == is => return,
            (None, _) => Change::BoundTightened,
            (_, None) => Change::BoundLoosened,
            (Some(was), Some(is)) if is_multiple(is, was) => Change::BoundTightened,
            (Some(was), Some(is)) if is_multiple(was, is) => Change::BoundLoosened,
            _ => Change::BoundChanged,
        };
        let text = |factor: &Option<Number>| factor.as_ref().map(Number::to_string);
        let (was, is) = (text(&before.multiple_of), text(&after.multiple_of));
        self.report_transition(change, "multipleOf", was.as_deref(), is.as_deref(), context);
    }

    /// Compares `allOf`, `anyOf`, `oneOf` and `not` by their branches, in any order.
    fn unions(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let not = |schema: &Schema| schema.not.iter().map(|it| (**it).clone()).collect();
        let any_of = |schema: &Schema| {
            // it counts as a type, which is compared elsewhere
            if shape::is_only_int_or_string(schema) {
                vec![]
            } else {
                schema.any_of.clone()
            }
        };
        for (keyword, was, is) in [
            ("allOf", before.all_of.clone(), after.all_of.clone()),
            ("anyOf", any_of(before), any_of(after)),
            ("oneOf", before.one_of.clone(), after.one_of.clone()),
            ("not", not(before), not(after)),
        ] {
            let (fewer, more) = (without(&was, &is), without(&is, &was));
            let change = match (keyword, fewer.is_empty(), more.is_empty()) {
                (_, true, true) => continue,
                _ if was.is_empty() => Change::UnionTightened,
                _ if is.is_empty() => Change::UnionLoosened,
                ("allOf", true, false) | ("anyOf", false, true) => Change::UnionTightened,
                ("allOf", false, true) | ("anyOf", true, false) => Change::UnionLoosened,
                _ => Change::UnionChanged,
            };
            let text = |branches: &[Schema]| {
                let text = branches.iter().map(|it| json!(it).to_string());
                Some(text.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
            };
            // the message has only the branches that differ
            let (was, is) = (text(&fewer), text(&more));
            self.report_transition(change, keyword, was.as_deref(), is.as_deref(), context);
        }
    }
}

fn ordered(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let (left, right) = (left.as_f64(), right.as_f64());
            left.partial_cmp(&right).unwrap_or(Ordering::Equal)
        }
    }
}

/// Whether the API server checks the format; it ignores unknown formats.
fn is_checked(schema: &Schema) -> bool {
    let typed = Schema {
        type_: schema.type_.clone(),
        int_or_string: schema.int_or_string,
        ..Schema::default()
    };
    let formatted = Schema {
        format: schema.format.clone(),
        ..typed.clone()
    };
    // no known format accepts all of these
    [json!("\u{1}"), json!(1_i64 << 40), json!(1e300)]
        .iter()
        .any(|value| violations(&formatted, value).len() > violations(&typed, value).len())
}

/// The elements of `all` that are not in `others`, counting duplicates.
fn without(all: &[Schema], others: &[Schema]) -> Vec<Schema> {
    let mut others: Vec<&Schema> = others.iter().collect();
    let mut rest = vec![];
    for schema in all {
        match others.iter().position(|other| *other == schema) {
            Some(index) => drop(others.swap_remove(index)),
            None => rest.push(schema.clone()),
        }
    }
    rest
}
