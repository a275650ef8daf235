//! Values that the controllers of an operator share.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, Mutex},
};

use crate::lock::lock;

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// Values by their types, each of which is created by its first use. Clones share the values.
///
/// An operator has one, which [`Setup::shared`](crate::Setup::shared) reads. A test passes its own to
/// [`Operator::provide`](crate::Operator::provide), to look into the values, or to let them outlive a crash of the operator:
///
/// ```
/// use std::sync::Mutex;
/// use operator_runtime::{Operator, Shared};
///
/// #[derive(Default)]
/// struct Remote(Mutex<Vec<String>>);
///
/// # fn example(operator: Operator) {
/// let shared = Shared::default();
/// let remote = shared.get::<Remote>();
/// let operator = operator.provide(shared);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Values>>);

impl Shared {
    /// The value of this type.
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        let value = value.clone().downcast();
        value.unwrap_or_else(|_| unreachable!("the key is the type of the value"))
    }
}
