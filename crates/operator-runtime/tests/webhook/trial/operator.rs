//! An operator that applies a ConfigMap for each Widget, with webhooks for both, and what it does when a webhook refuses its write.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, ResourceExt};
use operator_runtime::{
    Action, Context, Controllers, Operator, Reconciler, Result, Settings, Setup,
    webhook::{AdmissionRequest, Mutate, Validate, Verdict, Webhooks},
};
use operator_testing::{Outcomes, WebhookRegistration};
use tokio::sync::Notify;

use crate::served::{HOST, Sizes, Widget};

#[derive(Clone, Copy)]
pub enum AfterRefusal {
    Retry,
    GiveUp,
    Exit,
    Panic,
}

struct Widgets {
    after_refusal: AfterRefusal,
    exit: Arc<Notify>,
}

impl Reconciler for Widgets {
    type Resource = Widget;

    async fn reconcile(&self, widget: Arc<Widget>, cx: &Context) -> Result<Action> {
        let size = [("size".to_owned(), widget.spec.size.to_string())];
        let child = ConfigMap {
            metadata: cx.child_metadata(&*widget, widget.name_any()),
            data: Some(size.into()),
            ..ConfigMap::default()
        };
        let Err(error) = cx.apply(&child).await else {
            return Ok(Action::await_change());
        };
        // another error, for example because the object is being deleted
        if !error.to_string().contains("failed calling webhook") {
            return Err(error);
        }
        match self.after_refusal {
            AfterRefusal::Retry => Err(error),
            AfterRefusal::GiveUp => Ok(Action::await_change()),
            AfterRefusal::Exit => {
                self.exit.notify_one();
                Err(error)
            }
            AfterRefusal::Panic => panic!("no luck: {error}"),
        }
    }
}

/// Sets the size, which must be positive.
struct Guard;

impl Validate for Guard {
    type Resource = Widget;

    async fn validate(&self, request: &AdmissionRequest<Widget>) -> Result<Verdict> {
        let size = request.object.as_ref().map_or(1, |it| it.spec.size);
        Ok(if size > 0 {
            Verdict::allow()
        } else {
            Verdict::allow().invalid("spec.size", size, "must be positive")
        })
    }
}

impl Mutate for Guard {
    type Resource = Widget;

    async fn mutate(&self, widget: &mut Widget, _: &AdmissionRequest<Widget>) -> Result<Verdict> {
        if widget.spec.size == 0 {
            widget.spec.size = 3;
        }
        Ok(Verdict::allow())
    }
}

struct Maps;

impl Validate for Maps {
    type Resource = ConfigMap;

    async fn validate(&self, _: &AdmissionRequest<ConfigMap>) -> Result<Verdict> {
        Ok(Verdict::allow())
    }
}

fn webhooks() -> Webhooks {
    Webhooks::new()
        .add(
            async |_: Setup| Ok(Guard),
            |it| it.validates("/validate").mutates("/mutate"),
        )
        .add(
            async |_: Setup| Ok(Maps),
            |it| it.validates("/validate--configmap"),
        )
        .convert(Sizes)
}

pub fn start(
    after_refusal: AfterRefusal,
) -> impl Fn(
    Client,
    Outcomes,
    WebhookRegistration,
) -> futures::future::BoxFuture<'static, anyhow::Result<()>> {
    let settings = Settings::for_tests();
    move |client, outcomes, calls| {
        let running = run(after_refusal, settings.clone(), client, outcomes, calls);
        Box::pin(running)
    }
}

/// Like [`start`], but the operator serves the webhooks over TLS too, for which it issues certificates.
pub fn start_with_certificates() -> impl Fn(
    Client,
    Outcomes,
    WebhookRegistration,
) -> futures::future::BoxFuture<'static, anyhow::Result<()>> {
    let mut settings = Settings::for_tests();
    settings.webhook_address = Some(([127, 0, 0, 1], 0).into());
    move |client, outcomes, calls| {
        let settings = settings.clone();
        Box::pin(run(AfterRefusal::Retry, settings, client, outcomes, calls))
    }
}

async fn run(
    after_refusal: AfterRefusal,
    settings: Settings,
    client: Client,
    outcomes: Outcomes,
    calls: WebhookRegistration,
) -> anyhow::Result<()> {
    let exit = Arc::new(Notify::new());
    let widgets = Widgets {
        after_refusal,
        exit: exit.clone(),
    };
    let controllers = Controllers::new()
        .add(
            async |_: Setup| Ok(widgets),
            operator_runtime::Watches::owns::<ConfigMap>,
        )
        .webhooks(webhooks());
    let operator = Operator::new("shop", settings, client)
        .register(controllers)
        .on_reconciled(move |it| {
            outcomes.report(it.group, it.kind, it.namespace, it.name, it.result);
        });
    calls.answer(HOST, operator.webhook_service());
    tokio::select! {
        ended = operator.run() => ended,
        () = exit.notified() => anyhow::bail!("its write was refused"),
    }
}
