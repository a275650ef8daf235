//! The requests to the API server, under the name of client-go.

use std::sync::{Arc, OnceLock};

use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, LabelValueEncoder},
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    code: Code,
    host: Arc<str>,
    method: &'static str,
}

/// The status of an answer; `None` if there was none.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
struct Code(Option<StatusCode>);

impl EncodeLabelValue for Code {
    fn encode(&self, encoder: &mut LabelValueEncoder) -> Result<(), std::fmt::Error> {
        match &self.0 {
            Some(code) => code.as_str().encode(encoder),
            None => "<error>".encode(encoder),
        }
    }
}

/// Counts requests.
pub(crate) struct Requests {
    requests: Family<RequestLabels, Counter>,
    host: OnceLock<Arc<str>>,
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let requests = Family::default();
        registry.register(
            "rest_client_requests",
            "Requests to the API server by status code, host and method; the code of a request without an answer is <error>",
            Family::clone(&requests),
        );
        Self {
            requests,
            host: OnceLock::new(),
        }
    }

    /// Sets the name and port of the API server. They are empty for a client that the program created.
    pub fn set_host(&self, host: &str) {
        self.host.get_or_init(|| host.into());
    }

    /// Counts a request, and its answer if there was one.
    pub fn done(&self, method: &Method, code: Option<StatusCode>) {
        let method = match *method {
            Method::GET => "GET",
            Method::POST => "POST",
            Method::PUT => "PUT",
            Method::PATCH => "PATCH",
            Method::DELETE => "DELETE",
            _ => "OTHER",
        };
        let labels = RequestLabels {
            code: Code(code),
            host: self.host.get_or_init(|| "".into()).clone(),
            method,
        };
        self.requests.get_or_create(&labels).inc();
    }
}
