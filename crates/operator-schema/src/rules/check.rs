//! Checks the CEL rules of a schema as the API server does when a CRD is created: their syntax, their types, and where they may look at the old
//! value. Their costs are not estimated.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules>

mod catalogue;
mod declared;
mod expand;
mod format;
mod infer;
mod literal;
mod types;

use self::declared::declared;
use self::infer::Inference;
use self::types::Type;
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
    /// The expression calls a function that no API server up to the one of the catalogue has.
    UnknownFunction,
}

/// The rules of a schema for which the API server refuses the CRD. `schema` is the root of a version.
pub fn rule_faults(schema: &Schema) -> Vec<RuleFault> {
    let mut check = Check::default();
    check.at(
        schema,
        &Place {
            is_root: true,
            ..Place::default()
        },
    );
    check.faults
}

/// What is known about a schema from those around it.
#[derive(Clone, Default)]
struct Place<'s> {
    pointer: String,
    is_root: bool,
    /// Whether a schema around has rules.
    is_within_rules: bool,
    /// The type, if it follows from the type around.
    type_: Option<Type<'s>>,
    /// The outermost list or object around in which old and new values do not correspond.
    uncorrelated: Option<String>,
}

type Parsed = Rc<Result<IdedExpr, String>>;

#[derive(Default)]
struct Check<'s> {
    faults: Vec<RuleFault>,
    /// Many rules are there at several places.
    parsed: HashMap<&'s str, Parsed>,
}

impl<'s> Check<'s> {
    fn at(&mut self, schema: &'s Schema, place: &Place<'s>) {
        if !has_rules(schema) {
            return;
        }
        let is_within_rules = place.is_within_rules || !schema.validations.is_empty();
        let own = || declared(schema, place.is_root || schema.embedded_resource);
        let type_ = is_within_rules
            .then(|| place.type_.clone().or_else(own))
            .flatten();
        for (index, rule) in schema.validations.iter().enumerate() {
            let pointer = format!("{}/x-kubernetes-validations/{index}", place.pointer);
            self.rule(
                rule,
                &pointer,
                type_.as_ref(),
                place.uncorrelated.as_deref(),
            );
        }
        let below = |step: &str, type_: Option<Type<'s>>, is_correlated: bool| {
            let uncorrelated = place.uncorrelated.clone();
            Place {
                pointer: format!("{}{step}", place.pointer),
                is_root: false,
                is_within_rules,
                type_,
                uncorrelated: uncorrelated
                    .or_else(|| (!is_correlated).then(|| place.pointer.clone())),
            }
        };
        let is_granular = schema.map_type.as_deref().is_none_or(|it| it == "granular");
        for (name, field) in &schema.properties {
            let of_field = match &type_ {
                Some(Type::Object(object)) => escaped(name).and_then(|it| object.field(&it)),
                _ => None,
            };
            let step = format!("/properties/{}", escape(name));
            self.at(field, &below(&step, of_field, is_granular));
        }
        let of_items = |at: usize| match &type_ {
            Some(Type::Named("list" | "map", parameters)) => parameters.get(at).cloned(),
            _ => None,
        };
        if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
            self.at(values, &below("/additionalProperties", of_items(1), true));
        }
        if let Some(items) = &schema.items {
            let is_map = schema.list_type.as_deref() == Some("map");
            self.at(items, &below("/items", of_items(0), is_map));
        }
    }

    fn rule(
        &mut self,
        rule: &'s Rule,
        pointer: &str,
        type_: Option<&Type<'s>>,
        uncorrelated: Option<&str>,
    ) {
        if rule.rule.trim().is_empty() {
            return;
        }
        let mut fault = |keyword: &str, rule: &str, kind, message| {
            self.faults.push(RuleFault {
                pointer: format!("{pointer}/{keyword}"),
                rule: rule.to_owned(),
                kind,
                message,
            });
        };
        let Some(type_) = type_ else {
            let message = "the schema has no type that rules can use".to_owned();
            return fault("rule", &rule.rule, RuleFaultKind::Type, message);
        };
        let mut parsed = |expression: &'s str| -> Parsed {
            let parse = || Rc::new(parse::read(expression).and_then(expanded));
            self.parsed.entry(expression).or_insert_with(parse).clone()
        };
        let is_optional = rule.optional_old_self == Some(true);
        let checked = |parsed: &Result<IdedExpr, String>, result| match parsed {
            Ok(parsed) => compiled(parsed, type_, is_optional, result),
            Err(message) => Err((RuleFaultKind::Syntax, message.clone())),
        };
        let looks_back = match checked(&parsed(&rule.rule), "bool") {
            Ok(looks_back) => looks_back,
            Err((kind, message)) => return fault("rule", &rule.rule, kind, message),
        };
        if let Some(place) = uncorrelated.filter(|_| looks_back) {
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
            && let Err((kind, message)) = checked(&parsed(expression), "string")
        {
            fault("messageExpression", expression, kind, message);
        }
    }
}

fn expanded(mut expression: IdedExpr) -> Result<IdedExpr, String> {
    expand::expand(&mut expression)?;
    Ok(expression)
}

/// Whether an expression uses `oldSelf`, if the API server accepts it.
fn compiled(
    expression: &IdedExpr,
    type_: &Type<'_>,
    is_optional: bool,
    expected: &str,
) -> Result<bool, (RuleFaultKind, String)> {
    let old = match is_optional {
        true => Type::optional(type_.clone()),
        false => type_.clone(),
    };
    let mut inference = Inference::with_variables([("self", type_.clone()), ("oldSelf", old)]);
    inference.infer(expression);
    let mut messages: Vec<String> = inference
        .errors
        .iter()
        .map(|it| it.message.clone())
        .collect();
    if !messages.is_empty() {
        let kind = match inference.errors.iter().all(|it| it.is_unknown_function) {
            true => RuleFaultKind::UnknownFunction,
            false => RuleFaultKind::Type,
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
    match messages.is_empty() {
        true => Ok(inference.looks_back),
        false => Err((RuleFaultKind::Type, messages.join("; "))),
    }
}
