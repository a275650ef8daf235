//! The maximum cost of the evaluation of an expression, as the API server estimates it when a CRD is created.
//!
//! The sizes of values come from the expression and from the bounds of the schema: a list without `maxItems` has as many items as fit into
//! a request. The estimates follow the API server in detail, even where its estimates are not exact.

mod budget;
mod declared;
mod functions;
mod loops;
mod path;
mod size;

pub(super) use self::budget::{RULE_LIMIT, Rated, VERSION_LIMIT, counted, factor};
pub(super) use self::declared::Part;
use self::path::Path;
pub(super) use self::path::{ITEMS, VALUES};
use self::size::{Entries, Size};
use super::infer::Inference;
use super::types::{DURATION, TIMESTAMP, Type};
use crate::Schema;
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ptr;

/// The costs of creating a list and a map.
const LIST: u64 = 10;
const MAP: u64 = 30;

/// The estimate of an expression whose types were inferred without an error.
pub(super) struct Estimate<'e, 's> {
    inference: &'e Inference<'s>,
    /// The declaration of `self` and `oldSelf`.
    root: Part<'s>,
    /// The schemas that are treated as if they had a low bound.
    bounded: &'e HashSet<*const Schema>,
    /// The schemas whose sizes affect the estimate, by the steps to them.
    used: BTreeMap<Vec<&'e str>, &'s Schema>,
    /// Whether there is an expression whose cost is not known.
    is_unknown: bool,
    /// The variables in scope, the innermost last.
    scope: Vec<(&'e str, Variable<'e>)>,
    paths: HashMap<*const IdedExpr, Path<'e>>,
    sizes: HashMap<*const IdedExpr, Size>,
    entries: HashMap<*const IdedExpr, Entries>,
}

#[derive(Clone, Default)]
struct Variable<'e> {
    path: Path<'e>,
    size: Option<Size>,
    entries: Option<Entries>,
}

/// An operand of a call.
struct Operand<'e, 's> {
    expression: Option<&'e IdedExpr>,
    path: Path<'e>,
    type_: Type<'s>,
    size: Option<Size>,
}

impl<'e, 's> Estimate<'e, 's> {
    fn new(
        inference: &'e Inference<'s>,
        root: Part<'s>,
        bounded: &'e HashSet<*const Schema>,
    ) -> Self {
        Self {
            inference,
            root,
            bounded,
            used: BTreeMap::new(),
            is_unknown: false,
            scope: Vec::new(),
            paths: HashMap::new(),
            sizes: HashMap::new(),
            entries: HashMap::new(),
        }
    }

    /// The cost of an expression. Also records its path, its size and its entries, from which the costs of surrounding expressions follow.
    fn cost(&mut self, expression: &'e IdedExpr) -> u64 {
        match &expression.expr {
            Expr::Literal(_) => 0,
            Expr::Ident(name) => self.variable(expression, name),
            Expr::Select(select) => self.select(expression, select),
            Expr::Call(call) => self.call(expression, call),
            Expr::List(list) => {
                let costs = list.elements.iter().map(|it| self.cost(it));
                let cost = sum(costs);
                let value = self.range(list.elements.iter());
                let key = Size::exactly(1);
                self.set_literal_entries(expression, true, key, value);
                cost.saturating_add(LIST)
            }
            Expr::Map(map) => {
                let entries = || {
                    map.entries.iter().filter_map(|it| match &it.expr {
                        EntryExpr::MapEntry(entry) => Some(entry),
                        EntryExpr::StructField(_) => None,
                    })
                };
                let parts = entries().flat_map(|it| [&it.key, &it.value]);
                let cost = sum(parts.map(|it| self.cost(it)));
                let key = self.range(entries().map(|it| &it.key));
                let value = self.range(entries().map(|it| &it.value));
                self.set_literal_entries(expression, false, key, value);
                cost.saturating_add(MAP)
            }
            Expr::Comprehension(inner) => {
                if loops::is_binding(inner) {
                    self.binding(expression, inner)
                } else {
                    self.comprehension(expression, inner)
                }
            }
            Expr::Struct(_) | Expr::Unspecified => {
                self.is_unknown = true;
                0
            }
        }
    }

    fn variable(&mut self, expression: &'e IdedExpr, name: &'e str) -> u64 {
        let path = self
            .local(name)
            .map_or_else(|| Path::default().then(name), |it| it.path.clone());
        self.paths.insert(ptr::from_ref(expression), path);
        1
    }

    fn select(&mut self, expression: &'e IdedExpr, select: &'e SelectExpr) -> u64 {
        if self.inference.is_name(expression) {
            return self.variable(expression, &select.field);
        }
        let cost = self.cost(&select.operand);
        if select.test {
            return cost;
        }
        let path = self.path(&select.operand).then(&select.field);
        self.paths.insert(ptr::from_ref(expression), path);
        let type_ = self.inference.settled(&select.operand);
        let is_read = match type_ {
            Type::Object(_) => true,
            Type::Named(name, _) => name == "map" || name.starts_with("kubernetes."),
            _ => false,
        };
        cost.saturating_add(is_read.into())
    }

    /// The cost of a call: that of the most expensive of the overloads that fit.
    fn call(&mut self, expression: &'e IdedExpr, call: &'e CallExpr) -> u64 {
        if let ("dyn", [value]) = (call.func_name.as_str(), call.args.as_slice()) {
            let cost = self.cost(value);
            self.copy(expression, value);
            return cost.saturating_add(1);
        }
        let mut costs = Vec::new();
        let mut operands = Vec::new();
        for argument in &call.args {
            costs.push(self.cost(argument));
            operands.push(self.operand(argument));
        }
        if call.func_name == operators::OPT_SELECT {
            let size = self.size(expression);
            self.set(expression, size);
            return sum(costs).saturating_add(1);
        }
        let inference = self.inference;
        let overloads = inference.overloads(call);
        let target = call
            .target
            .as_deref()
            .filter(|_| overloads.iter().any(|it| it.is_member));
        let before = target.map_or(0, |it| self.cost(it));
        let target = target.map(|it| self.operand(it));
        let (mut most, mut size) = (0, None);
        for overload in overloads {
            let of_call = functions::Call {
                expression,
                overload,
                target: target.as_ref(),
                arguments: &operands,
                costs: &costs,
            };
            let (cost, result) = self.function(&of_call);
            most = cost.max(most);
            size = match (size, result) {
                (Some(a), Some(b)) => Some(Size::or(a, b)),
                (a, b) => a.or(b),
            };
            if let (operators::INDEX, [of, ..]) = (overload.name, call.args.as_slice()) {
                let step = match &overload.arguments[0] {
                    type_ if type_.is("list") => Some(ITEMS),
                    type_ if type_.is("map") => Some(VALUES),
                    _ => None,
                };
                if let Some(step) = step {
                    size = self.entries(of).map(|it| it.value);
                    let path = self.path(of).then(step);
                    self.paths.insert(ptr::from_ref(expression), path);
                }
            }
            size = size.or_else(|| self.size(expression));
        }
        self.set(expression, size);
        before.saturating_add(most)
    }

    fn local(&self, name: &str) -> Option<&Variable<'e>> {
        self.scope
            .iter()
            .rev()
            .find_map(|(known, it)| (*known == name).then_some(it))
    }

    fn path(&self, expression: &'e IdedExpr) -> Path<'e> {
        if let Expr::Ident(name) = &expression.expr
            && let Some(variable) = self.local(name)
        {
            return variable.path.clone();
        }
        self.paths
            .get(&ptr::from_ref(expression))
            .cloned()
            .unwrap_or_default()
    }

    fn operand(&mut self, expression: &'e IdedExpr) -> Operand<'e, 's> {
        Operand {
            expression: Some(expression),
            path: self.path(expression),
            type_: self.inference.settled(expression),
            size: self.size(expression),
        }
    }

    /// The size of a value, if it is known.
    fn size(&mut self, expression: &'e IdedExpr) -> Option<Size> {
        if let Some(size) = self.sizes.get(&ptr::from_ref(expression)) {
            return Some(*size);
        }
        let length = match &expression.expr {
            Expr::Literal(LiteralValue::String(text)) => Some(text.inner().chars().count()),
            Expr::Literal(LiteralValue::Bytes(bytes)) => Some(bytes.inner().len()),
            Expr::Literal(_) => Some(1),
            Expr::List(list) => Some(list.elements.len()),
            Expr::Map(map) => Some(map.entries.len()),
            _ => None,
        };
        if let Some(length) = length {
            return Some(Size::exactly(length as u64));
        }
        if let Some(size) = self.declared(&self.path(expression)) {
            self.set(expression, Some(size));
            return Some(size);
        }
        if is_scalar(&self.inference.settled(expression)) {
            return Some(Size::exactly(1));
        }
        match &expression.expr {
            Expr::Ident(name) => self.local(name)?.size,
            _ => None,
        }
    }

    /// The size that the schema declares for the value of a path.
    fn declared(&mut self, path: &Path<'e>) -> Option<Size> {
        if path.is_empty() {
            return None;
        }
        let steps = path.steps();
        let mut part = self.root;
        for step in &steps[1..] {
            part = part.step(step)?;
        }
        let most = part.most();
        if let Some(schema) = part.schema().filter(|_| most > budget::LOW) {
            if self.bounded.contains(&ptr::from_ref(schema)) {
                return Some(Size::up_to(budget::LOW));
            }
            self.used.insert(steps[1..].to_vec(), schema);
        }
        Some(Size::up_to(most))
    }

    fn set(&mut self, expression: &'e IdedExpr, size: Option<Size>) {
        self.sizes
            .extend(size.map(|it| (ptr::from_ref(expression), it)));
    }

    fn set_entries(&mut self, expression: &'e IdedExpr, entries: Option<Entries>) {
        let entries = entries.map(|it| (ptr::from_ref(expression), it));
        self.entries.extend(entries);
    }

    fn set_literal_entries(
        &mut self,
        expression: &'e IdedExpr,
        is_list: bool,
        key: Size,
        value: Size,
    ) {
        let entries = Entries {
            is_list,
            key,
            value,
        };
        self.set_entries(expression, Some(entries));
    }

    fn entries(&self, expression: &'e IdedExpr) -> Option<Entries> {
        self.entries
            .get(&ptr::from_ref(expression))
            .copied()
            .or_else(|| match &expression.expr {
                Expr::Ident(name) => self.local(name)?.entries,
                _ => None,
            })
    }

    fn copy(&mut self, to: &'e IdedExpr, from: &'e IdedExpr) {
        let size = self.size(from);
        self.set(to, size);
        self.set_entries(to, self.entries(from));
    }

    /// The range of the sizes of all elements of a literal.
    fn range(&mut self, elements: impl Iterator<Item = &'e IdedExpr>) -> Size {
        elements
            .map(|it| self.size(it).unwrap_or(Size::UNKNOWN))
            .reduce(Size::or)
            .unwrap_or(Size::exactly(0))
    }
}

fn is_scalar(type_: &Type<'_>) -> bool {
    match type_ {
        Type::Named("bool" | "double" | DURATION | "int" | TIMESTAMP | "uint", _) => true,
        _ => type_.of_optional().is_some_and(|it| is_scalar(&it)),
    }
}

fn sum(costs: impl IntoIterator<Item = u64>) -> u64 {
    costs.into_iter().fold(0, u64::saturating_add)
}
