//! The service behind the webhooks of all cases.
//!
//! `answers` has for each webhook one answer, or a list of them for its calls one after another, of which the last is repeated. The fields
//! of an answer are those of the `response` of an AdmissionReview, in which `allowed` is true by default; `patch` is a list of operations.
//! An answer may also have: `http` and `text`, to answer with this code and text; `delay`, in seconds; `edit`, a JSON patch of the whole
//! review. An answer with `when` is only for reviews that have these values at these pointers. A ConversionReview gets what [`convert`]
//! makes of it, with the same changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{Request, Response};
use serde_json::{Value, json};

use crate::convert::convert;
use crate::listener::Listener;

/// The fields that are no part of a `response`.
const OWN: [&str; 5] = ["http", "text", "delay", "edit", "when"];

#[derive(Clone)]
pub struct Service {
    /// The address of the listener.
    pub host: String,
    pub bundle: String,
    cases: Arc<Mutex<HashMap<String, Scenario>>>,
}

/// What the webhooks of a case answer, and what they were asked.
#[derive(Default)]
struct Scenario {
    answers: BTreeMap<String, Value>,
    calls: HashMap<String, usize>,
    asked: Vec<(String, Value)>,
}

impl Service {
    pub async fn start() -> Self {
        let listener = Listener::start().await;
        let service = Self {
            host: listener.url.trim_start_matches("https://").to_owned(),
            bundle: STANDARD.encode(&listener.certificate),
            cases: Arc::default(),
        };
        let answering = service.clone();
        listener.serve(tower::service_fn(move |request: Request<Bytes>| {
            let answering = answering.clone();
            async move { answering.answer(&request).await }
        }));
        service
    }

    /// Sets the answers of the webhooks of a case.
    pub fn set(&self, case: &str, answers: BTreeMap<String, Value>) {
        self.with(case, |scenario| {
            scenario.answers = answers;
            scenario.calls.clear();
        });
    }

    /// Takes the admission reviews since the last call, with the names of their webhooks, in their order.
    pub fn take_asked(&self, case: &str) -> Vec<(String, Value)> {
        self.with(case, |scenario| std::mem::take(&mut scenario.asked))
    }

    fn with<T>(&self, case: &str, act: impl FnOnce(&mut Scenario) -> T) -> T {
        let mut cases = self.cases.lock().unwrap_or_else(PoisonError::into_inner);
        act(cases.entry(case.to_owned()).or_default())
    }

    async fn answer(&self, request: &Request<Bytes>) -> Result<Response<Bytes>, String> {
        let path = request.uri().path().trim_start_matches('/');
        let (case, hook) = path.split_once('/').ok_or("no such case")?;
        let review = serde_json::from_slice(request.body()).map_err(|error| error.to_string())?;
        let answer = self.with(case, |scenario| scenario.next(hook, &review));
        if let Some(seconds) = answer["delay"].as_f64() {
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        }
        let code = u16::try_from(answer["http"].as_u64().unwrap_or(200)).unwrap_or_default();
        let body = match answer["text"].as_str() {
            Some(text) => text.to_owned(),
            None => reply(&review, &answer)?.to_string(),
        };
        let response = Response::builder()
            .status(code)
            .header("content-type", "application/json")
            .body(Bytes::from(body));
        response.map_err(|error| error.to_string())
    }
}

impl Scenario {
    /// Records a review, and returns the answer to it.
    fn next(&mut self, hook: &str, review: &Value) -> Value {
        if review["kind"] == "AdmissionReview" {
            self.asked
                .push((hook.to_owned(), review["request"].clone()));
        }
        let count = self.calls.entry(hook.to_owned()).or_default();
        *count += 1;
        let answer = match self.answers.get(hook) {
            Some(Value::Array(answers)) => answers[(*count - 1).min(answers.len() - 1)].clone(),
            Some(answer) => answer.clone(),
            None => json!({}),
        };
        let conditions = answer["when"].as_object().into_iter().flatten();
        let mut conditions =
            conditions.map(|(pointer, value)| review.pointer(pointer) == Some(value));
        if conditions.all(|is_met| is_met) {
            answer
        } else {
            json!({})
        }
    }
}

/// The review that is returned for a review.
fn reply(review: &Value, answer: &Value) -> Result<Value, String> {
    let mut reply = match review["kind"].as_str() {
        Some("ConversionReview") => convert(review),
        _ => json!({
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": {"uid": review["request"]["uid"], "allowed": true},
        }),
    };
    let fields = answer.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !OWN.contains(&field.as_str())) {
        reply["response"][field] = match (field.as_str(), value) {
            ("patch", Value::Array(_)) => {
                if answer.get("patchType").is_none() {
                    reply["response"]["patchType"] = "JSONPatch".into();
                }
                STANDARD.encode(value.to_string()).into()
            }
            _ => value.clone(),
        };
    }
    if let Some(edit) = answer.get("edit") {
        let edit: json_patch::Patch =
            serde_json::from_value(edit.clone()).map_err(|error| error.to_string())?;
        json_patch::patch(&mut reply, &edit).map_err(|error| error.to_string())?;
    }
    Ok(reply)
}
