//! The files of the webhooks of a kind. The example records who creates an object, and refuses requests that would change the record.

use serde::Serialize;

use super::target::{self, Target};
use crate::rust::code::literal;

/// The operations for which a webhook is called. They decide what its example does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    pub create: bool,
    pub update: bool,
    pub delete: bool,
}

/// A kind with webhooks, and what their files depend on.
pub struct Admitted<'a> {
    pub target: Target<'a>,
    /// The name of their struct.
    pub webhook: String,
    /// The operations of the webhook that validates, and of the one that mutates.
    pub validates: Option<Operations>,
    pub mutates: Option<Operations>,
}

/// The files of the webhooks that the user owns.
pub struct WebhookFiles {
    /// `src/webhooks/<module>.rs`.
    pub webhook: String,
    /// `tests/all/<module>_webhook.rs`, where there is a sample.
    pub test: Option<String>,
}

/// The values for the templates.
#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    target: target::Context,
    /// The struct of the webhooks, and their module.
    webhook: &'a str,
    module: &'a str,
    validates: bool,
    mutates: bool,
    /// Whether the example refuses to change the recorded creator.
    keeps_creator: bool,
    /// Whether the example refuses a creator other than the user of the request.
    checks_creator: bool,
    /// Whether the example refuses to delete protected objects.
    protects: bool,
    /// Whether the example records who creates an object.
    records_creator: bool,
    /// Whether the example records who changes an object.
    records_changes: bool,
    /// Whether an annotation names the creator.
    has_creator: bool,
    /// Whether the example uses the operation of the request.
    operation: bool,
    /// Annotations, as expressions of strings.
    created_by: String,
    changed_by: String,
    protected: String,
}

/// The files of new webhooks.
pub fn webhook_files(subject: &Admitted<'_>) -> WebhookFiles {
    let paths = ["src/webhooks/webhook.rs.j2", "tests/all/webhook.rs.j2"];
    let [webhook, test] = subject
        .target
        .fill(paths, |target| context(subject, target));
    WebhookFiles {
        webhook,
        test: subject.target.sample.map(|_| test),
    }
}

fn context<'a>(subject: &'a Admitted<'_>, target: target::Context) -> Context<'a> {
    let validates = subject.validates.unwrap_or_default();
    let mutates = subject.mutates.unwrap_or_default();
    let keeps_creator = validates.update;
    let protects = !keeps_creator && validates.delete;
    let checks_creator = !keeps_creator && !protects && validates.create;
    let annotation = |name: &str| literal(&format!("{}/{name}", subject.target.operator));
    Context {
        target,
        webhook: &subject.webhook,
        module: subject.target.module,
        validates: subject.validates.is_some(),
        mutates: subject.mutates.is_some(),
        keeps_creator,
        checks_creator,
        protects,
        records_creator: mutates.create,
        records_changes: !mutates.create && mutates.update,
        has_creator: keeps_creator || checks_creator || mutates.create,
        operation: protects || mutates.create,
        created_by: annotation("created-by"),
        changed_by: annotation("changed-by"),
        protected: annotation("protected"),
    }
}
