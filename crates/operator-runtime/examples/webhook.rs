//! Serves a mutating and a validating webhook of Pods, as `bench/webhook/main.go` does on controller-runtime.
//!
//! `cargo run --release -p operator-runtime --features webhook --example webhook -- FOLDER PORT`, with `tls.crt` and `tls.key` in the folder.
//! The program sends no requests to an API server.

use std::{collections::BTreeMap, path::PathBuf};

use k8s_openapi::api::core::v1::Pod;
use kube::{Client, Config};
use operator_runtime::{
    Controllers, Operator, Result, Settings, Setup,
    webhook::{AdmissionRequest, Mutate, Validate, Verdict, Webhooks},
};

struct Pods;

async fn setup(_setup: Setup) -> Result<Pods> {
    Ok(Pods)
}

impl Mutate for Pods {
    type Resource = Pod;

    async fn mutate(&self, pod: &mut Pod, _: &AdmissionRequest<Pod>) -> Result<Verdict> {
        let labels = pod.metadata.labels.get_or_insert_with(BTreeMap::new);
        labels.insert("bench.example.com/seen".into(), "true".into());
        for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
            let policy = &mut container.image_pull_policy;
            policy.get_or_insert_with(|| "Always".into());
        }
        Ok(Verdict::allow())
    }
}

impl Validate for Pods {
    type Resource = Pod;

    async fn validate(&self, request: &AdmissionRequest<Pod>) -> Result<Verdict> {
        let spec = request.object.iter().flat_map(|pod| &pod.spec);
        for container in spec.flat_map(|spec| &spec.containers) {
            let image = container.image.as_deref().unwrap_or_default();
            if image.ends_with(":latest") {
                let name = &container.name;
                let message = format!("container {name}: name a version of the image");
                return Ok(Verdict::deny(message));
            }
        }
        Ok(Verdict::allow())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let folder: PathBuf = arguments.next().unwrap_or_default().into();
    let port: u16 = arguments.next().unwrap_or_default().parse()?;
    let mut settings = Settings::for_tests();
    settings.handle_signals = true;
    settings.webhook_address = Some(([127, 0, 0, 1], port).into());
    settings.webhook_certificates = Some(folder);
    let webhooks = Webhooks::new()
        .add(setup, |it| {
            it.mutates("/mutate--v1-pod").validates("/validate--v1-pod")
        })
        .mounted_certificates();
    let client = Client::try_from(Config::new("https://127.0.0.1:1".parse()?))?;
    let operator = Operator::new("bench", settings, client);
    operator
        .register(Controllers::new().webhooks(webhooks))
        .run()
        .await
}
