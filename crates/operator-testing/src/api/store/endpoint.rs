//! The services that a test has registered for webhook calls, by host.

use std::fmt::Display;

use bytes::Bytes;
use http::{Request, Response, Uri};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

/// The service that answers the requests to a host; its error is a text.
pub(crate) type Endpoint = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

/// The registered endpoints.
#[derive(Clone, Default)]
pub(crate) struct Endpoints(Vec<(String, Endpoint)>);

impl Endpoints {
    /// Registers the service for a host, and replaces an earlier one.
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

    /// The service for a URL, which is registered with its host and port, or with only its host.
    pub fn find(&self, url: &Uri) -> Option<Endpoint> {
        let is = |wanted: &str| self.0.iter().find(|(host, _)| host == wanted);
        let found = is(url.authority()?.as_str()).or_else(|| is(url.host()?));
        found.map(|(_, endpoint)| endpoint.clone())
    }
}
