//! A kind that takes tens of kilobytes in memory: a debug build has copies of it on the stack, and the thread of a test has only 2 MiB.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::{Api, CustomResource, api::PostParams};
use operator_testing::{Server, assert_is_valid, condition, sample};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
struct Squadron {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scout: Option<PodTemplateSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    escort: Option<PodTemplateSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    carrier: Option<PodTemplateSpec>,
}

#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Armada",
    namespaced,
    schema = "disabled"
)]
struct ArmadaSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    north: Option<Squadron>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    east: Option<Squadron>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    south: Option<Squadron>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    west: Option<Squadron>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flagship: Option<PodTemplateSpec>,
}

const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: armadas.example.com}
spec:
  group: example.com
  names: {kind: Armada, plural: armadas}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

const SAMPLE: &str = "
apiVersion: example.com/v1
kind: Armada
metadata: {name: a}
spec: {north: {scout: {metadata: {}, spec: {containers: [{name: a}]}}}}
";

#[test]
fn a_large_kind_is_read_and_stored_on_the_stack_of_a_test() {
    // 24 KiB is the most that a generated type takes without boxes
    assert!(size_of::<Armada>() > 22 << 10, "{}", size_of::<Armada>());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let thread = std::thread::Builder::new().stack_size(2 << 20);
    let test = thread.spawn(move || {
        assert_is_valid::<Armada>(CRD, SAMPLE);
        runtime.block_on(stored());
    });
    test.unwrap().join().unwrap();
}

async fn stored() {
    let server = Server::in_memory();
    server.install(CRD).await.unwrap();
    let armada: Armada = sample(SAMPLE).unwrap();
    let armadas: Api<Armada> = Api::default_namespaced(server.client());
    armadas
        .create(&PostParams::default(), &armada)
        .await
        .unwrap();
    server
        .eventually("it is there", async || {
            let armada = armadas.get_opt("a").await.ok()??;
            condition(&armada, "Ready").is_none().then_some(())
        })
        .await;
}

#[test]
fn a_sample_that_does_not_fit_is_an_error_with_its_line() {
    let error = sample::<Armada>("metadata: {name: a}\nspec: {north: 1}\n").unwrap_err();
    assert!(error.to_string().contains("at line 2 column"), "{error}");
}
