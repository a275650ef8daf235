//! Webhooks that API servers reach at a URL instead of at the Service.

use std::time::Duration;

use tokio::time::sleep;

use super::super::{Certificates, InvalidAddress};
use super::support::*;

/// The certificates of an operator whose webhooks are reached at a URL.
fn at(
    url: &str,
    server: &operator_testing::Server,
    time: &Time,
) -> Result<Certificates, InvalidAddress> {
    let mut config = config(server.client(), time.clock());
    config.url = Some(url.to_owned());
    config.hosts = vec!["localhost".into()];
    Certificates::managed(config)
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_valid_for_the_hosts_of_the_url_and_of_the_service() {
    let (server, time) = (installed().await, Time::new());
    let replica = Replica::start(at("https://[::1]:9443/", &server, &time).unwrap());
    sleep(Duration::from_secs(1)).await;
    for bundle in all_bundles(&server).await {
        for host in ["::1", "localhost", HOST] {
            replica.connect(&bundle, host, &time).await.unwrap();
        }
    }
    let crd = object(&server.client(), "customresourcedefinitions", CRD).await;
    let config = &crd["spec"]["conversion"]["webhook"]["clientConfig"];
    assert_eq!(config["url"], "https://[::1]:9443/convert");
    assert!(config["service"].is_null());
}

#[tokio::test(start_paused = true)]
async fn an_operator_in_the_cluster_takes_over_from_one_with_a_url() {
    let (server, time) = (installed().await, Time::new());
    let plural = "mutatingwebhookconfigurations";
    let before = object(&server.client(), plural, "op").await;
    let first = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    drop(first);
    // The certificate in the Secret lacks the host of the URL.
    let second = Replica::start(at("https://127.0.0.1:9443", &server, &time).unwrap());
    sleep(A_WHILE).await;
    let bundle = bundle(&server, plural, "op").await;
    second.connect(&bundle, "127.0.0.1", &time).await.unwrap();
    drop(second);
    let third = Replica::managed(server.client(), &time);
    sleep(A_WHILE).await;
    third.connect_as_api_server(&server, &time).await;
    let after = object(&server.client(), plural, "op").await;
    let [before, after] = [&before, &after].map(|object| &object["webhooks"][0]["clientConfig"]);
    assert_eq!(after["service"], before["service"]);
    assert!(after["url"].is_null());
}

#[tokio::test]
async fn an_address_that_no_api_server_calls_is_refused() {
    let (server, time) = (server().await, Time::new());
    let error = |url| at(url, &server, &time).err().map(|error| error.to_string());
    for url in [
        "http://host",
        "host",
        "https://a@b",
        "https://a?b",
        "https://a/#b",
    ] {
        let message = format!("{url:?} is not a URL of webhooks, as in https://HOST:PORT/PATH");
        assert_eq!(error(url), Some(message));
    }
    for (url, host) in [
        ("https://", ""),
        ("https://a b:1", "a b"),
        ("https://[a b]:1", "a b"),
    ] {
        let message = format!("{host:?} is neither a DNS name nor an IP address");
        assert_eq!(error(url), Some(message));
    }
}
