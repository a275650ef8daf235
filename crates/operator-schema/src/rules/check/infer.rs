//! Infers the type of each part of an expression, or the errors for which the API server rejects it.

use super::super::value::KEYWORDS;
use super::catalogue::{self, Overload};
use super::expand::MACROS;
use super::types::{Bindings, DURATION, TIMESTAMP, Type, instance, listed};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr, SelectExpr,
    operators,
};
use std::collections::{HashMap, HashSet};
use std::{iter, ptr};

/// An error in an expression.
pub(super) struct Error {
    pub(super) message: String,
    /// Whether the error is a function that is not in the catalogue, and that a newer API server may have.
    pub(super) is_unknown_function: bool,
}

/// The types of an expression.
#[derive(Default)]
pub(super) struct Inference<'s> {
    bindings: Bindings<'s>,
    /// The variables in scope, the innermost last.
    scope: Vec<(String, Type<'s>)>,
    types: HashMap<*const IdedExpr, Type<'s>>,
    /// The overloads that fit a call, in their order.
    overloads: HashMap<*const CallExpr, Vec<&'static Overload>>,
    /// The selections that are names, such as `google.protobuf.Timestamp`.
    names: HashSet<*const IdedExpr>,
    pub(super) errors: Vec<Error>,
    /// Whether a variable `oldSelf` is used.
    pub(super) looks_back: bool,
}

impl<'s> Inference<'s> {
    pub(super) fn with_variables(variables: [(&str, Type<'s>); 2]) -> Self {
        let scope = variables.map(|(name, type_)| (name.to_owned(), type_));
        Self {
            scope: scope.into(),
            ..Self::default()
        }
    }

    /// The type of a part, after all parts were inferred.
    pub(super) fn settled(&self, expression: &IdedExpr) -> Type<'s> {
        self.types
            .get(&ptr::from_ref(expression))
            .map_or(Type::Error, |it| self.bindings.settled(it))
    }

    /// The overloads that fit a call.
    pub(super) fn overloads(&self, call: &CallExpr) -> &[&'static Overload] {
        self.overloads
            .get(&ptr::from_ref(call))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether a selection is a name.
    pub(super) fn is_name(&self, selection: &IdedExpr) -> bool {
        self.names.contains(&ptr::from_ref(selection))
    }

    pub(super) fn report(&mut self, message: String) {
        self.errors.push(Error {
            message,
            is_unknown_function: false,
        });
    }

    pub(super) fn infer(&mut self, expression: &IdedExpr) -> Type<'s> {
        let type_ = match &expression.expr {
            Expr::Literal(literal) => Type::simple(match literal {
                LiteralValue::Boolean(_) => "bool",
                LiteralValue::Bytes(_) => "bytes",
                LiteralValue::Double(_) => "double",
                LiteralValue::Int(_) => "int",
                LiteralValue::Null => "null_type",
                LiteralValue::String(_) => "string",
                LiteralValue::UInt(_) => "uint",
            }),
            Expr::Ident(name) => self.variable(name).unwrap_or_else(|| {
                self.report(format!("undeclared reference to '{name}'"));
                Type::Error
            }),
            Expr::Select(select) => self.select(expression, select),
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(inner) => self.comprehension(inner),
            Expr::Struct(made) => {
                if !made.type_name.starts_with(PROTOBUF) {
                    self.report(format!("'{}' is no type of messages", made.type_name));
                }
                Type::Dyn
            }
            Expr::Unspecified => Type::Error,
        };
        self.types.insert(ptr::from_ref(expression), type_.clone());
        type_
    }

    fn variable(&mut self, name: &str) -> Option<Type<'s>> {
        self.looks_back |= name == "oldSelf";
        let mut scope = self.scope.iter().rev();
        if let Some((_, type_)) = scope.find(|(known, _)| known == name) {
            return Some(type_.clone());
        }
        let of = |type_| Some(Type::Named("type", [type_].into()));
        match name {
            "duration" => of(Type::simple(DURATION)),
            "timestamp" => of(Type::simple(TIMESTAMP)),
            _ if name.starts_with(PROTOBUF) => Some(Type::Dyn),
            _ => self.applied(catalogue::variable(name)?, &[]),
        }
    }

    /// The type of `a.b`, which is the variable `a.b`, if there is one, and otherwise the field `b` of `a`.
    fn select(&mut self, expression: &IdedExpr, select: &SelectExpr) -> Type<'s> {
        if let Some(name) = qualified(expression)
            && let Some(type_) = self.variable(&name)
        {
            self.names.insert(ptr::from_ref(expression));
            return type_;
        }
        let field = self.field(&select.operand, &select.field, false);
        if select.test {
            Type::simple("bool")
        } else {
            self.bindings.known(&field)
        }
    }

    fn field(&mut self, operand: &IdedExpr, name: &str, is_optional: bool) -> Type<'s> {
        let type_ = self.infer(operand);
        let type_ = self.bindings.known(&type_);
        let inner = type_.of_optional();
        let is_optional = is_optional || inner.is_some();
        let field = match inner.unwrap_or(type_) {
            Type::Named("map", parameters) => parameters[1].clone(),
            Type::Object(object) => object.field(name).unwrap_or_else(|| {
                self.report(undefined(name, &object.fields()));
                Type::Error
            }),
            Type::Var(variable) => {
                self.bindings.unify(&[Type::Dyn], &[Type::Var(variable)]);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other @ Type::Named(..) => {
                self.report(format!("a value of type '{other}' has no field '{name}'"));
                Type::Dyn
            }
        };
        if is_optional {
            Type::optional(field)
        } else {
            field
        }
    }

    /// The type of a call. `a.b.f()` is the function `a.b.f`, if the catalogue has one, and otherwise a method of `a.b`.
    fn call(&mut self, call: &CallExpr) -> Type<'s> {
        let name = call.func_name.as_str();
        if let (operators::OPT_SELECT, [operand, field]) = (name, call.args.as_slice()) {
            return match &field.expr {
                Expr::Literal(LiteralValue::String(field)) => {
                    let field = self.field(operand, field.inner(), true);
                    self.bindings.known(&field)
                }
                _ => Type::Error,
            };
        }
        let mut arguments: Vec<_> = call.args.iter().map(|it| self.infer(it)).collect();
        let Some(target) = &call.target else {
            return self.resolved(call, name, false, &arguments);
        };
        if let Some(prefix) = qualified(target) {
            let name = format!("{prefix}.{name}");
            if catalogue::function(&name).is_some() {
                return self.resolved(call, &name, false, &arguments);
            }
        }
        arguments.insert(0, self.infer(target));
        self.resolved(call, name, true, &arguments)
    }

    /// The result of a function.
    fn resolved(
        &mut self,
        call: &CallExpr,
        name: &str,
        is_member: bool,
        arguments: &[Type<'s>],
    ) -> Type<'s> {
        let Some(overloads) = catalogue::function(name) else {
            self.errors.push(Error {
                message: format!("undeclared reference to '{name}'"),
                is_unknown_function: !MACROS.contains(&name) && name != "has",
            });
            return Type::Error;
        };
        if let operators::LOGICAL_AND | operators::LOGICAL_OR = name {
            self.overloads
                .insert(ptr::from_ref(call), overloads.iter().collect());
            return self.logical(arguments);
        }
        let mut result: Option<Type<'s>> = None;
        let mut fitting = Vec::new();
        for overload in overloads.iter().filter(|it| it.is_member == is_member) {
            let Some(found) = self.applied(overload, arguments) else {
                continue;
            };
            fitting.push(overload);
            result = match result {
                Some(before) if !matches!(before, Type::Dyn) && before != found => Some(Type::Dyn),
                Some(before) => Some(before),
                None => Some(found),
            };
        }
        self.overloads.insert(ptr::from_ref(call), fitting);
        result.unwrap_or_else(|| {
            let types: Vec<_> = arguments
                .iter()
                .map(|it| self.bindings.settled(it))
                .collect();
            self.report(no_overload(name, is_member, &types));
            Type::Error
        })
    }

    fn logical(&mut self, arguments: &[Type<'s>]) -> Type<'s> {
        let bool_ = Type::simple("bool");
        for argument in arguments {
            if !self
                .bindings
                .unify(std::slice::from_ref(argument), std::slice::from_ref(&bool_))
            {
                self.report_mismatch(&bool_, argument);
            }
        }
        bool_
    }

    /// The result of an overload, if the arguments fit.
    fn applied(&mut self, overload: &Overload, arguments: &[Type<'s>]) -> Option<Type<'s>> {
        let first = self.bindings.add(overload.parameters);
        let expected: Vec<Type<'s>> = overload
            .arguments
            .iter()
            .map(|it| instance(it, first))
            .collect();
        let fits = self.bindings.unify(arguments, &expected);
        fits.then(|| self.bindings.known(&instance(&overload.result, first)))
    }

    fn list(&mut self, list: &ListExpr) -> Type<'s> {
        let mut joined = None;
        for (index, element) in list.elements.iter().enumerate() {
            let type_ = self.infer(element);
            let type_ = self.element(type_, list.optional_indices.contains(&index));
            joined = Some(self.joined(joined, type_));
        }
        Type::list(joined.unwrap_or_else(|| self.bindings.variable()))
    }

    fn map(&mut self, map: &MapExpr) -> Type<'s> {
        let (mut keys, mut values) = (None, None);
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                continue;
            };
            let key = self.infer(&entry.key);
            keys = Some(self.joined(keys, key));
            let value = self.infer(&entry.value);
            let value = self.element(value, entry.optional);
            values = Some(self.joined(values, value));
        }
        let keys = keys.unwrap_or_else(|| self.bindings.variable());
        Type::map(keys, values.unwrap_or_else(|| self.bindings.variable()))
    }

    /// The type of an element of a literal; of an optional element (`?x`), the type of the value in the optional.
    fn element(&mut self, type_: Type<'s>, is_optional: bool) -> Type<'s> {
        match type_.of_optional() {
            Some(inner) if is_optional => inner,
            None if is_optional && type_ != Type::Dyn => {
                self.report_mismatch(&Type::optional(type_.clone()), &type_);
                type_
            }
            _ => type_,
        }
    }

    /// The type of the elements of a literal so far; different types are reported later, in `literal`.
    fn joined(&mut self, before: Option<Type<'s>>, next: Type<'s>) -> Type<'s> {
        match before {
            Some(before) => self.bindings.join(&before, &next).unwrap_or(Type::Dyn),
            None => next,
        }
    }

    fn comprehension(&mut self, inner: &ComprehensionExpr) -> Type<'s> {
        let range = self.infer(&inner.iter_range);
        let start = self.infer(&inner.accu_init);
        let range = self.bindings.known(&range);
        let (variable, second) = match &range {
            Type::Named("list", parameters) => match inner.iter_var2 {
                Some(_) => (Type::simple("int"), parameters[0].clone()),
                None => (parameters[0].clone(), Type::Error),
            },
            Type::Named("map", parameters) => (parameters[0].clone(), parameters[1].clone()),
            Type::Dyn | Type::Error | Type::Var(_) => {
                self.bindings.unify(&[Type::Dyn], &[range]);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message =
                    format!("a macro needs a list or a map, not a value of type '{other}'");
                self.report(message);
                (Type::Error, Type::Error)
            }
        };
        for name in iter::once(&inner.iter_var).chain(&inner.iter_var2) {
            if KEYWORDS.contains(&name.as_str()) {
                self.report(format!("reserved identifier: {name}"));
            }
        }
        let outside = self.scope.len();
        self.scope.push((inner.accu_var.clone(), start.clone()));
        self.scope.push((inner.iter_var.clone(), variable));
        if let Some(name) = &inner.iter_var2 {
            self.scope.push((name.clone(), second));
        }
        self.demand(&Type::simple("bool"), &inner.loop_cond);
        self.demand(&start, &inner.loop_step);
        self.scope.truncate(outside + 1);
        let result = self.infer(&inner.result);
        self.scope.truncate(outside);
        self.bindings.known(&result)
    }

    /// Infers the type of an expression, and reports it if it does not fit the expected one.
    fn demand(&mut self, expected: &Type<'s>, expression: &IdedExpr) {
        let found = self.infer(expression);
        if !self
            .bindings
            .unify(std::slice::from_ref(expected), std::slice::from_ref(&found))
        {
            self.report_mismatch(expected, &found);
        }
    }

    fn report_mismatch(&mut self, expected: &Type<'s>, found: &Type<'s>) {
        let (expected, found) = (
            self.bindings.settled(expected),
            self.bindings.settled(found),
        );
        self.report(format!("expected type '{expected}' but found '{found}'"));
    }
}

/// The prefix of the built-in message types, which no schema declares.
const PROTOBUF: &str = "google.protobuf.";

/// `a.b.c` as a name.
fn qualified(expression: &IdedExpr) -> Option<String> {
    match &expression.expr {
        Expr::Ident(name) => Some(name.clone()),
        Expr::Select(select) if !select.test => {
            Some(format!("{}.{}", qualified(&select.operand)?, select.field))
        }
        _ => None,
    }
}

fn undefined(name: &str, fields: &[String]) -> String {
    let mut message = format!("undefined field '{name}'");
    let nearest = fields
        .iter()
        .map(|it| (strsim::damerau_levenshtein(it, name), it));
    if let Some((1..=2, nearest)) = nearest.min() {
        message += &format!(", did you mean '{nearest}'?");
    }
    message
}

/// The message that names an operator or function, and the types of its operands.
fn no_overload(name: &str, is_member: bool, types: &[Type<'_>]) -> String {
    let types = match types {
        [receiver, rest @ ..] if is_member => format!("{receiver}.({})", listed(rest)),
        _ => format!("({})", listed(types)),
    };
    format!("no matching overload for '{name}' applied to '{types}'")
}
