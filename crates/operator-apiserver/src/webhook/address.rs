//! Webhooks at an address of this machine or at a registered one, which are called over TLS, as a real server does.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{FixedServerNameResolver, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use serde_json::Value;

use super::ca_bundle::CaBundle;
use super::client::Target;
use crate::store::endpoint::{Endpoint, Endpoints};

/// Where a webhook is called: the registered service or address of its host, or an address of this machine. Other hosts are not reached
/// from a test.
pub(crate) fn target(url: Option<Uri>, config: &Value, endpoints: &Endpoints) -> Option<Target> {
    let url = url?;
    let endpoint = endpoints.find(&url).or_else(|| {
        let authority = match endpoints.address(&url) {
            Some(address) => address.to_string(),
            None if is_local(&url) => url.authority()?.to_string(),
            None => return None,
        };
        let bundle = config["caBundle"].as_str().unwrap_or_default();
        Some(endpoint(authority, host(&url), bundle))
    });
    Some((url, endpoint?))
}

/// The host, without the brackets of an IPv6 address.
fn host(url: &Uri) -> &str {
    let host = url.host().unwrap_or_default();
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_local(url: &Uri) -> bool {
    let host = host(url);
    let is_loopback = |address: IpAddr| address.is_loopback();
    url.scheme_str() == Some("https")
        && (host == "localhost" || host.parse().is_ok_and(is_loopback))
}

/// A service that sends requests to an address, whose certificate must be for `name`, and trusted by `bundle`, which is in base64.
fn endpoint(authority: String, name: &str, bundle: &str) -> Endpoint {
    let (name, bundle) = (name.to_owned(), bundle.to_owned());
    Endpoint::new(tower::service_fn(move |request: Request<Bytes>| {
        let (authority, name, bundle) = (authority.clone(), name.clone(), bundle.clone());
        async move {
            let sent = send(&authority, name, &bundle, request).await;
            sent.map_err(|error| {
                if is_refused(&*error) {
                    format!("dial tcp {authority}: connect: connection refused")
                } else {
                    with_sources(&*error)
                }
            })
        }
    }))
}

/// Sends a request with a client of its own, because each webhook has its own certificates.
async fn send(
    authority: &str,
    name: String,
    bundle: &str,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
    // Without a choice, rustls panics in a program that is built with two providers.
    let provider = ring::default_provider();
    let trusted = CaBundle::read(bundle, provider.signature_verification_algorithms);
    let tls = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trusted))
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls)
        .https_only()
        .with_server_name_resolver(FixedServerNameResolver::new(ServerName::try_from(name)?))
        .enable_http1()
        .build();
    let (mut parts, body) = request.into_parts();
    let mut address = parts.uri.into_parts();
    address.scheme = Some(Scheme::HTTPS);
    address.authority = Some(authority.parse()?);
    parts.uri = address.try_into()?;
    let request = Request::from_parts(parts, Full::new(body));
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let (parts, body) = client.request(request).await?.into_parts();
    Ok(Response::from_parts(
        parts,
        body.collect().await?.to_bytes(),
    ))
}

/// Whether nobody listens at the address.
fn is_refused(error: &(dyn Error + 'static)) -> bool {
    let mut source = Some(error);
    while let Some(cause) = source {
        let io = cause.downcast_ref::<std::io::Error>();
        if io.is_some_and(|io| io.kind() == std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        source = cause.source();
    }
    false
}

/// An error and its causes.
fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text += &format!(": {cause_text}");
        }
        source = cause.source();
    }
    text
}
