//! Welcomes the owner of an [`Account`], and follows its quota.

use std::{sync::Arc, time::Duration};

use operator_runtime::{
    Error, EventType, Result, Setup,
    handlers::{Call, FieldUpdate, Handlers, Registry, Update},
};

use crate::api::account::v1::Account;

pub async fn setup(_setup: Setup) -> Result<AccountHandlers> {
    Ok(AccountHandlers)
}

pub struct AccountHandlers;

impl Handlers for AccountHandlers {
    type Resource = Account;
    const FINALIZER: Option<&'static str> = Some("example.com/versions");

    fn register(&self, on: &mut Registry<Self>) {
        on.create("welcome", Self::welcome).result("welcomed");
        on.field("quota", |account| account.spec.quota, Self::quota_changed);
        on.update("report", Self::report);
        on.delete("goodbye", Self::goodbye).attempts(5);
    }
}

impl AccountHandlers {
    /// An address that begins with `later` is known in an hour.
    async fn welcome(self: Arc<Self>, call: Call<Account>) -> Result<String> {
        let email = &call.object().spec.email;
        if email == "nobody" {
            return Err(Error::permanent(anyhow::anyhow!("{email} is no address")));
        }
        if email.starts_with("later") {
            let hour = Duration::from_secs(3600);
            return Err(Error::temporary(
                hour,
                anyhow::anyhow!("{email} is not known yet"),
            ));
        }
        Ok(format!("as {email}"))
    }

    async fn quota_changed(self: Arc<Self>, quota: FieldUpdate<Account, i32>) -> Result<()> {
        let note = format!("the quota is {}", quota.new());
        quota
            .cx()
            .event(&**quota.object(), EventType::Normal, "Quota", note)
            .await;
        Ok(())
    }

    async fn report(self: Arc<Self>, update: Update<Account>) -> Result<()> {
        let changes: Vec<&str> = update.changes().iter().map(|path| path.as_str()).collect();
        let note = changes.join(", ");
        update
            .cx()
            .event(&**update.object(), EventType::Normal, "Changed", note)
            .await;
        Ok(())
    }

    async fn goodbye(self: Arc<Self>, _call: Call<Account>) -> Result<()> {
        Ok(())
    }
}
