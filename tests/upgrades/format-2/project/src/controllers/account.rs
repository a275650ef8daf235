//! Reconciles [`Account`]: a ConfigMap beside each object holds what its queue reads of it, once the Secret with its password is there.

use std::{collections::BTreeMap, sync::Arc};

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, ResourceExt};
use operator_runtime::{
    Action, Changed, Condition, Context, EventType, ObjectRef, Reconciler, Result, Setup, Store,
};

use crate::api::account::v1::{Account, AccountSpecPermissions};

/// Called once at the start. `setup.get::<T>()` has what `operator` in `lib.rs` provides: flags, clients, state of your own.
pub async fn setup(_setup: Setup) -> Result<AccountReconciler> {
    Ok(AccountReconciler)
}

/// What the reconciler keeps between its calls goes into fields.
pub struct AccountReconciler;

impl Reconciler for AccountReconciler {
    type Resource = Account;
    const FINALIZER: Option<&'static str> = Some("messaging.example.com/messaging-operator");

    /// Called after every change of the object and of what it owns: makes the cluster what the object asks for.
    async fn reconcile(&self, account: Arc<Account>, cx: &Context) -> Result<Action> {
        let namespace = account.namespace().unwrap_or_default();
        let secret = match &account.spec.password {
            Some(password) => {
                let secrets: Api<Secret> = Api::namespaced(cx.client(), &namespace);
                secrets.get_opt(&password.name).await?
            }
            None => None,
        };
        let mut status = account.status.clone().unwrap_or_default();
        status.observed_generation = account.metadata.generation;
        status.secret_version = secret.as_ref().and_then(|secret| secret.resource_version());
        let (applied, ready) = if account.spec.password.is_some() && secret.is_none() {
            // the Secret triggers the next reconciliation: see `parents`
            let message = "the Secret with the password does not exist yet";
            let ready = Condition::new("Ready", false, "PasswordMissing", message);
            (Ok(()), ready)
        } else {
            let applied = cx.apply(&config_map(&account, secret.as_ref(), cx)?).await;
            let ready = ready(&applied);
            (applied.map(drop), ready)
        };
        ready.set_in(
            status.conditions.get_or_insert_default(),
            account.metadata.generation,
        )?;
        let told = cx.update_status(&*account, &status).await;
        applied?;
        told?;
        Ok(Action::await_change())
    }

    /// Called when the object is to go, again until it succeeds. What it owns goes by itself; undo the rest here.
    async fn cleanup(&self, account: Arc<Account>, cx: &Context) -> Result<()> {
        cx.event(
            &*account,
            EventType::Normal,
            "CleanedUp",
            format!("the queue {} forgets the account", account.spec.queue),
        )
        .await;
        Ok(())
    }

    /// The accounts whose password is in a Secret that changed.
    fn parents(&self, changed: &Changed, cache: &Store<Account>) -> Vec<ObjectRef<Account>> {
        let uses = |account: &Arc<Account>| {
            let password = account.spec.password.as_ref();
            account.metadata.namespace == changed.metadata.namespace
                && password.map(|password| &password.name) == changed.metadata.name.as_ref()
        };
        let accounts = cache.state();
        let users = accounts.iter().filter(|account| uses(account));
        users
            .map(|account| ObjectRef::from_obj(&**account))
            .collect()
    }
}

/// Whether the ConfigMap is there as it should be; it may belong to somebody else, or be refused.
fn ready(applied: &Result<ConfigMap>) -> Condition {
    match applied {
        Ok(_) => Condition::new(
            "Ready",
            true,
            "Applied",
            "the queue knows the account and its permissions",
        ),
        Err(error) => Condition::new("Ready", false, "ApplyFailed", error.to_string()),
    }
}

/// The child: what it should be, with no regard to what it is.
fn config_map(account: &Account, secret: Option<&Secret>, cx: &Context) -> Result<ConfigMap> {
    let permissions = account
        .spec
        .permissions
        .iter()
        .map(|permission| match permission {
            AccountSpecPermissions::Read => "r",
            AccountSpecPermissions::Write => "w",
            AccountSpecPermissions::Manage => "m",
            AccountSpecPermissions::Unrecognized(_) => "",
        });
    let mut data = BTreeMap::from([
        ("queue".into(), account.spec.queue.clone()),
        ("permissions".into(), permissions.collect()),
    ]);
    if let Some(quota) = &account.spec.quota {
        data.insert("quota".into(), serde_json::to_string(quota)?);
    }
    if let Some(secret) = secret {
        data.insert("secret".into(), secret.name_any());
    }
    Ok(ConfigMap {
        metadata: cx.child_metadata(account, account.name_any()),
        data: Some(data),
        ..Default::default()
    })
}
