use clap::Parser;
use operator_runtime::{Operator, Settings};
use operators::{Options, operator};

/// Runs the controllers of operators.
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
    let connected = Operator::connect("operators", args.settings).await?;
    operator(connected, args.options).run().await
}
