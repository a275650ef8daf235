//! The user of a trial, who repeats a request that failed because of a webhook, as GitOps tools do.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::sleep;

use crate::fault::is_of_webhook;
use crate::trial::state::mask_uids;
use crate::{Error, Server};

/// The pause before a request is repeated.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a request is repeated; longer than any fault lasts.
const ATTEMPTS: usize = 300;

/// The requests of one kind, and how the API server answered them.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    pub accepted: usize,
    /// How often requests were refused, by the message.
    pub refused: BTreeMap<String, usize>,
}

impl Answers {
    pub fn refuse(&mut self, message: &str) {
        let times = self.refused.entry(mask_uids(message).into_owned());
        *times.or_default() += 1;
    }
}

/// What the user asked, and the answers.
#[derive(Debug, Default)]
pub(super) struct User(pub BTreeMap<String, Answers>);

impl User {
    /// Makes a request until no webhook fails. Returns why it cannot succeed.
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
            answers.refuse(&last);
            if let Some(reason) = server.ended().clone() {
                return Err(format!("the operator ended: {reason}"));
            }
            if !is_of_webhook(&last) {
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
