//! The costs of macros, and the variables that they add.

use super::path::{INDICES, ITEMS, KEYS, VALUES};
use super::size::Size;
use super::{Estimate, Variable, sum};
use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, LiteralValue};

impl<'e> Estimate<'e, '_> {
    pub(super) fn comprehension(
        &mut self,
        expression: &'e IdedExpr,
        inner: &'e ComprehensionExpr,
    ) -> u64 {
        let (range, start) = (&inner.iter_range, &inner.accu_init);
        let before = [self.cost(range), self.cost(start)];
        let outside = self.scope.len();
        self.bind(&inner.accu_var, start);
        let entries = self.entries(range);
        let is_list = match entries {
            Some(entries) => entries.is_list,
            None => self.inference.settled(range).is("list"),
        };
        let mut element = |name, step, size| {
            let path = self.path(range).then(step);
            let entries = None;
            self.scope.push((
                name,
                Variable {
                    path,
                    size,
                    entries,
                },
            ));
        };
        let (key, value) = (entries.map(|it| it.key), entries.map(|it| it.value));
        match (&inner.iter_var2, is_list) {
            (Some(second), true) => {
                element(&inner.iter_var, INDICES, key);
                element(second, ITEMS, value);
            }
            (Some(second), false) => {
                element(&inner.iter_var, KEYS, key);
                element(second, VALUES, value);
            }
            (None, true) => element(&inner.iter_var, ITEMS, value),
            (None, false) => element(&inner.iter_var, KEYS, key),
        }
        let iteration = [self.cost(&inner.loop_cond), self.cost(&inner.loop_step)];
        self.scope.truncate(outside + 1);
        let result = self.cost(&inner.result);
        self.scope.truncate(outside);
        let count = self.size(range).unwrap_or(Size::UNKNOWN);
        match start.expr {
            Expr::Literal(_) => {
                let size = self.size(start);
                self.set(expression, size);
            }
            Expr::List(_) | Expr::Map(_) => {
                self.set(expression, Some(count));
                let entries = self.entries(&inner.loop_step);
                self.set_entries(expression, entries);
            }
            _ => {}
        }
        sum(before
            .into_iter()
            .chain([result, count.max.saturating_mul(sum(iteration))]))
    }

    pub(super) fn binding(
        &mut self,
        expression: &'e IdedExpr,
        inner: &'e ComprehensionExpr,
    ) -> u64 {
        let before = [self.cost(&inner.iter_range), self.cost(&inner.accu_init)];
        self.bind(&inner.accu_var, &inner.accu_init);
        let result = self.cost(&inner.result);
        self.scope.pop();
        self.copy(expression, &inner.result);
        sum(before).saturating_add(result)
    }

    /// Adds a variable for a value.
    fn bind(&mut self, name: &'e str, value: &'e IdedExpr) {
        let variable = Variable {
            path: self.path(value),
            entries: self.entries(value),
            size: self.size(value),
        };
        self.scope.push((name, variable));
    }
}

/// Whether a comprehension only binds a value to a variable, as `cel.bind` does.
pub(super) fn is_binding(inner: &ComprehensionExpr) -> bool {
    let is_empty = matches!(&inner.iter_range.expr, Expr::List(list) if list.elements.is_empty());
    let is_never =
        matches!(&inner.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(it)) if !it.inner());
    is_empty && is_never
}
