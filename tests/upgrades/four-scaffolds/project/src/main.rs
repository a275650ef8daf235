//! The operator of the shop.
use clap::Parser;
use operator_runtime::{Operator, Settings};
use shop_operator::{Options, operator};

/// Runs the controllers of shop-operator.
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
    let connected = Operator::connect("shop-operator", args.settings).await?;
    operator(connected, args.options).run().await
}
