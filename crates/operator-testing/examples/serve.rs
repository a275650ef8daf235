//! Serves the API server in memory on the loopback interface, for `kubectl` and for operators' binaries.
//!
//! `cargo run -p operator-testing --features http --example serve -- KUBECONFIG`, then `kubectl --kubeconfig KUBECONFIG get namespaces`.
//! With the feature `workloads` and `--workloads` after the file, Deployments and other workloads create pods, which become ready. With
//! `--webhooks HOST=ADDRESS`, the webhooks of a Service, such as `NAME.NAMESPACE.svc`, are called at an address. Ctrl-C ends it.

use operator_testing::ApiServer;
use operator_testing::http::Serving;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let kubeconfig = arguments.next().ok_or("usage: serve KUBECONFIG")?;
    let mut server = ApiServer::new();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            #[cfg(feature = "workloads")]
            "--workloads" => {
                server = server.with_workloads(operator_testing::Workloads::default());
            }
            "--webhooks" => {
                let service = arguments.next().unwrap_or_default();
                let (host, address) = service.split_once('=').ok_or("HOST=ADDRESS is missing")?;
                server.call_webhooks_at(host, address.parse()?);
            }
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    let serving = Serving::start(server).await?;
    serving.write_kubeconfig(&kubeconfig)?;
    println!("{}", serving.url());
    tokio::signal::ctrl_c().await?;
    serving.shutdown().await;
    Ok(())
}
