use cache_operator::{Options, operator};
use clap::Parser;
use operator_runtime::{Operator, Settings};

/// Runs the controllers of cache-operator.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    options: Options,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let connected = Operator::connect("cache-operator", args.settings).await?;
    operator(connected, args.options).run().await
}
