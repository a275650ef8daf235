//! The metric of requests to the API server, under its name in client-go.

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

/// The status code of a response; `None` if there was no response.
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

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text;

    #[test]
    fn requests_are_counted_by_code_host_and_method() {
        let mut registry = Registry::default();
        let requests = Requests::register(&mut registry);
        requests.set_host("10.96.0.1:443");
        requests.done(&Method::GET, Some(StatusCode::NOT_FOUND));
        requests.done(&Method::PATCH, None);
        requests.done(&Method::PATCH, None);
        let mut page = String::new();
        text::encode(&mut page, &registry).unwrap();
        for line in [
            r#"rest_client_requests_total{code="404",host="10.96.0.1:443",method="GET"} 1"#,
            r#"rest_client_requests_total{code="<error>",host="10.96.0.1:443",method="PATCH"} 2"#,
        ] {
            assert!(
                page.lines().any(|found| found == line),
                "{line} is not in\n{page}"
            );
        }
    }
}
