//! The reply to a call.

use serde_json::Value;

use super::list::List;
use super::watch::Subscription;

/// The reply to a call, unless it fails.
pub(crate) enum Reply {
    Object { code: u16, object: Value },
    List(Box<List>),
    Text(&'static str),
    Watch(Box<Subscription>),
}

impl Reply {
    pub fn ok(object: Value) -> Self {
        Self::Object { code: 200, object }
    }

    pub fn created(object: Value) -> Self {
        Self::Object { code: 201, object }
    }
}
