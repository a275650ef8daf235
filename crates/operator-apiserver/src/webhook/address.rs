//! Webhooks at an address of this machine or at a registered one, which are called over TLS, as a real server does.

use std::error::Error;
use std::net::IpAddr;

use bytes::Bytes;
use http::{Request, Response, Uri};
use kube::config::{Cluster, Context, KubeConfigOptions, Kubeconfig, NamedCluster, NamedContext};
use kube::{Client, Config};
use serde_json::Value;

use super::client::Target;
use crate::store::endpoint::{Endpoint, Endpoints};

/// Where a webhook is called: the registered service or address of its host, or an address of this machine. Other hosts are not reached
/// from a test.
pub(crate) fn target(url: Option<Uri>, config: &Value, endpoints: &Endpoints) -> Option<Target> {
    let url = url?;
    let endpoint = endpoints.find(&url).or_else(|| {
        let bundle = config["caBundle"].as_str().unwrap_or_default();
        match endpoints.address(&url) {
            Some(address) => Some(endpoint(address.to_string(), url.host(), bundle)),
            None if is_local(&url) => {
                let authority = url.authority().map(ToString::to_string);
                Some(endpoint(authority.unwrap_or_default(), None, bundle))
            }
            None => None,
        }
    });
    Some((url, endpoint?))
}

fn is_local(url: &Uri) -> bool {
    let host = url.host().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: IpAddr| address.is_loopback();
    url.scheme_str() == Some("https")
        && (host == "localhost" || host.parse().is_ok_and(is_loopback))
}

/// A service that sends requests to an address. Its certificate must be for the address, or for `name`, if there is one, and signed by a CA
/// in `bundle`, which is in base64.
fn endpoint(authority: String, name: Option<&str>, bundle: &str) -> Endpoint {
    let cluster = Cluster {
        server: Some(format!("https://{authority}")),
        certificate_authority_data: Some(bundle.to_owned()),
        tls_server_name: name.map(str::to_owned),
        ..Cluster::default()
    };
    Endpoint::new(tower::service_fn(move |request: Request<Bytes>| {
        let (authority, cluster) = (authority.clone(), cluster.clone());
        async move {
            let sent = send(cluster, request).await;
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
    cluster: Cluster,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, Box<dyn Error + Send + Sync>> {
    const NAME: &str = "webhook";
    let kubeconfig = Kubeconfig {
        clusters: vec![NamedCluster {
            name: NAME.into(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        contexts: vec![NamedContext {
            name: NAME.into(),
            context: Some(Context {
                cluster: NAME.into(),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(NAME.into()),
        ..Kubeconfig::default()
    };
    let mut config =
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    // the real server does not repeat a call that fails
    config.default_retry = false;
    let client = Client::try_from(config)?;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map(ToString::to_string);
    let mut request = Request::from_parts(parts, kube::client::Body::from(body));
    *request.uri_mut() = path.unwrap_or_default().parse()?;
    let response = client.send(request).await?;
    let (parts, body) = response.into_parts();
    Ok(Response::from_parts(parts, body.collect_bytes().await?))
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
