use clap::Parser;
use handlers_operator::{Options, operator};
use operator_runtime::{Operator, Settings};

/// Runs the controllers of handlers-operator.
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
    let connected = Operator::connect("handlers-operator", args.settings).await?;
    operator(connected, args.options).run().await
}
