//! Waits until the webhooks of the operator under test are served, so that the API server does not refuse the first objects of a test.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;

use crate::api::ApiServer;
use crate::server::Server;

/// How long a real API server may take to notice a changed configuration.
const NOTICE: Duration = Duration::from_secs(2);

/// How long a trial waits, on its clock.
const PATIENCE: Duration = Duration::from_secs(120);

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

impl Server {
    /// Waits until all webhooks that are configured in the cluster are served: those of admission, and those of conversion. Call it after
    /// [`run`](Self::run), before the test creates objects.
    ///
    /// # Panics
    ///
    /// As [`eventually`](Self::eventually).
    pub async fn webhooks_are_served(&self) {
        self.eventually("all webhooks are served", async || {
            self.unserved_webhook().await.is_none().then_some(())
        })
        .await;
        self.await_notice().await;
    }

    /// As above, in a trial: it waits as long as the faults in the requests of the operator may take. Then the requests of the trial fail
    /// with what is missing.
    pub(crate) async fn await_webhooks(&self) {
        let end = Instant::now() + PATIENCE;
        while self.unserved_webhook().await.is_some() && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
        }
        self.await_notice().await;
    }

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

    /// The client configurations of all webhooks.
    async fn webhooks(&self) -> Vec<Value> {
        let mut configs = vec![];
        for kind in [
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
        ] {
            let list = self.read(&format!("{ADMISSION}/{kind}")).await;
            let items = list["items"].as_array().into_iter().flatten();
            let webhooks = items.flat_map(|it| it["webhooks"].as_array()).flatten();
            configs.extend(webhooks.map(|it| it["clientConfig"].clone()));
        }
        let list = self.read(CRDS).await;
        let items = list["items"].as_array().into_iter().flatten();
        let conversions = items.map(|it| &it["spec"]["conversion"]["webhook"]["clientConfig"]);
        configs.extend(conversions.filter(|it| it.is_object()).cloned());
        configs
    }
}

/// Whether the registered service of a webhook answers. It cannot answer an empty review, but says so only when it has started.
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
