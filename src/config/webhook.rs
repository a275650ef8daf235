//! An entry of `webhooks`: an admission webhook of a kind, and the requests for which the API server calls it.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    deployment::Verbatim,
    entry::{self, Entry},
};

/// An admission webhook; written `"validate"`, or as a table, such as `{ webhook = "validate", operations = ["delete"] }`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Webhook {
    pub webhook: WebhookType,
    #[serde(default = "default_operations")]
    pub operations: Vec<Operation>,
    /// The subresources whose requests it gets, in addition to requests for the objects themselves.
    #[serde(default)]
    pub subresources: Vec<String>,
    #[serde(default)]
    pub failure_policy: FailurePolicy,
    /// How many seconds the API server waits for an answer.
    #[serde(default = "default_timeout")]
    pub timeout: i32,
    #[serde(default)]
    pub match_policy: MatchPolicy,
    #[serde(default)]
    pub match_conditions: Vec<MatchCondition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_selector: Option<Verbatim<LabelSelector>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace_selector: Option<Verbatim<LabelSelector>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reinvocation_policy: Option<ReinvocationPolicy>,
}

/// The type of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookType {
    Validate,
    Mutate,
}

impl WebhookType {
    /// The name in `operator.toml`, in paths and in the names of webhooks.
    pub fn name(self) -> &'static str {
        match self {
            Self::Validate => "validate",
            Self::Mutate => "mutate",
        }
    }
}

/// The operations that a webhook can have. `CONNECT` is not among them: its objects, such as PodExecOptions, have no Rust type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Create,
    Update,
    Delete,
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// What happens to a request if the webhook cannot be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FailurePolicy {
    #[default]
    Fail,
    Ignore,
}

/// Whether the webhook also gets requests in other versions of the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MatchPolicy {
    #[default]
    Equivalent,
    Exact,
}

/// Whether a webhook is called again after a later one has changed the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReinvocationPolicy {
    Never,
    IfNeeded,
}

/// A CEL expression; the webhook is called only for requests for which it is true.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MatchCondition {
    pub name: String,
    pub expression: String,
}

fn default_operations() -> Vec<Operation> {
    vec![Operation::Create, Operation::Update]
}

const DEFAULT_TIMEOUT: i32 = 10;

fn default_timeout() -> i32 {
    DEFAULT_TIMEOUT
}

impl Webhook {
    /// A webhook with the defaults.
    pub fn new(webhook: WebhookType) -> Self {
        Self {
            webhook,
            operations: default_operations(),
            subresources: vec![],
            failure_policy: FailurePolicy::default(),
            timeout: DEFAULT_TIMEOUT,
            match_policy: MatchPolicy::default(),
            match_conditions: vec![],
            object_selector: None,
            namespace_selector: None,
            reinvocation_policy: None,
        }
    }
}

/// Formats the webhook for people: `validate (create, update)`, also with its subresources and a failure policy that is not the default.
impl fmt::Display for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations: Vec<&str> = self.operations.iter().map(|it| it.name()).collect();
        write!(f, "{} ({}", self.webhook.name(), operations.join(", "))?;
        if !self.subresources.is_empty() {
            write!(f, "; also {}", self.subresources.join(", "))?;
        }
        if self.failure_policy == FailurePolicy::Ignore {
            f.write_str("; failures ignored")?;
        }
        f.write_str(")")
    }
}

/// A table `[[webhook]]`: the webhooks of a kind that the project does not define.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookTable {
    /// `GROUP/VERSION/KIND`, or `VERSION/KIND` of the core group.
    pub kind: String,
    /// The name of the module, if the default name is already in use.
    #[serde(default, rename = "as")]
    pub module: Option<String>,
    #[serde(deserialize_with = "list")]
    pub webhooks: Vec<Webhook>,
}

impl WebhookTable {
    /// The module of its code in `src/webhooks/`.
    pub fn module_name(&self) -> String {
        let kind = self.kind.rsplit('/').next().unwrap_or_default();
        self.module
            .clone()
            .unwrap_or_else(|| crate::rust::module_name(kind))
    }
}

/// The source of the certificates of the webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificates {
    /// From the operator itself.
    #[default]
    Managed,
    CertManager,
}

/// Reads the value of `webhooks`.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Webhook>, D::Error> {
    let mut webhooks: Vec<Webhook> = entry::list(deserializer)?;
    for webhook in &mut webhooks {
        webhook.operations.sort_unstable();
        webhook.operations.dedup();
    }
    Ok(webhooks)
}

impl Entry for Webhook {
    const KEY: &'static str = "webhook";
    const EXPECTED: &'static str = "\"validate\", \"mutate\", or a table, such as { webhook = \"validate\", operations = [\"delete\"] }";
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Webhook>, String> {
        #[derive(Deserialize)]
        struct Webhooks {
            #[serde(deserialize_with = "list")]
            webhooks: Vec<Webhook>,
        }
        let read = toml_edit::de::from_str::<Webhooks>(&format!("webhooks = {text}"));
        read.map(|it| it.webhooks)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_alone_has_the_defaults_of_a_table() {
        let entries = read(
            r#"["validate", { webhook = "validate", operations = ["update", "create", "create"] }]"#,
        );
        let entries = entries.unwrap();
        assert_eq!(entries[0], entries[1]);
        assert_eq!(entries[0].to_string(), "validate (create, update)");
        let entries = read(
            r#"[{ webhook = "mutate", operations = ["create"], subresources = ["status"], failure-policy = "ignore", reinvocation-policy = "if-needed" }]"#,
        );
        assert_eq!(
            entries.unwrap()[0].to_string(),
            "mutate (create; also status; failures ignored)"
        );
    }

    #[test]
    fn an_unknown_word_or_key_is_an_error_that_names_it() {
        for (wrong, expected) in [
            (
                r#""validates""#,
                "unknown variant `validates`, expected `validate` or `mutate`",
            ),
            (
                r#"{ webhook = "validate", operations = ["connect"] }"#,
                "unknown variant `connect`, expected one of `create`, `update`, `delete`",
            ),
            (
                r#"{ webhook = "validate", on = ["create"] }"#,
                "unknown field `on`, expected one of `webhook`, `operations`",
            ),
            (r#"{ operations = ["create"] }"#, "missing field `webhook`"),
            (
                r#"{ webhook = "validate", failure-policy = "Fail" }"#,
                "unknown variant `Fail`, expected `fail` or `ignore`",
            ),
            ("1", "expected \"validate\", \"mutate\", or a table"),
        ] {
            let error = read(&format!("[{wrong}]")).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
