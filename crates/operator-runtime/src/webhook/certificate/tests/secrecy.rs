//! Private keys are in no log and in no debug output.

use std::{collections::BTreeSet, time::Duration};

use http_body_util::BodyExt;
use k8s_openapi::ByteString;
use kube::{Client, client::Body};
use operator_testing::Server;
use tokio::time::sleep;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use tower::service_fn;

use super::super::{
    Certificates, Lifetimes,
    contents::{Contents, Entries},
    identity::Identity,
    renewal::next,
};
use super::support::*;

/// Adds the texts as which the keys of the Secret could appear.
async fn add_texts(server: &Server, texts: &mut BTreeSet<String>) {
    for name in ["tls.key", "ca.key"] {
        let Some(pem) = secret(server).await.data.unwrap().remove(name) else {
            continue;
        };
        add_key(&pem.0, texts);
    }
}

fn add_key(pem: &[u8], texts: &mut BTreeSet<String>) {
    let text = String::from_utf8(pem.to_vec()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("-----"));
    // As PEM, and as the data of a Secret.
    texts.extend(lines.map(|line| line[..16].to_owned()));
    let data = serde_json::to_value(ByteString(pem.to_vec())).unwrap();
    let data = data.as_str().unwrap();
    texts.insert(data[40..80].to_owned());
    // As bytes, with the secret after the header of PKCS #8.
    let key = PrivateKeyDer::from_pem_slice(pem).unwrap();
    let bytes = &key.secret_der()[36..48];
    texts.insert(format!("{bytes:?}").trim_matches(['[', ']']).to_owned());
    texts.insert(bytes.iter().map(|byte| format!("{byte:02x}")).collect());
}

fn assert_has_none(text: &str, secrets: &BTreeSet<String>) {
    assert!(secrets.len() > 8, "{}", secrets.len());
    for secret in secrets {
        let lines = text.lines().filter(|line| line.contains(secret));
        assert_eq!(lines.collect::<Vec<_>>(), [""; 0]);
    }
}

/// A client that cuts off the response to every fifth request, if it is about the Secret.
fn truncating(server: &Server) -> Client {
    let admin = server.client();
    let count = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let service = service_fn(move |request: http::Request<Body>| {
        let (admin, count) = (admin.clone(), count.clone());
        async move {
            let is_secret = request.uri().path().contains("/secrets");
            let response = admin.send(request).await?;
            let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if !is_secret || number % 5 > 0 {
                return Ok::<_, kube::Error>(response);
            }
            let (parts, body) = response.into_parts();
            let mut text = body.collect().await.unwrap().to_bytes().to_vec();
            text.truncate(text.len() - 5);
            Ok(http::Response::from_parts(parts, Body::from(text)))
        }
    });
    Client::new(service, NAMESPACE)
}

#[tokio::test(start_paused = true)]
async fn no_key_is_in_a_log_of_any_level() {
    let (log, _guard) = Log::capture();
    let (server, time) = (installed().await, Time::new());
    let mut texts = BTreeSet::new();
    let _replicas = [truncating(&server), server.client()].map(|client| {
        let mut config = config(client, time.clock());
        config.lifetimes = Lifetimes {
            authority: Duration::from_secs(270 * 24 * 3600),
            ..Lifetimes::default()
        };
        Replica::start(Certificates::managed(config).unwrap())
    });
    for round in 0..12 {
        sleep(Duration::from_secs(400)).await;
        add_texts(&server, &mut texts).await;
        match round % 3 {
            0 => tamper(&server, &[("tls.key", Some(b"damaged"))]).await,
            1 => {
                let key = entry(&server, "tls.key").await;
                tamper(&server, &[("ca.key", Some(&key)), ("tls.crt", Some(&key))]).await;
            }
            _ => time.advance(Duration::from_secs(61 * 24 * 3600)),
        }
    }
    let text = log.text();
    for expected in [
        "TRACE",
        "repaired",
        "was due for renewal",
        "is not JSON",
        "set the CA bundle",
    ] {
        assert!(
            text.contains(expected),
            "{expected} is not in {}",
            log.own()
        );
    }
    assert_has_none(&text, &texts);
}

#[test]
fn no_key_is_in_a_debug_output() {
    let identity = Identity::new("op", "op-webhook", NAMESPACE, &[]).unwrap();
    let lifetimes = Lifetimes::default();
    let now = 1_800_000_000;
    let next = next(None, None, |_| false, &identity, &lifetimes, now).unwrap();
    let mut texts = BTreeSet::new();
    let mut entries = Entries::default();
    for (name, text) in next.material.entries() {
        if name.ends_with(".key") {
            add_key(text.as_bytes(), &mut texts);
        }
        entries.0.insert(name.to_owned(), text.into_bytes());
    }
    let tls = super::super::tls::Tls::new();
    tls.serve(&next.material.serving).unwrap();
    let (config, certified) = (tls.server_config(), next.material.serving.certified_key());
    let mut outputs = vec![
        format!("{next:?} {next:#?} {tls:?} {config:?} {certified:?} {identity:?}"),
        format!("{:?}", next.material.authority.key.der()),
    ];
    // The text of each error about a damaged key.
    for name in ["tls.key", "ca.key", "tls.crt", "ca.crt"] {
        let mut damaged = entries.clone();
        let mut text = entries.0["tls.key"].clone();
        text.insert(60, b'%');
        damaged.0.insert(name.to_owned(), text);
        let contents = Contents::read(&damaged, &identity, now);
        assert!(!contents.damages.is_empty());
        let damages = &contents.damages;
        outputs.push(format!("{damages:?} {}", damages[0]));
    }
    assert_has_none(&outputs.concat(), &texts);
}
