//! Serves the API server in memory on the loopback interface, for `kubectl` and for operators' binaries.
//!
//! `cargo run -p operator-testing --features http --example serve -- KUBECONFIG`, then `kubectl --kubeconfig KUBECONFIG get namespaces`.
//! With the feature `workloads` and `--workloads` after the file, Deployments and the like make pods, which become ready. Ctrl-C ends it.

use operator_testing::ApiServer;
use operator_testing::http::Serving;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kubeconfig = arguments.next().ok_or("usage: serve KUBECONFIG")?;
    let server = match arguments.next().as_deref() {
        None => ApiServer::new(),
        #[cfg(feature = "workloads")]
        Some("--workloads") => {
            ApiServer::new().with_workloads(operator_testing::Workloads::default())
        }
        Some(other) => return Err(format!("what is {other}?").into()),
    };
    let serving = Serving::start(server).await?;
    serving.write_kubeconfig(&kubeconfig)?;
    println!("{}", serving.url());
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
