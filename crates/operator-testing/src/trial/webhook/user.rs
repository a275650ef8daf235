//! The user of a trial, who repeats a request that failed because of a webhook, as GitOps tools do.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::fault::is_webhook_failure;
use crate::trial::state::mask_uids;
use crate::{Error, Server};

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// How many times a request is made; in total, for longer than any fault lasts.
const ATTEMPTS: usize = 300;

/// How the API server answered the requests of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub accepted: usize,
    /// How often requests were refused, by the message.
    pub refused: BTreeMap<String, usize>,
}

impl Answers {
    pub fn record_refusal(&mut self, message: &str) {
        let times = self.refused.entry(mask_uids(message).into_owned());
        *times.or_default() += 1;
    }
}

/// The user's requests, and the answers to them.
#[derive(Debug, Default)]
pub(super) struct User(pub BTreeMap<String, Answers>);

impl User {
    /// Repeats a request until no webhook fails. Returns an error if it fails for another reason.
    pub async fn insist(
        &mut self,
        server: &Server,
        what: &str,
        request: impl AsyncFn() -> crate::Result<()>,
    ) -> Result<(), String> {
        let answers = self.0.entry(what.to_owned()).or_default();
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let Err(error) = request().await else {
                answers.accepted += 1;
                return Ok(());
            };
            last = message(&error);
            answers.record_refusal(&last);
            if let Some(reason) = server.ended().clone() {
                return Err(format!("the operator ended: {reason}"));
            }
            if !is_webhook_failure(&last) {
                break;
            }
            sleep(PAUSE).await;
        }
        Err(format!("the user's {what} fails: {last}"))
    }
}

fn message(error: &Error) -> String {
    match error {
        Error::Kube(kube::Error::Api(status)) => status.message.clone(),
        error => error.to_string(),
    }
}
