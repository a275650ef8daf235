//! Conversions by webhooks: the answers of earlier calls, and the conversions that a request needs and that have no answer yet.
//!
//! A webhook cannot be called while the server is locked. So a stage of a request that needs an unknown conversion notes it here and fails;
//! `transport` then calls the webhook without the lock, and runs the stage again with the answer. A stage changes nothing before it has all
//! of its conversions.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

use serde_json::Value;

use crate::apply::Convert;
use crate::model::kind::ConversionWebhook;
use crate::model::{Crd, Failure, Kind, Result, metadata};

/// An object, as JSON, and the `apiVersion` to convert it to.
type Question = (String, String);

/// The conversions of one request or watch. The default refuses all conversions: it is that of the server's own controllers, which cannot
/// wait for a webhook.
#[derive(Clone, Default)]
pub(crate) struct Conversions {
    answers: HashMap<Question, Result<Value>>,
    wanted: RefCell<Vec<Wanted>>,
    /// Whether the caller calls the webhooks for `wanted`.
    is_awaited: bool,
}

/// A conversion that has no answer yet.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub object: Value,
    pub api_version: String,
    pub webhook: Arc<ConversionWebhook>,
}

impl Conversions {
    /// The conversions of a caller that calls the webhooks for what is wanted.
    pub fn awaited() -> Self {
        Self {
            is_awaited: true,
            ..Self::default()
        }
    }

    /// Whether a conversion has no answer yet.
    pub fn is_waiting(&self) -> bool {
        !self.wanted.borrow().is_empty()
    }

    /// Returns the conversions without answers; each of them must be answered.
    pub fn take_wanted(&mut self) -> Vec<Wanted> {
        mem::take(self.wanted.get_mut())
    }

    pub fn answer(&mut self, wanted: &Wanted, converted: Result<Value>) {
        let question = (wanted.object.to_string(), wanted.api_version.clone());
        self.answers.insert(question, converted);
    }

    /// The answer of a webhook to a conversion. If there is none yet, notes that it is wanted, and fails.
    fn find(&self, webhook: &Arc<ConversionWebhook>, object: Value, to: &str) -> Result<Value> {
        if !self.is_awaited {
            let what = format!("the conversion webhook of {}", webhook.crd);
            return Err(Failure::not_implemented(format!(
                "{what} for requests of controllers"
            )));
        }
        let question = (object.to_string(), to.to_owned());
        if let Some(answer) = self.answers.get(&question) {
            return answer.clone();
        }
        self.wanted.borrow_mut().push(Wanted {
            object,
            api_version: question.1,
            webhook: webhook.clone(),
        });
        Err(unanswered())
    }
}

/// The failure of a stage that runs again with the answers.
pub(crate) fn unanswered() -> Failure {
    Failure::without_reason("a conversion has no answer yet")
}

/// Converts the objects of a CRD for their field managers.
struct Converter<'a> {
    conversions: &'a Conversions,
    crd: &'a Crd,
}

impl Convert for Converter<'_> {
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        self.conversions
            .convert(self.crd, object.clone(), api_version)
            .map_err(|failure| failure.message)
    }
}

impl Conversions {
    /// The conversion of a kind by a webhook, for field managers.
    pub(crate) fn converter<'a>(&'a self, kind: &'a Kind) -> Option<Box<dyn Convert + 'a>> {
        let crd = &*kind.custom.as_ref()?.crd;
        crd.webhook.as_ref()?;
        let conversions = self;
        Some(Box::new(Converter { conversions, crd }))
    }

    /// Converts an object of a CRD to another version, without pruning.
    pub(crate) fn convert(&self, crd: &Crd, mut object: Value, to: &str) -> Result<Value> {
        let Some(webhook) = crd.webhook.as_ref().filter(|_| object["apiVersion"] != to) else {
            object["apiVersion"] = to.into();
            return Ok(object);
        };
        // Objects are converted as they are stored, without their version.
        let version = object["metadata"]["resourceVersion"].take();
        metadata::set(&mut object, "resourceVersion", Value::Null);
        let mut converted = self.find(webhook, object, to)?;
        metadata::set(&mut converted, "resourceVersion", version);
        Ok(converted)
    }
}
