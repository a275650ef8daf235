//! Waiting for what happens in the background.

use std::fmt::Write as _;
use std::future::Future;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

use crate::record::Request;
use crate::server::Server;

impl Server {
    /// Asks again and again until there is an answer, for 10 seconds at most (30 on a real server).
    ///
    /// # Panics
    ///
    /// When an operator of [`run`](Self::run) has ended, with its error; when the time is up, with the description, the last requests that were refused, and the Warning events of the cluster.
    pub async fn eventually<T, F, A>(&self, description: &str, mut probe: F) -> T
    where
        F: FnMut() -> A,
        A: Future<Output = Option<T>>,
    {
        let (patience, pause) = match self.is_real() {
            true => (Duration::from_secs(30), Duration::from_millis(100)),
            false => (Duration::from_secs(10), Duration::from_millis(10)),
        };
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            if let Some(answer) = probe().await {
                return answer;
            }
            let ended = self.ended().clone();
            if let Some(reason) = ended {
                panic!("the operator ended before this: {description}\n  {reason}");
            }
            if tokio::time::Instant::now() >= deadline {
                let findings = self.findings().await;
                panic!(
                    "not within {} s: {description}\n{findings}",
                    patience.as_secs()
                );
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// What may tell why nothing happened. Boxed, so that it is compiled here and not in each test.
    fn findings(&self) -> BoxFuture<'_, String> {
        Box::pin(self.found())
    }

    async fn found(&self) -> String {
        let mut text = String::new();
        let requests = self.requests();
        let is_refused = |request: &&Request| request.code >= 400;
        // what the test itself asks in vain, again and again, is no news
        let by_others = |request: &&Request| is_refused(request) && !request.user.is_empty();
        let has_others = requests.iter().any(|request| by_others(&request));
        let refused = requests
            .iter()
            .filter(|request| is_refused(request) && (!has_others || by_others(request)))
            .rev()
            .take(8);
        for request in refused.collect::<Vec<_>>().into_iter().rev() {
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "  refused: {} {request} by {} {}",
                request.code, request.agent, request.user,
            );
        }
        let events = "/api/v1/events?fieldSelector=type%3DWarning";
        let events = match http::Request::get(events).body(Vec::new()) {
            Ok(request) => self
                .own_client()
                .request::<Value>(request)
                .await
                .unwrap_or_default(),
            Err(_) => Value::Null,
        };
        for event in events["items"].as_array().into_iter().flatten() {
            let field = |name: &str| event[name].as_str().unwrap_or_default();
            let about = &event["involvedObject"];
            let _ = writeln!(
                text,
                "  event: {} {}/{}: {}: {}",
                about["kind"].as_str().unwrap_or_default(),
                about["namespace"].as_str().unwrap_or_default(),
                about["name"].as_str().unwrap_or_default(),
                field("reason"),
                field("message"),
            );
        }
        if text.is_empty() {
            let count = requests.len();
            text = format!("  no request of {count} was refused, and there is no Warning event");
        }
        text
    }
}
