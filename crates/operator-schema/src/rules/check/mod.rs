//! Checks the CEL rules of a schema as the API server does when a CRD is created: their syntax, their types, where they use `oldSelf`, and
//! their costs.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>

mod catalogue;
mod cost;
mod declared;
mod expand;
mod format;
mod infer;
mod literal;
mod types;

use self::cost::{ITEMS, Part, RULE_LIMIT, Rated, VALUES, VERSION_LIMIT, counted, factor};
use self::declared::declared;
use self::infer::Inference;
use self::types::Type;
use super::depth::with_stack;
use super::value::escaped;
use super::{has_rules, parse};
use crate::pointer::escape;
use crate::{Rule, Schema, SchemaOrBool};
use kube_cel::cel::IdedExpr;
use std::collections::HashMap;
use std::rc::Rc;

/// A rule that the API server refuses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{pointer}: {message}: {rule}")]
pub struct RuleFault {
    /// A JSON pointer from the root of the schema to the keyword.
    pub pointer: String,
    /// The CEL expression.
    pub rule: String,
    /// The kind of the fault.
    pub kind: RuleFaultKind,
    /// The reason, as in the API server.
    pub message: String,
}

/// The kind of a [`RuleFault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RuleFaultKind {
    /// The expression is not valid CEL.
    Syntax,
    /// A field, type or operation in the expression does not fit the schema.
    Type,
    /// The expression calls a function that neither the API server of the catalogue has, nor an older one.
    UnknownFunction,
    /// The expression is nested too deeply to be checked.
    TooDeep,
    /// The expression may cost too much, since the schema lacks bounds.
    Cost,
}

/// The cost of an expression of a rule, as the API server estimates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleCost {
    /// A JSON pointer from the root of the schema to the keyword.
    pub pointer: String,
    /// The maximum cost of one evaluation.
    pub once: u64,
    /// The maximum number of values of an object for which it is evaluated.
    pub count: u64,
}

/// The rules of a schema for which the API server refuses the CRD. `schema` is the root of a version.
pub fn rule_faults(schema: &Schema) -> Vec<RuleFault> {
    let mut check = Check::of(schema);
    check.total();
    check.faults
}

/// The costs of the rules of a schema and of their message expressions, except those with another fault. `schema` is the root of a version.
pub fn rule_costs(schema: &Schema) -> Vec<RuleCost> {
    Check::of(schema).costs
}

/// What the surrounding schemas determine about a schema.
#[derive(Clone)]
struct Place<'s> {
    pointer: String,
    is_root: bool,
    /// The maximum number of values of the schema in an object; `None` without a bound.
    count: Option<u64>,
    /// Whether a surrounding schema has rules.
    is_within_rules: bool,
    /// The type and the declaration of sizes, if the surrounding schema determines them.
    declared: Option<Declared<'s>>,
    /// The pointer of the outermost surrounding list or object in which old and new values do not correspond.
    uncorrelated: Option<String>,
}

type Declared<'s> = (Type<'s>, Part<'s>);

type Parsed = Rc<Result<IdedExpr, String>>;

struct Check<'s> {
    root: &'s Schema,
    faults: Vec<RuleFault>,
    costs: Vec<RuleCost>,
    /// The most expensive of the expressions that are within the limit of one rule, and its cost.
    greatest: Option<(u64, Rated<'s>)>,
    /// The parsed expressions, because many of them occur at several places.
    parsed: HashMap<&'s str, Parsed>,
}

impl<'s> Check<'s> {
    fn of(root: &'s Schema) -> Self {
        let mut check = Self {
            root,
            faults: Vec::new(),
            costs: Vec::new(),
            greatest: None,
            parsed: HashMap::new(),
        };
        let place = Place {
            pointer: String::new(),
            is_root: true,
            count: Some(1),
            is_within_rules: false,
            declared: None,
            uncorrelated: None,
        };
        with_stack(|| check.at(root, &place));
        check
    }

    /// Checks the rules of a schema, and of the schemas below it.
    fn at(&mut self, schema: &'s Schema, place: &Place<'s>) {
        if !has_rules(schema) {
            return;
        }
        let is_within_rules = place.is_within_rules || !schema.validations.is_empty();
        let own = || {
            let is_resource = place.is_root || schema.embedded_resource;
            let type_ = declared(schema, is_resource)?;
            Some((type_, Part::of(schema, is_resource)))
        };
        let known = is_within_rules
            .then(|| place.declared.clone().or_else(own))
            .flatten();
        for (index, rule) in schema.validations.iter().enumerate() {
            self.rule(rule, index, place, known.as_ref());
        }
        let count = counted(place.count, schema);
        let below = |step: &str, declared: Option<Declared<'s>>, is_correlated: bool| {
            let uncorrelated = place.uncorrelated.clone();
            Place {
                pointer: format!("{}{step}", place.pointer),
                is_root: false,
                count,
                is_within_rules,
                declared,
                uncorrelated: uncorrelated
                    .or_else(|| (!is_correlated).then(|| place.pointer.clone())),
            }
        };
        let is_granular = schema.map_type.as_deref().is_none_or(|it| it == "granular");
        for (name, field) in &schema.properties {
            let of_field = known.as_ref().and_then(|(type_, part)| match type_ {
                Type::Object(object) => {
                    let name = escaped(name)?;
                    Some((object.field(&name)?, part.step(&name)?))
                }
                _ => None,
            });
            let step = format!("/properties/{}", escape(name));
            self.at(field, &below(&step, of_field, is_granular));
        }
        let of_items = |at: usize, step| match known.as_ref()? {
            (Type::Named("list" | "map", parameters), part) => {
                Some((parameters.get(at)?.clone(), part.step(step)?))
            }
            _ => None,
        };
        if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
            let of_values = of_items(1, VALUES);
            self.at(values, &below("/additionalProperties", of_values, true));
        }
        if let Some(items) = &schema.items {
            let is_map = schema.list_type.as_deref() == Some("map");
            self.at(items, &below("/items", of_items(0, ITEMS), is_map));
        }
    }

    /// Checks a rule and its message expression.
    fn rule(
        &mut self,
        rule: &'s Rule,
        index: usize,
        place: &Place<'s>,
        declared: Option<&Declared<'s>>,
    ) {
        if rule.rule.trim().is_empty() {
            return;
        }
        let pointer = format!("{}/x-kubernetes-validations/{index}", place.pointer);
        let mut fault = |keyword: &str, rule: &str, kind, message| {
            self.faults.push(RuleFault {
                pointer: format!("{pointer}/{keyword}"),
                rule: rule.to_owned(),
                kind,
                message,
            });
        };
        let Some((type_, part)) = declared else {
            let message = "the schema has no type that rules can use".to_owned();
            return fault("rule", &rule.rule, RuleFaultKind::Type, message);
        };
        let mut parsed = |expression: &'s str| -> Parsed {
            let parse = || Rc::new(parse::read(expression).and_then(expanded));
            self.parsed.entry(expression).or_insert_with(parse).clone()
        };
        let is_optional = rule.optional_old_self == Some(true);
        let mut checked = |keyword: &str, text: &'s str, count, result| {
            let parsed = parsed(text);
            let inference = match parsed.as_ref() {
                Ok(parsed) => compiled(parsed, type_, is_optional, result),
                Err(message) if message == parse::TOO_DEEP => {
                    Err((RuleFaultKind::TooDeep, message.clone()))
                }
                Err(message) => Err((RuleFaultKind::Syntax, message.clone())),
            };
            Ok(Rated {
                inference: inference?,
                parsed,
                part: *part,
                text,
                place: place.pointer.clone(),
                pointer: format!("{pointer}/{keyword}"),
                count,
            })
        };
        let rated = match checked("rule", &rule.rule, place.count, "bool") {
            Ok(rated) => rated,
            Err((kind, message)) => return fault("rule", &rule.rule, kind, message),
        };
        let looks_back = rated.inference.looks_back;
        let mut all = vec![rated];
        if let Some(place) = place.uncorrelated.as_deref().filter(|_| looks_back) {
            let message = format!(
                "oldSelf cannot be used below {place}, where old and new values do not correspond"
            );
            fault("rule", &rule.rule, RuleFaultKind::Type, message);
        }
        if !looks_back && rule.optional_old_self.is_some() {
            let message = "optionalOldSelf may not be set if the rule does not use oldSelf";
            fault(
                "optionalOldSelf",
                &rule.rule,
                RuleFaultKind::Type,
                message.to_owned(),
            );
        }
        if let Some(expression) = rule.message_expression.as_deref()
            && !expression.trim().is_empty()
        {
            match checked("messageExpression", expression, Some(1), "string") {
                Ok(rated) => all.push(rated),
                Err((kind, message)) => fault("messageExpression", expression, kind, message),
            }
        }
        for rated in all {
            self.rate(rated);
        }
    }

    /// Compares the cost of an expression with its limit.
    fn rate(&mut self, rated: Rated<'s>) {
        let Some((once, count)) = rated.cost() else {
            return;
        };
        let cost = once.saturating_mul(count);
        self.costs.push(RuleCost {
            pointer: rated.pointer.clone(),
            once,
            count,
        });
        if cost > RULE_LIMIT {
            let name = if rated.pointer.ends_with("/rule") {
                "estimated rule cost"
            } else {
                "estimated messageExpression cost"
            };
            self.too_expensive(name, (cost, RULE_LIMIT), &rated, RULE_LIMIT);
        } else if self.greatest.as_ref().is_none_or(|it| it.0 < cost) {
            self.greatest = Some((cost, rated));
        }
    }

    /// Compares the total cost of the expressions that are within the limit of one rule with the limit of a version.
    fn total(&mut self) {
        let costs = self.costs.iter().map(|it| it.once.saturating_mul(it.count));
        let total = costs.filter(|it| *it <= RULE_LIMIT).sum();
        if total > VERSION_LIMIT
            && let Some((_, rated)) = self.greatest.take()
        {
            let name = "estimated cost total of the rules, to which this one contributes most,";
            self.too_expensive(name, (total, VERSION_LIMIT), &rated, RULE_LIMIT / 100);
        }
    }

    /// Reports an expression whose cost exceeds a limit, with advice to lower it to `enough`.
    fn too_expensive(
        &mut self,
        name: &str,
        (cost, limit): (u64, u64),
        rated: &Rated<'s>,
        enough: u64,
    ) {
        let factor = factor(cost, limit);
        let advice = rated.advice(self.root, enough);
        self.faults.push(RuleFault {
            pointer: rated.pointer.clone(),
            rule: rated.text.to_owned(),
            kind: RuleFaultKind::Cost,
            message: format!("{name} exceeds budget by factor of {factor} ({advice})"),
        });
    }
}

fn expanded(mut expression: IdedExpr) -> Result<IdedExpr, String> {
    expand::expand(&mut expression)?;
    Ok(expression)
}

/// The types of an expression, if the API server accepts them.
fn compiled<'s>(
    expression: &IdedExpr,
    type_: &Type<'s>,
    is_optional: bool,
    expected: &str,
) -> Result<Inference<'s>, (RuleFaultKind, String)> {
    let old = if is_optional {
        Type::optional(type_.clone())
    } else {
        type_.clone()
    };
    let mut inference = Inference::with_variables([("self", type_.clone()), ("oldSelf", old)]);
    inference.infer(expression);
    let mut messages: Vec<String> = inference
        .errors
        .iter()
        .map(|it| it.message.clone())
        .collect();
    if !messages.is_empty() {
        let kind = if inference.errors.iter().all(|it| it.is_unknown_function) {
            RuleFaultKind::UnknownFunction
        } else {
            RuleFaultKind::Type
        };
        messages.dedup();
        return Err((kind, messages.join("; ")));
    }
    messages = literal::faults(expression, &inference);
    let result = inference.settled(expression);
    if messages.is_empty() && !result.is(expected) {
        messages.push(format!(
            "the result must be of type '{expected}', not '{result}'"
        ));
    }
    if messages.is_empty() {
        Ok(inference)
    } else {
        Err((RuleFaultKind::Type, messages.join("; ")))
    }
}
