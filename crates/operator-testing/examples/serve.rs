//! Serves the API server in memory on the loopback interface, for `kubectl` and for operators' binaries.
//!
//! `cargo run -p operator-testing --features http --example serve -- KUBECONFIG`, then `kubectl --kubeconfig KUBECONFIG get namespaces`.
//! Ctrl-C ends it.

use operator_testing::ApiServer;
use operator_testing::http::Serving;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let kubeconfig = std::env::args().nth(1).ok_or("usage: serve KUBECONFIG")?;
    let serving = Serving::start(ApiServer::new()).await?;
    serving.write_kubeconfig(&kubeconfig)?;
    println!("{}", serving.url());
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
