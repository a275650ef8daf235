//! Where webhooks are reached: the services that a test has registered, by their hosts.

use std::fmt::Display;

use bytes::Bytes;
use http::{Request, Response, Uri};
use serde_json::Value;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

/// What answers the requests to a host; its error is a text.
pub(crate) type Endpoint = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

/// The registered endpoints.
#[derive(Clone, Default)]
pub(crate) struct Endpoints(Vec<(String, Endpoint)>);

impl Endpoints {
    /// Registers what answers for a host, in place of what did so before.
    pub fn insert<S>(&mut self, host: &str, service: S)
    where
        S: tower::Service<Request<Bytes>, Response = Response<Bytes>>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        S::Error: Display,
    {
        let service = service.map_err(|error: S::Error| error.to_string());
        self.0.retain(|(known, _)| known != host);
        self.0
            .push((host.to_owned(), BoxCloneSyncService::new(service)));
    }

    /// What answers for a URL: registered with its host and port, or with its host.
    pub fn find(&self, url: &Uri) -> Option<Endpoint> {
        let is = |wanted: &str| self.0.iter().find(|(host, _)| host == wanted);
        let found = is(url.authority()?.as_str()).or_else(|| is(url.host()?));
        found.map(|(_, endpoint)| endpoint.clone())
    }
}

/// The URL of a [client configuration], with the timeout that the API server adds; `None` if it is not one.
///
/// [client configuration]: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#contacting-the-webhook
pub(super) fn url(config: &Value, seconds: u64) -> Option<Uri> {
    let service = &config["service"];
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let base = match config["url"].as_str() {
        Some(url) => url.to_owned(),
        None => {
            let port = service["port"].as_u64().unwrap_or(443);
            let path = text("path").trim_start_matches('/');
            format!(
                "https://{}.{}.svc:{port}/{path}",
                text("name"),
                text("namespace")
            )
        }
    };
    format!("{base}?timeout={seconds}s").parse().ok()
}
