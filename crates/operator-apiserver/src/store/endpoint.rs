//! The services and addresses that a test has registered for webhook calls, by host.

use std::fmt::Display;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response, Uri};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

/// The service that answers the requests to a host; its error is a text.
pub(crate) type Endpoint = BoxCloneSyncService<Request<Bytes>, Response<Bytes>, String>;

/// The registered endpoints.
#[derive(Clone, Default)]
pub(crate) struct Endpoints {
    services: Vec<(String, Endpoint)>,
    addresses: Vec<(String, SocketAddr)>,
}

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
        self.services.retain(|(known, _)| known != host);
        self.services
            .push((host.to_owned(), BoxCloneSyncService::new(service)));
    }

    /// Registers the address of a host, and replaces an earlier one.
    pub fn locate(&mut self, host: &str, address: SocketAddr) {
        self.addresses.retain(|(known, _)| known != host);
        self.addresses.push((host.to_owned(), address));
    }

    /// The service for a URL, which is registered with its host and port, or with only its host.
    pub fn find(&self, url: &Uri) -> Option<Endpoint> {
        named(&self.services, url).cloned()
    }

    /// The address for a URL, in the same way.
    pub fn address(&self, url: &Uri) -> Option<SocketAddr> {
        named(&self.addresses, url).copied()
    }
}

/// The value that is registered for the host and port of a URL, or else for its host.
fn named<'a, T>(registered: &'a [(String, T)], url: &Uri) -> Option<&'a T> {
    let is = |wanted: &str| registered.iter().find(|(host, _)| host == wanted);
    is(url.authority()?.as_str())
        .or_else(|| is(url.host()?))
        .map(|(_, value)| value)
}
