//! Runs the operator on an API server in memory.

use anyhow::Result;
use kube::{Api, api::PostParams};
use versions::api::account::v1::{Account, AccountSpec};

use crate::support;

#[tokio::test]
async fn account_is_welcomed() -> Result<()> {
    let server = support::start().await?;
    let spec = AccountSpec {
        email: "ada@example.com".into(),
        quota: 1,
        ..AccountSpec::default()
    };
    let accounts: Api<Account> = Api::namespaced(server.client(), server.namespace());
    accounts
        .create(&PostParams::default(), &Account::new("ada", spec))
        .await?;
    server
        .eventually("it is welcomed", async || {
            accounts.get("ada").await.ok()?.status?.welcomed
        })
        .await;
    Ok(())
}
