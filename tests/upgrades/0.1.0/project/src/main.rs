use clap::Parser;
use operator_runtime::{Operator, Settings};
use versions::{Options, operator};

/// Runs the controllers of versions.
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
    let connected = Operator::connect("versions", args.settings).await?;
    operator(connected, args.options).run().await
}
