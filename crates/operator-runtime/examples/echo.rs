//! An operator for a kind of its own: each Echo has a ConfigMap with its message.
//!
//! `cargo run --example echo -- --crd | kubectl apply --server-side -f -` installs the kind, and
//! `cargo run --example echo` runs the operator on the cluster of the kubeconfig.

use std::sync::Arc;

use clap::Parser;
use k8s_openapi::{
    api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Condition as MetaV1,
};
use kube::{CustomResource, CustomResourceExt, ResourceExt};
use operator_runtime::{
    Action, Condition, Context, Controllers, Operator, Reconciler, Result, Settings, Setup,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Echo",
    namespaced,
    status = "EchoStatus"
)]
struct EchoSpec {
    message: String,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
struct EchoStatus {
    #[serde(default)]
    conditions: Vec<MetaV1>,
}

struct Echoes;

impl Reconciler for Echoes {
    type Resource = Echo;
    const FINALIZER: Option<&'static str> = Some("example.com/echo");

    async fn reconcile(&self, echo: Arc<Echo>, cx: &Context) -> Result<Action> {
        let child = ConfigMap {
            metadata: cx.child_metadata(&*echo, echo.name_any()),
            data: Some([("message".to_owned(), echo.spec.message.clone())].into()),
            ..ConfigMap::default()
        };
        let applied = cx.apply(&child).await;
        let ready = match &applied {
            Ok(_) => Condition::new("Ready", true, "Applied", "the ConfigMap is there"),
            Err(error) => Condition::new("Ready", false, "ApplyFailed", error.to_string()),
        };
        let mut status = echo.status.clone().unwrap_or_default();
        ready.set_in(&mut status.conditions, echo.metadata.generation)?;
        cx.update_status(&*echo, &status).await?;
        applied?;
        Ok(Action::await_change())
    }
}

async fn setup(_setup: Setup) -> Result<Echoes> {
    Ok(Echoes)
}

#[derive(Parser)]
struct Args {
    #[command(flatten)]
    settings: Settings,

    /// Print the CustomResourceDefinition and end
    #[arg(long)]
    crd: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    if args.crd {
        println!("{}", serde_json::to_string(&Echo::crd())?);
        return Ok(());
    }
    let controllers = Controllers::new().add(setup, operator_runtime::Watches::owns::<ConfigMap>);
    Operator::connect("echo", args.settings)
        .await?
        .register(controllers)
        .run()
        .await?;
    Ok(())
}
