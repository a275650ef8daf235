//! A kind with many pod templates, which takes tens of kilobytes in memory. A debug build copies it on the stack wherever it is passed by
//! value, and a thread of a test or of tokio has a stack of only 2 MiB.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, PodTemplateSpec};
use kube::{
    Api, CustomResource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use operator_runtime::{
    Action, Condition, Context, Controllers, EventType, Operator, Reconciler, Result, Settings,
    Setup,
};
use operator_testing::{Server, Trial, condition};
use serde::{Deserialize, Serialize};
use serde_json::json;
use support::WidgetStatus;

mod support;

/// Each field takes two to three kilobytes.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Squadron {
    scout: Option<PodTemplateSpec>,
    escort: Option<PodTemplateSpec>,
    carrier: Option<PodTemplateSpec>,
    tanker: Option<PodTemplateSpec>,
}

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "test.example.com",
    version = "v1",
    kind = "Widget",
    root = "Armada",
    namespaced
)]
#[kube(status = "WidgetStatus", schema = "disabled")]
struct ArmadaSpec {
    north: Option<Squadron>,
    east: Option<Squadron>,
    south: Option<Squadron>,
    west: Option<Squadron>,
    reserve: Option<Squadron>,
}

struct Armadas;

impl Reconciler for Armadas {
    type Resource = Armada;
    const FINALIZER: Option<&'static str> = Some(support::FINALIZER);

    async fn reconcile(&self, armada: Arc<Armada>, cx: &Context) -> Result<Action> {
        let child = ConfigMap {
            metadata: cx.child_metadata(&*armada, armada.name_any()),
            ..ConfigMap::default()
        };
        let applied = cx.apply(&child).await;
        let mut status = armada.status.clone().unwrap_or_default();
        Condition::new("Ready", applied.is_ok(), "Applied", "").set_in(
            status.conditions.get_or_insert_default(),
            armada.metadata.generation,
        )?;
        cx.update_status(&*armada, &status).await?;
        applied?;
        cx.event(&*armada, EventType::Normal, "Applied", "the child is there")
            .await;
        Ok(Action::await_change())
    }
}

fn controllers() -> Controllers {
    let setup = async |_: Setup| Ok(Armadas);
    Controllers::new().add(setup, operator_runtime::Watches::owns::<ConfigMap>)
}

const SAMPLE: &str = "
apiVersion: test.example.com/v1
kind: Widget
metadata: {name: a, namespace: default}
spec: {north: {scout: {spec: {containers: [{name: a}]}}}}
";

/// Runs a test on a thread with the stack that tests have, whatever `RUST_MIN_STACK` says.
fn on_a_test_thread(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    thread.spawn(test).unwrap().join().unwrap();
}

#[test]
fn a_large_kind_fits_the_stack_of_a_test() {
    assert!(size_of::<Armada>() > 32 << 10, "{}", size_of::<Armada>());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    on_a_test_thread(move || runtime.unwrap().block_on(create_change_and_delete()));
}

/// The life of an object. The test itself only uses untyped objects, so that the stack is used by the runtime.
async fn create_change_and_delete() {
    let server = support::server().await;
    let operator = Operator::new(support::OPERATOR, Settings::for_tests(), server.client());
    server.run(operator.register(controllers()).run());
    server.install(SAMPLE).await.unwrap();
    let armadas = ApiResource::erase::<Armada>(&());
    let api: Api<DynamicObject> = Api::default_namespaced_with(server.client(), &armadas);
    until_ready(&server, &api).await;
    let children: Api<ConfigMap> = Api::default_namespaced(server.client());
    children
        .delete("a", &DeleteParams::default())
        .await
        .unwrap();
    let change = json!({ "spec": { "west": { "tanker": {} } } });
    api.patch("a", &PatchParams::default(), &Patch::Merge(change))
        .await
        .unwrap();
    server
        .eventually("the child is back", async || {
            children.get_opt("a").await.unwrap()
        })
        .await;
    api.delete("a", &DeleteParams::default()).await.unwrap();
    server
        .eventually("it is deleted", async || {
            api.get_opt("a").await.unwrap().is_none().then_some(())
        })
        .await;
}

async fn until_ready(server: &Server, api: &Api<DynamicObject>) {
    server
        .eventually("it is ready", async || {
            let armada = api.get("a").await.ok()?;
            (condition(&armada, "Ready")? == "True").then_some(())
        })
        .await;
}

#[test]
fn a_trial_of_a_large_kind_fits_the_stack_of_a_test() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("large");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("crds.yaml"), include_str!("support/crds.yaml")).unwrap();
    std::fs::write(
        folder.join("kustomization.yaml"),
        "resources: [crds.yaml]\n",
    )
    .unwrap();
    let operator = |client| {
        let operator = Operator::new(support::OPERATOR, Settings::for_tests(), client);
        operator.register(controllers()).run()
    };
    let trial = Trial::new(folder, "").sample(SAMPLE);
    on_a_test_thread(move || trial.assert_converges(operator));
}
