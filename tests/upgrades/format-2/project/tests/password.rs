//! An account waits for the Secret that its password is in.

use anyhow::Result;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, api::PostParams};
use messaging_operator::{Options, api::account::v1::Account, operator};
use operator_runtime::{Operator, Settings};
use operator_testing::{Server, condition, sample};

#[tokio::test]
async fn an_account_waits_for_its_password() -> Result<()> {
    let server = Server::start().await?;
    server.install_kustomization("manifests").await?;
    let client = server.client_as("system:serviceaccount:messaging-operator:messaging-operator");
    let connected = Operator::new("messaging-operator", Settings::for_tests(), client);
    let options = Options {
        broker_image: Some("registry.example.com/mirror/broker:2".into()),
    };
    server.run(operator(connected, options).run());

    let account: Account = sample(include_str!("../overlays/account.yaml"))?;
    let accounts: Api<Account> = Api::namespaced(server.client(), server.namespace());
    accounts.create(&PostParams::default(), &account).await?;
    server
        .eventually("Ready is False, as there is no Secret", async || {
            let account = accounts.get("billing").await.ok()?;
            (condition(&account, "Ready")? == "False").then_some(())
        })
        .await;
    let secrets: Api<Secret> = Api::namespaced(server.client(), server.namespace());
    let secret: Secret = sample(
        "{apiVersion: v1, kind: Secret, metadata: {name: billing-password}, stringData: {password: x}}",
    )?;
    secrets.create(&PostParams::default(), &secret).await?;
    let config_maps: Api<ConfigMap> = Api::namespaced(server.client(), server.namespace());
    server
        .eventually("the queue gets the account", async || {
            config_maps.get_opt("billing").await.ok()?
        })
        .await;
    Ok(())
}
