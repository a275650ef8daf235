use clap::Parser;
use mixed::{Options, operator};
use operator_runtime::{Operator, Settings};

/// Runs the controllers of mixed.
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
    let connected = Operator::connect("mixed", args.settings).await?;
    operator(connected, args.options).run().await
}
