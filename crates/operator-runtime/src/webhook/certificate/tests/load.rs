//! Certificates that live for seconds are renewed under load, over real sockets and in real time.

use std::{
    collections::HashSet,
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use operator_testing::Server;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, interval, sleep},
};
use tokio_rustls::TlsAcceptor;

use super::super::{Certificates, Lifetimes};
use super::support::*;

const PLURAL: &str = "validatingwebhookconfigurations";

/// How long the API server still uses the old bundle after a change.
const LAG: Duration = Duration::from_millis(200);

async fn replica(server: &Server, lifetimes: Lifetimes) -> (Replica, SocketAddr) {
    let mut config = config(server.client(), std::sync::Arc::new(SystemTime::now));
    config.lifetimes = lifetimes;
    let replica = Replica::start(Certificates::managed(config).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = TlsAcceptor::from(replica.tls.clone());
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let acceptor = acceptor.clone();
            tokio::spawn(async move { echo(acceptor, stream).await });
        }
    });
    (replica, address)
}

/// Connects a hundred times a second to one of two replicas. Returns how many certificates and bundles it saw.
async fn connect_all_the_time(lifetimes: Lifetimes, duration: Duration) -> (usize, usize) {
    let server = installed().await;
    let mut replicas = vec![];
    for _ in 0..2 {
        replicas.push(replica(&server, lifetimes).await);
    }
    for (replica, _) in &mut replicas {
        replica.loaded.wait_for(|loaded| *loaded).await.unwrap();
    }
    sleep(LAG).await;

    let time = Time::real();
    let (mut certificates, mut bundles) = (HashSet::new(), HashSet::new());
    let mut seen = vec![(Instant::now(), bundle(&server, PLURAL, "op").await)];
    let mut ticks = interval(Duration::from_millis(10));
    let end = Instant::now() + duration;
    let mut count = 0;
    while Instant::now() < end {
        ticks.tick().await;
        seen.push((Instant::now(), bundle(&server, PLURAL, "op").await));
        // The newest bundle that is old enough.
        let known = seen.iter().rposition(|(since, _)| since.elapsed() >= LAG);
        seen.drain(..known.unwrap_or(0));
        let bundle = &seen[0].1;
        let (_, address) = &replicas[count % replicas.len()];
        let stream = TcpStream::connect(address).await.unwrap();
        let connected = call(stream, bundle, HOST, &time).await;
        let certificate = connected.unwrap_or_else(|error| panic!("connection {count}: {error}"));
        certificates.insert(certificate.to_vec());
        bundles.insert(bundle.clone());
        count += 1;
    }
    assert!(count > 100, "{count} connections");
    (certificates.len(), bundles.len())
}

fn lifetimes(authority: u64) -> Lifetimes {
    Lifetimes {
        serving: Duration::from_secs(4),
        authority: Duration::from_secs(authority),
        propagation: Duration::from_millis(400),
        poll: Duration::from_millis(100),
    }
}

#[tokio::test]
async fn no_connection_fails_over_three_lifetimes_of_a_certificate() {
    let (certificates, bundles) =
        connect_all_the_time(lifetimes(3600), Duration::from_secs(12)).await;
    assert!(certificates >= 4, "{certificates} certificates");
    assert_eq!(bundles, 1);
}

#[tokio::test]
async fn no_connection_fails_over_three_lifetimes_of_an_authority() {
    let (certificates, bundles) = connect_all_the_time(lifetimes(8), Duration::from_secs(24)).await;
    assert!(certificates >= 6, "{certificates} certificates");
    assert!(bundles >= 5, "{bundles} bundles");
}
