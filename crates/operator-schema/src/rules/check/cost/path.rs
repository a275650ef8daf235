//! Where a value comes from: the steps from a variable to it.

use std::cell::RefCell;
use std::rc::Rc;

pub(in crate::rules::check) const ITEMS: &str = "@items";
pub(super) const INDICES: &str = "@indices";
pub(in crate::rules::check) const VALUES: &str = "@values";
pub(super) const KEYS: &str = "@keys";

/// A path. Paths that extend the same path share memory as Go slices do, because the estimates of the API server depend on it: if both
/// `x.a` and `x.b` extend the path of `x`, the last step of `x.a` becomes that of `x.b`.
#[derive(Clone, Default)]
pub(super) struct Path<'e> {
    steps: Rc<RefCell<Vec<&'e str>>>,
    length: usize,
}

impl<'e> Path<'e> {
    pub(super) fn then(&self, step: &'e str) -> Self {
        let length = self.length + 1;
        let capacity = self.steps.borrow().len();
        let steps = if length <= capacity {
            self.steps.clone()
        } else {
            let mut steps = self.steps();
            steps.resize(length.max(2 * capacity), "");
            Rc::new(RefCell::new(steps))
        };
        steps.borrow_mut()[self.length] = step;
        Self { steps, length }
    }

    /// A copy of the path that shares no memory with others.
    pub(super) fn copied(&self) -> Self {
        let steps = Rc::new(RefCell::new(self.steps()));
        let length = self.length;
        Self { steps, length }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub(super) fn steps(&self) -> Vec<&'e str> {
        self.steps.borrow()[..self.length].to_vec()
    }
}
