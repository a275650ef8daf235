use clap::Parser;
use operator_runtime::{Operator, Settings};
use reconciler::{Options, operator};

/// Runs the controllers of reconciler.
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
    let connected = Operator::connect("reconciler", args.settings).await?;
    operator(connected, args.options).run().await
}
