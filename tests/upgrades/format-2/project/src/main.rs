use clap::Parser;
use messaging_operator::{Options, operator};
use operator_runtime::{Operator, Settings};

/// Runs the controllers of messaging-operator. Ask the platform team before you run it by hand.
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
    let connected = Operator::connect("messaging-operator", args.settings).await?;
    operator(connected, args.options).run().await
}
