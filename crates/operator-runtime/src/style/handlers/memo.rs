//! What a controller remembers of each object: the values of its handlers, and the progress of its resume and delete handlers.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, Mutex},
};

use super::journal::Journal;
use crate::lock::lock;

type Values = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// The values of one object, by their types.
#[derive(Clone, Default)]
pub(super) struct Memo(Arc<Mutex<Values>>);

impl Memo {
    pub fn get<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut values = lock(&self.0);
        let value = values
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(T::default()));
        // cannot fail: the key is the type
        value.clone().downcast().unwrap_or_default()
    }
}

/// What is remembered of each object in this process.
#[derive(Default)]
pub(super) struct Memory(Mutex<HashMap<String, Known>>);

/// What is remembered of an object.
#[derive(Clone, Default)]
pub(super) struct Known {
    pub memo: Memo,
    /// The progress of the resume handlers, while they have not ended.
    pub resume: Option<Arc<Journal>>,
    /// The progress of the delete handlers. The end of the last one is not written to the object, because the removal of the finalizer
    /// follows; if a conflict delays that, this prevents another call.
    pub cleanup: Option<Arc<Journal>>,
}

impl Memory {
    /// Calls a function with what is known of the object with this uid.
    pub fn with<T>(&self, uid: &str, call: impl FnOnce(&mut Known) -> T) -> T {
        call(lock(&self.0).entry(uid.to_owned()).or_default())
    }

    pub fn forget(&self, uid: &str) {
        lock(&self.0).remove(uid);
    }
}
