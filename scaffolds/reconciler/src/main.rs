use clap::Parser;
use operator_runtime::{Operator, Settings};
use reconciler::controllers;

/// Runs the controllers of reconciler.
#[derive(Parser)]
#[command(version)]
struct Args {
    #[command(flatten)]
    settings: Settings,
    // Flags of your own go here. `.provide(value)` on the operator hands a value to the `setup` of each controller.
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    Operator::connect("reconciler", args.settings)
        .await?
        .register(controllers::all())
        .run()
        .await?;
    Ok(())
}
