//! Evaluates single expressions with `kube-cel`.

use super::Unsupported;
use super::depth::with_stack;
use super::parse::{parsed, with_errors};
use super::value::{TYPES, type_name, typed};
use crate::correlate::ordered;
use crate::{Rule, Schema};
use kube_cel::KubeCelExt;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value as Cel};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Why a rule rejects a value.
pub(super) enum Refusal {
    /// The rule is false. Contains the result of `messageExpression`.
    False { message: Option<String> },
    /// The evaluation failed, as it would in the API server. Contains its message.
    Error(String),
}

/// The result of a rule.
#[derive(Default)]
pub(super) struct Outcome {
    pub(super) refusal: Option<Refusal>,
    pub(super) unsupported: Option<Unsupported>,
    /// Whether the rule mentions `oldSelf`.
    pub(super) looks_back: bool,
}

/// The variables for the rules of one value.
pub(super) struct Evaluation {
    /// Contains `self`, which is converted once for all rules.
    context: Context<'static>,
    old: Option<Cel>,
}

impl Evaluation {
    pub(super) fn new(schema: &Schema, new: &Value, old: Option<&Value>, is_root: bool) -> Self {
        Self {
            context: context([("self", typed(schema, new, is_root))]),
            old: old.map(|old| typed(schema, &ordered(schema, old, new), is_root)),
        }
    }

    pub(super) fn of(&self, rule: &Rule, pointer: &str) -> Outcome {
        let unsupported = |what: String| Unsupported {
            pointer: pointer.to_owned(),
            rule: rule.rule.clone(),
            what,
        };
        let program = match program(&rule.rule) {
            Ok(program) => program,
            Err(what) => {
                return Outcome {
                    unsupported: Some(unsupported(what)),
                    ..Outcome::default()
                };
            }
        };
        let looks_back = program.references().has_variable("oldSelf");
        let is_optional = rule.optional_old_self == Some(true);
        let mut outcome = Outcome {
            looks_back,
            ..Outcome::default()
        };
        if looks_back && self.old.is_none() && !is_optional {
            return outcome;
        }
        match self.run(&program, is_optional) {
            Ok(Cel::Bool(true)) => {}
            Ok(Cel::Bool(false)) => {
                let message = rule
                    .message_expression
                    .as_deref()
                    .and_then(|it| self.message(it, is_optional));
                outcome.refusal = Some(Refusal::False { message });
            }
            Ok(other) => {
                outcome.unsupported = Some(unsupported(format!("yields {}", other.type_of())));
            }
            Err(error) => match server_message(&error) {
                Some(error) => outcome.refusal = Some(Refusal::Error(error)),
                None => outcome.unsupported = Some(unsupported(error.to_string())),
            },
        }
        outcome
    }

    fn run(&self, program: &IdedExpr, is_optional: bool) -> Result<Cel, ExecutionError> {
        let old = match (is_optional, &self.old) {
            (false, old) => old.clone(),
            (true, Some(old)) => converted("optional.of(x)", old.clone()),
            (true, None) => converted("optional.none()", Cel::Null),
        };
        let mut context = self.context.new_inner_scope();
        if let Some(old) = old {
            context.add_variable_from_value("oldSelf", old);
        }
        resolve(&context, program)
    }

    /// The result of a message expression, if the API server would show it: one line, not blank.
    fn message(&self, expression: &str, is_optional: bool) -> Option<String> {
        let program = program(expression).ok()?;
        match self.run(&program, is_optional) {
            Ok(Cel::String(text)) if !text.trim().is_empty() && !text.contains('\n') => {
                Some(text.trim().to_owned())
            }
            _ => None,
        }
    }
}

/// Evaluates an expression over `x`, such as a conversion.
pub(super) fn converted(expression: &str, x: Cel) -> Option<Cel> {
    with_variables(expression, [("x", x)].into_iter())
        .ok()?
        .ok()
}

/// Evaluates an expression over variables. The outer error is the part of the expression that the evaluator does not support.
pub(super) fn with_variables(
    expression: &str,
    variables: impl Iterator<Item = (&'static str, Cel)>,
) -> Result<Result<Cel, ExecutionError>, String> {
    with_stack(|| Ok(resolve(&context(variables), &*program(expression)?)))
}

/// A context with all functions, and with these variables.
pub(super) fn context(
    variables: impl IntoIterator<Item = (&'static str, Cel)>,
) -> Context<'static> {
    let mut context = FUNCTIONS.with(|functions| functions.new_inner_scope());
    for (name, value) in variables {
        context.add_variable_from_value(name, value);
    }
    context
}

/// Evaluates an expression. If that fails, evaluates it [`with_errors`], to get the result or the error of the API server.
fn resolve(context: &Context<'_>, program: &IdedExpr) -> Result<Cel, ExecutionError> {
    context
        .resolve(program)
        .or_else(|_| context.resolve(&with_errors(program)))
}

/// The message of the API server's evaluator for an error; `None` if the error may be a limitation of `kube-cel`.
pub(super) fn server_message(error: &ExecutionError) -> Option<String> {
    match error {
        ExecutionError::NoSuchKey(key) => Some(format!("no such key: {key}")),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => {
            Some(format!("index out of bounds: {index}"))
        }
        ExecutionError::DivisionByZero(_) => Some("division by zero".to_owned()),
        ExecutionError::RemainderByZero(_) => Some("modulus by zero".to_owned()),
        ExecutionError::Overflow(..) => Some("integer overflow".to_owned()),
        // The API server has checked the types. So this is a value of type `dyn`, such as an int-or-string: its type depends on the object.
        ExecutionError::NoSuchOverload | ExecutionError::UnexpectedType { .. } => {
            Some(NO_OVERLOAD.to_owned())
        }
        ExecutionError::UnsupportedBinaryOperator(_, left, right)
            if is_plain(left) && is_plain(right) =>
        {
            Some(NO_OVERLOAD.to_owned())
        }
        ExecutionError::FunctionError { function, message } => {
            let type_ = match function.as_str() {
                "int" | "uint" | "double" | "bool" => function,
                "duration" => "google.protobuf.Duration",
                "timestamp" => "google.protobuf.Timestamp",
                _ => return Some(message.clone()),
            };
            Some(format!("type conversion error from 'string' to '{type_}'"))
        }
        _ => None,
    }
}

/// The error of a call whose values fit no overload of the function.
pub(super) const NO_OVERLOAD: &str = "no such overload";

fn is_plain(value: &Cel) -> bool {
    matches!(
        value,
        Cel::Bool(_) | Cel::Float(_) | Cel::Int(_) | Cel::String(_)
    )
}

type Compiled = Result<Rc<IdedExpr>, String>;

thread_local! {
    // leaked only once for each thread
    static FUNCTIONS: &'static Context<'static> = Box::leak(Box::new(functions()));
    static KNOWN: RefCell<HashMap<String, Compiled>> = RefCell::default();
}

/// The functions of the evaluator and our own; and `type`, which it lacks: types are represented by their names, as strings that no value
/// of a schema has.
fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("type", |value: Cel| type_name(&value));
    super::functions::add(&mut context);
    for (name, value) in TYPES {
        context.add_variable_from_value(name, value.to_owned());
    }
    context
}

/// Compiles an expression, with a cache. The error is the part of the expression that is not supported.
pub(super) fn program(expression: &str) -> Compiled {
    const REMEMBERED: usize = 4096;
    if let Some(known) = KNOWN.with_borrow(|known| known.get(expression).cloned()) {
        return known;
    }
    let compiled = parsed(expression).map(Rc::new);
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(expression.to_owned(), compiled.clone());
    });
    compiled
}
