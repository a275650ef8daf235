//! Waits until the webhooks of the operator under test are served, so that the API server does not refuse the first objects of a test.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;

use crate::{Error, Result, Server};
use operator_apiserver::ApiServer;

/// How long a real API server may take to notice a changed configuration.
const NOTICE: Duration = Duration::from_secs(2);

/// How long a trial waits, on its clock.
const PATIENCE: Duration = Duration::from_secs(120);

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Server {
    /// Waits until all webhooks that are configured in the cluster are served, for admission and for conversion. Call it after
    /// [`run`](Self::run), before the test creates objects.
    ///
    /// # Panics
    ///
    /// Like [`eventually`](Self::eventually).
    pub async fn webhooks_are_served(&self) {
        self.eventually("all webhooks are served", async || {
            self.unserved_webhook().await.is_none().then_some(())
        })
        .await;
        self.await_notice().await;
    }

    /// Like [`webhooks_are_served`](Self::webhooks_are_served), in a trial: waits up to [`PATIENCE`], for longer than faults in the
    /// operator's requests last. It does not panic: if a webhook is still not served, the requests of the trial fail with the webhook's
    /// error.
    pub(crate) async fn await_webhooks(&self) {
        let end = Instant::now() + PATIENCE;
        while self.unserved_webhook().await.is_some() && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
        }
        self.await_notice().await;
    }

    /// Installs objects. Like a user, tries again while a webhook cannot be called.
    pub(crate) async fn install_patiently(&self, yaml: &str) -> Result<()> {
        self.patiently(async || self.install(yaml).await).await
    }

    /// Deletes objects. Like a user, tries again while a webhook cannot be called.
    pub(crate) async fn uninstall_patiently(&self, yaml: &str) -> Result<()> {
        self.patiently(async || self.uninstall(yaml).await).await
    }

    /// Repeats an action while it fails because of a webhook.
    async fn patiently(&self, act: impl AsyncFn() -> Result<()>) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        loop {
            match act().await {
                Err(error) if is_webhook_failure(&error) && Instant::now() < end => {
                    sleep(Duration::from_secs(1)).await;
                }
                done => return done,
            }
        }
    }

    /// Waits until a real API server has certainly noticed the configurations of the webhooks.
    async fn await_notice(&self) {
        if self.is_real() && !self.webhooks().await.is_empty() {
            sleep(NOTICE).await;
        }
    }

    /// The first webhook that is not served: one whose service refuses connections or is starting, or on a real server, one that has no
    /// address outside of the cluster yet.
    async fn unserved_webhook(&self) -> Option<Value> {
        for config in self.webhooks().await {
            let is_served = match self.service() {
                Some(server) => answers(&server, &config).await,
                None => config["url"].is_string() && config["caBundle"].is_string(),
            };
            if !is_served {
                return Some(config);
            }
        }
        None
    }

    /// All admission webhooks, as in their configurations.
    pub(crate) async fn admission_webhooks(&self) -> Vec<Value> {
        let mut all = vec![];
        for kind in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ] {
            let list = self.read(&format!("{ADMISSION}/{kind}")).await;
            let items = list["items"].as_array().into_iter().flatten();
            let webhooks = items.filter_map(|it| it["webhooks"].as_array()).flatten();
            all.extend(webhooks.cloned());
        }
        all
    }

    /// The client configurations of all webhooks.
    pub(crate) async fn webhooks(&self) -> Vec<Value> {
        let admission = self.admission_webhooks().await.into_iter();
        let mut configs: Vec<Value> = admission.map(|it| it["clientConfig"].clone()).collect();
        let list = self.read(CRDS).await;
        let items = list["items"].as_array().into_iter().flatten();
        let conversions = items.map(|it| &it["spec"]["conversion"]["webhook"]["clientConfig"]);
        configs.extend(conversions.filter(|it| it.is_object()).cloned());
        configs
    }
}

/// Whether a request failed because a webhook could not be called.
fn is_webhook_failure(error: &Error) -> bool {
    match error {
        Error::Kube(kube::Error::Api(status)) => {
            status.code == 500
                && ["failed calling webhook", "conversion webhook for"]
                    .iter()
                    .any(|text| status.message.contains(text))
        }
        Error::InFile { source, .. } => is_webhook_failure(source),
        _ => false,
    }
}

/// Whether the registered service of a webhook has started. While it starts, it answers 503; afterwards it rejects the empty review with
/// another code.
async fn answers(server: &ApiServer, config: &Value) -> bool {
    let Some((url, endpoint)) = server.webhook(config) else {
        // not registered yet
        return false;
    };
    let request = Request::builder()
        .method(Method::POST)
        .uri(url)
        .header(header::CONTENT_TYPE, "application/json")
        .body(Bytes::from_static(b"{}"));
    let Ok(request) = request else { return true };
    match timeout(Duration::from_secs(5), endpoint.oneshot(request)).await {
        Ok(Ok(response)) => response.status() != StatusCode::SERVICE_UNAVAILABLE,
        Ok(Err(_)) | Err(_) => false,
    }
}
