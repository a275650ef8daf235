//! Serves the API server in memory over HTTP on the loopback interface, for `kubectl` and for operators' binaries.
//!
//! `cargo run -p operator-testing --example serve -- 8001`, then `kubectl --server http://127.0.0.1:8001 get namespaces`.

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use operator_testing::ApiServer;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args()
        .nth(1)
        .map_or(Ok(8001), |port| port.parse())?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}", listener.local_addr()?);
    let server = ApiServer::new();
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(server.clone());
        tokio::spawn(async move {
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                eprintln!("{error}");
            }
        });
    }
}
