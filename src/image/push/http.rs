//! One HTTP request and its response, through the proxy of the environment if there is one.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::{
        legacy::{
            Client,
            connect::{Connect, HttpConnector, proxy::Tunnel},
        },
        proxy::matcher::Matcher,
    },
    rt::TokioExecutor,
};
use rustls::ClientConfig;

use super::PushError;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a request may take, with its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
/// The largest response in bytes; the responses that are needed are smaller.
const MAX_BODY: usize = 4 << 20;

/// A client that verifies servers with the certificates of this machine.
pub struct Http {
    tls: ClientConfig,
    proxies: Matcher,
    direct: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// A complete response.
pub struct Response {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Http {
    pub fn new() -> Result<Self, PushError> {
        let tls = ClientConfig::builder().with_native_roots();
        let tls = tls.map_err(PushError::Roots)?.with_no_client_auth();
        Ok(Self {
            direct: client(&tls, connector()),
            proxies: Matcher::from_env(),
            tls,
        })
    }

    /// Sends a request to `host`, which is named in errors.
    pub async fn send(
        &self,
        host: &str,
        request: Request<Full<Bytes>>,
    ) -> Result<Response, PushError> {
        let response = async {
            let response = match self.proxies.intercept(request.uri()) {
                Some(proxy) => {
                    let mut tunnel = Tunnel::new(proxy.uri().clone(), connector());
                    if let Some(password) = proxy.basic_auth() {
                        tunnel = tunnel.with_auth(password.clone());
                    }
                    client(&self.tls, tunnel).request(request).await
                }
                None => self.direct.request(request).await,
            };
            let (head, body) = response
                .map_err(|error| PushError::connection(host, &error))?
                .into_parts();
            let body = Limited::new(body, MAX_BODY).collect().await;
            let body = body.map_err(|error| PushError::connection(host, &*error))?;
            Ok(Response {
                status: head.status,
                headers: head.headers,
                body: body.to_bytes(),
            })
        };
        let late = |_| PushError::Late {
            host: host.to_owned(),
            seconds: REQUEST_TIMEOUT.as_secs(),
        };
        tokio::time::timeout(REQUEST_TIMEOUT, response)
            .await
            .map_err(late)?
    }
}

fn connector() -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    connector
}

fn client<C>(tls: &ClientConfig, connector: C) -> Client<HttpsConnector<C>, Full<Bytes>>
where
    HttpsConnector<C>: Connect + Clone,
{
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls.clone())
        .https_or_http()
        .enable_http1()
        .wrap_connector(connector);
    Client::builder(TokioExecutor::new()).build(connector)
}
