//! The conversion webhook of a CRD, whose `caBundle` the operator owns, is removed from an installed CRD: by the operator that applies the
//! CRD, and by kubectl. In memory and on a real API server.

use k8s_openapi::{
    api::core::v1::Secret,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition as Crd,
};
use kube::{
    Api, Error,
    api::{DeleteParams, Patch, PatchParams},
};
use operator_runtime::{Controllers, Settings, conversion::Conversion, webhook::Webhooks};
use operator_testing::Server;
use serde_json::{Value, json};

use crate::{
    crds::{NAME, controllers, converted, crd, fields, install, installed, run},
    support::Running,
};

/// `spec.conversion` of a CRD without a webhook.
fn no_conversion() -> Value {
    json!({ "strategy": "None" })
}

/// The CRD with a second version, and with the operator's conversion webhook.
pub fn with_conversion(fields: &[&str]) -> Value {
    let service = json!({ "service": {
        "name": "widget-operator-webhook", "namespace": "default", "path": "/convert", "port": 443,
    } });
    let mut crd = converted(fields, &service);
    let versions = crd["spec"]["versions"].as_array_mut().unwrap();
    let mut second = versions[0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    versions.push(second);
    crd
}

async fn conversion(server: &Server) -> Value {
    installed(server).await["spec"]["conversion"].take()
}

/// Runs these controllers, and a conversion at this URL or at its Service, until the CRD has the CA of its certificate. Returns the CA.
pub async fn run_converting(server: &Server, controllers: Controllers, url: Option<&str>) -> Value {
    let webhooks = Webhooks::new().convert_kind("Widget", Conversion::new(NAME, "v1"));
    let mut settings = Settings::for_tests();
    settings.webhook_address = Some("127.0.0.1:0".parse().unwrap());
    settings.webhook_url = url.map(str::to_owned);
    let running = Running::start(server.client(), settings, controllers.webhooks(webhooks)).await;
    let (crds, secrets): (Api<Crd>, Api<Secret>) = (
        Api::all(server.client()),
        Api::default_namespaced(server.client()),
    );
    let bundle = server
        .eventually("the CRD has the CA", async || {
            let secret = secrets.get_opt("widget-operator-webhook").await.unwrap()?;
            let webhook = crds
                .get_opt(NAME)
                .await
                .unwrap()?
                .spec
                .conversion?
                .webhook?;
            let config = webhook.client_config?;
            let is_set = config.ca_bundle.as_ref() == secret.data?.get("ca.crt");
            (is_set && config.url.is_some() == url.is_some()).then_some(config.ca_bundle)
        })
        .await;
    running.stop().await.unwrap();
    json!(bundle)
}

/// Deletes the Secret with the CA, so that the next operator issues another one.
async fn delete_ca(server: &Server) {
    let secrets: Api<Secret> = Api::default_namespaced(server.client());
    let parameters = DeleteParams::default();
    secrets
        .delete("widget-operator-webhook", &parameters)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_operator_that_applies_its_crd_removes_the_conversion() {
    let server = Server::start().await.unwrap();
    let with = with_conversion(&["a"]);
    let without = crd(&["a"]);
    run(&server, "0.1.0", &without).await;
    let first = run_converting(&server, controllers("0.2.0", &with), None).await;
    delete_ca(&server).await;
    let second = run_converting(&server, controllers("0.2.0", &with), None).await;
    assert_ne!(first, second, "the CA is another one");
    run(&server, "0.3.0", &without).await;
    let removed = installed(&server).await;
    assert_eq!(removed["spec"]["conversion"], no_conversion());
    assert_eq!(removed["spec"]["versions"].as_array().unwrap().len(), 1);
    let annotation = &removed["metadata"]["annotations"]["widget-operator/crd-version"];
    assert_eq!(annotation, "0.3.0");
    run(&server, "0.3.0", &without).await;
    assert_eq!(installed(&server).await, removed, "it is not written again");

    // a later release converts again, and a replica sets a URL in the place of the Service
    run_converting(&server, controllers("0.4.0", &with), None).await;
    let url = Some("https://127.0.0.1:1");
    run_converting(&server, controllers("0.4.0", &with), url).await;
    run(&server, "0.5.0", &without).await;
    assert_eq!(conversion(&server).await, no_conversion());
}

#[tokio::test]
async fn an_operator_that_applies_its_crd_removes_the_bundle_of_cert_manager() {
    let server = Server::start().await.unwrap();
    let with = with_conversion(&["a"]);
    let bundle = run_converting(&server, controllers("0.1.0", &with), None).await;
    run(&server, "0.2.0", &crd(&["a"])).await;
    run(&server, "0.3.0", &with).await;
    let config = json!({ "caBundle": bundle });
    let injected = json!({ "spec": { "conversion": { "webhook": { "clientConfig": config } } } });
    let parameters = PatchParams {
        field_manager: Some("cainjector".into()),
        ..PatchParams::default()
    };
    let crds: Api<Crd> = Api::all(server.client());
    crds.patch(NAME, &parameters, &Patch::Merge(injected))
        .await
        .unwrap();
    run(&server, "0.4.0", &crd(&["a"])).await;
    assert_eq!(conversion(&server).await, no_conversion());
}

#[tokio::test]
async fn the_conversion_of_a_newer_operator_or_of_another_service_stays() {
    let server = Server::start().await.unwrap();
    run(&server, "0.2.0", &with_conversion(&["a"])).await;
    run(&server, "0.1.0", &crd(&["a"])).await;
    assert_eq!(conversion(&server).await["strategy"], "Webhook");

    let server = Server::start().await.unwrap();
    let mut with = with_conversion(&["a"]);
    with["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["name"] = "another".into();
    install(&server, &with).await;
    let expected = conversion(&server).await;
    let mut without = with_conversion(&["a", "b"]);
    without["spec"]["conversion"] = Value::Null;
    run(&server, "0.1.0", &without).await;
    assert_eq!(fields(&server).await, ["a", "b"]);
    assert_eq!(conversion(&server).await, expected);
}

/// Applies the CRD as `kubectl apply --server-side` does, and returns the status code.
async fn kubectl_apply(server: &Server, crd: &Value, force: bool) -> u16 {
    let parameters = PatchParams {
        force,
        ..PatchParams::apply("kubectl")
    };
    let crds: Api<Crd> = Api::all(server.client());
    match crds.patch(NAME, &parameters, &Patch::Apply(crd)).await {
        Ok(_) => 200,
        Err(Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn kubectl_removes_the_conversion_after_the_documented_patch() {
    let server = Server::start().await.unwrap();
    let with = with_conversion(&["a"]);
    let mut last = with.clone();
    last["spec"]["versions"].as_array_mut().unwrap().pop();
    let without = crd(&["a"]);
    let converting = async || run_converting(&server, Controllers::new(), None).await;
    assert_eq!(kubectl_apply(&server, &without, false).await, 200);
    assert_eq!(kubectl_apply(&server, &with, false).await, 200);
    let first = converting().await;
    assert_eq!(kubectl_apply(&server, &with, false).await, 200);
    delete_ca(&server).await;
    let second = converting().await;
    assert_ne!(first, second, "the CA is another one");
    assert_eq!(kubectl_apply(&server, &last, false).await, 200);
    // the reason why a project keeps the webhook
    assert_eq!(kubectl_apply(&server, &without, false).await, 422);

    let patch = json!([
        { "op": "test", "path": "/spec/conversion/webhook/clientConfig/service/name", "value": "widget-operator-webhook" },
        { "op": "replace", "path": "/spec/conversion", "value": { "strategy": "None" } },
    ]);
    let patch = serde_json::from_value(patch).unwrap();
    let parameters = PatchParams {
        field_manager: Some("kubectl-patch".into()),
        ..PatchParams::default()
    };
    let crds: Api<Crd> = Api::all(server.client());
    crds.patch(NAME, &parameters, &Patch::<Value>::Json(patch))
        .await
        .unwrap();
    assert_eq!(kubectl_apply(&server, &without, false).await, 200);
    assert_eq!(conversion(&server).await, no_conversion());
    // a rollback
    assert_eq!(kubectl_apply(&server, &last, false).await, 409);
    assert_eq!(kubectl_apply(&server, &last, true).await, 200);
    assert_eq!(converting().await, second);
    assert_eq!(kubectl_apply(&server, &last, false).await, 200);
}
