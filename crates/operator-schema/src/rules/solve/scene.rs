//! A value with its rules, while they are solved: looks up places and evaluates expressions.

use super::super::evaluate::context;
use super::super::tree::{Macro, MacroKind, Node};
use super::super::value::{escaped, typed};
use super::edit::{self, Edit, member};
use crate::{Schema, apply_defaults};
use kube_cel::cel::common::ast::operators;
use kube_cel::cel::objects::{Key, OptionalValue};
use kube_cel::cel::{Context, IdedExpr, Value as Cel};
use serde_json::Value;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;
use std::sync::Arc;

/// A value as `self` of its rules.
pub(super) struct Scene<'s> {
    pub(super) schema: &'s Schema,
    pub(super) value: Value,
    pub(super) is_root: bool,
    /// All rules of the value.
    pub(super) rules: &'s [Rc<IdedExpr>],
    /// The remaining budget of the search.
    pub(super) meter: &'s Cell<usize>,
    /// Contains `self` and `oldSelf`.
    context: OnceCell<Context<'static>>,
}

/// The variables of macros, the innermost last.
pub(super) type Scope<'e> = Vec<(&'e str, Binding<'e>)>;

/// What a variable of a macro stands for.
#[derive(Clone)]
pub(super) enum Binding<'e> {
    /// A part of `self`, at a pointer.
    Place(String),
    /// An expression, which sees only this number of variables of the scope.
    Expression(&'e IdedExpr, usize),
    /// Another value, such as the key of a map.
    Value(Cel),
}

impl<'s> Scene<'s> {
    pub(super) fn new(
        schema: &'s Schema,
        value: Value,
        is_root: bool,
        rules: &'s [Rc<IdedExpr>],
        meter: &'s Cell<usize>,
    ) -> Self {
        Self {
            schema,
            value,
            is_root,
            rules,
            meter,
            context: OnceCell::new(),
        }
    }

    /// The scene after edits, with defaults.
    pub(super) fn after(&self, edits: &[Edit]) -> Self {
        let mut value = self.value.clone();
        edits
            .iter()
            .for_each(|it| it.apply(self.schema, &mut value));
        apply_defaults(self.schema, &mut value);
        self.spend(size(&value));
        Self::new(self.schema, value, self.is_root, self.rules, self.meter)
    }

    /// Subtracts a cost from the budget; `None` if nothing remains.
    fn spend(&self, cost: usize) -> Option<()> {
        let left = self.meter.get().saturating_sub(cost);
        self.meter.set(left);
        (left > 0).then_some(())
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.meter.get() == 0
    }

    /// The value of an expression; `None` if the evaluation fails.
    pub(super) fn eval<'e>(
        &self,
        expression: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Option<Cel> {
        self.spend(1)?;
        let whole = self.context.get_or_init(|| {
            let whole = typed(self.schema, &self.value, self.is_root);
            context([("self", whole), ("oldSelf", none())])
        });
        let mut context = whole.new_inner_scope();
        for (nth, (name, binding)) in scope.iter().enumerate() {
            let value = match binding {
                Binding::Place(pointer) => self.typed_at(pointer)?,
                Binding::Expression(expression, depth) => {
                    self.eval(expression, &scope[..(*depth).min(nth)])?
                }
                Binding::Value(value) => value.clone(),
            };
            context.add_variable_from_value(*name, value);
        }
        context.resolve(expression).ok()
    }

    fn typed_at(&self, pointer: &str) -> Option<Cel> {
        let none = Schema::default();
        let schema = edit::at(self.schema, pointer).unwrap_or(&none);
        Some(typed(schema, self.value.pointer(pointer)?, false))
    }

    pub(super) fn truth<'e>(
        &self,
        expression: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Option<bool> {
        match self.eval(expression, scope)? {
            Cel::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// How many of the value's rules are true.
    pub(super) fn kept(&self) -> usize {
        let is_kept = |rule: &&Rc<IdedExpr>| self.truth(rule, &[]) == Some(true);
        self.rules.iter().filter(is_kept).count()
    }

    /// The pointer of the part of `self` that an expression names, whether it exists or not.
    pub(super) fn place<'e>(
        &self,
        expression: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Option<String> {
        match Node::of(expression) {
            Node::Ident("self") => Some(String::new()),
            Node::Ident(name) => {
                let nth = scope.iter().rposition(|(it, _)| *it == name)?;
                match &scope[nth].1 {
                    Binding::Place(pointer) => Some(pointer.clone()),
                    Binding::Expression(expression, depth) => {
                        self.place(expression, &scope[..(*depth).min(nth)])
                    }
                    Binding::Value(_) => None,
                }
            }
            Node::Select(operand, field) | Node::Has(operand, field) => {
                let parent = self.place(operand, scope)?;
                Some(member(&parent, &self.wire_name(&parent, field)))
            }
            Node::Index(operand, key) => {
                let parent = self.place(operand, scope)?;
                match self.eval(key, scope)? {
                    Cel::Int(index) => Some(format!("{parent}/{index}")),
                    Cel::String(key)
                        if matches!(Node::of(operand), Node::Ident(_)) || self.is_map(&parent) =>
                    {
                        Some(member(&parent, &key))
                    }
                    Cel::String(key) => Some(member(&parent, &self.wire_name(&parent, &key))),
                    _ => None,
                }
            }
            Node::Call("dyn" | "value" | "orValue" | "optMap", arguments) => {
                self.place(arguments.first()?, scope)
            }
            _ => None,
        }
    }

    fn is_map(&self, pointer: &str) -> bool {
        edit::at(self.schema, pointer).is_some_and(|it| it.additional_properties.is_some())
    }

    /// The name of a field in JSON.
    fn wire_name(&self, parent: &str, field: &str) -> String {
        edit::at(self.schema, parent)
            .into_iter()
            .flat_map(|it| it.properties.keys())
            .find(|name| escaped(name).as_deref() == Some(field))
            .map_or_else(|| field.to_owned(), Clone::clone)
    }

    /// The values of the variable of a macro over `range`, in their order.
    pub(super) fn items<'e>(
        &self,
        range: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Vec<Binding<'e>> {
        match Node::of(range) {
            Node::List(elements) => {
                let each = elements.iter();
                return each
                    .map(|it| Binding::Expression(it, scope.len()))
                    .collect();
            }
            Node::Macro(Macro {
                kind: MacroKind::Filter,
                range,
                variable,
                body,
            }) => {
                let mut items = self.items(range, scope);
                items.retain(|item| self.truth(body, &within(scope, variable, item)) == Some(true));
                return items;
            }
            Node::Macro(Macro {
                kind: MacroKind::Map,
                range,
                variable,
                body,
            }) => {
                let value_of = |item: Binding<'e>| {
                    let scope = within(scope, variable, &item);
                    match self.place(body, &scope) {
                        Some(pointer) => Some(Binding::Place(pointer)),
                        None => self.eval(body, &scope).map(Binding::Value),
                    }
                };
                return self
                    .items(range, scope)
                    .into_iter()
                    .filter_map(value_of)
                    .collect();
            }
            Node::Call(operators::CONDITIONAL, arguments) => {
                if let [condition, yes, no] = arguments.as_slice() {
                    return match self.truth(condition, scope) {
                        Some(true) => self.items(yes, scope),
                        Some(false) => self.items(no, scope),
                        None => Vec::new(),
                    };
                }
            }
            Node::Call(operators::ADD, arguments) => {
                return arguments
                    .into_iter()
                    .flat_map(|it| self.items(it, scope))
                    .collect();
            }
            _ => {}
        }
        if let Some(pointer) = self.place(range, scope) {
            match self.value.pointer(&pointer) {
                Some(Value::Array(items)) => {
                    let each = 0..items.len();
                    return each
                        .map(|it| Binding::Place(format!("{pointer}/{it}")))
                        .collect();
                }
                Some(Value::Object(map)) => {
                    let keys = map.keys().cloned();
                    return keys.map(|it| Binding::Value(it.into())).collect();
                }
                _ => {}
            }
        }
        match self.eval(range, scope) {
            Some(Cel::List(items)) => items.iter().cloned().map(Binding::Value).collect(),
            Some(Cel::Map(map)) => map
                .map
                .keys()
                .map(|it: &Key| Binding::Value(it.into()))
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The lists and maps of `self` that a range consists of.
    pub(super) fn sources<'e>(
        &self,
        range: &'e IdedExpr,
        scope: &[(&'e str, Binding<'e>)],
    ) -> Vec<String> {
        match Node::of(range) {
            Node::Macro(inner) => self.sources(inner.range, scope),
            Node::Call(operators::CONDITIONAL, arguments) => arguments
                .into_iter()
                .skip(1)
                .flat_map(|it| self.sources(it, scope))
                .collect(),
            Node::Call(operators::ADD, arguments) => arguments
                .into_iter()
                .flat_map(|it| self.sources(it, scope))
                .collect(),
            _ => self.place(range, scope).into_iter().collect(),
        }
    }

    /// Whether an edit can remove the value, which means that it is not required and that no default replaces it.
    pub(super) fn is_removable(&self, pointer: &str) -> bool {
        let (parent, last) = edit::split(pointer);
        let (Some(schema), false) = (edit::at(self.schema, parent), pointer.is_empty()) else {
            return false;
        };
        let key = crate::pointer::unescape(last);
        let has_default = schema
            .properties
            .get(&*key)
            .is_some_and(|it| it.default.is_some());
        !has_default && !schema.required.iter().any(|it| *it == *key)
    }
}

/// `oldSelf` of a rule with `optionalOldSelf` for a new object.
fn none() -> Cel {
    Cel::Opaque(Arc::new(OptionalValue::none()))
}

/// The scope with another variable.
pub(super) fn within<'e>(
    scope: &[(&'e str, Binding<'e>)],
    variable: &'e str,
    item: &Binding<'e>,
) -> Scope<'e> {
    let mut scope = scope.to_vec();
    scope.push((variable, item.clone()));
    scope
}

/// The number of values that a value consists of.
pub(super) fn size(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(size).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(size).sum::<usize>(),
        _ => 1,
    }
}
