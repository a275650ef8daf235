//! `[deployment]` of `operator.toml`: how the operator is deployed.

mod check;

use std::{collections::BTreeMap, fmt, ops::Deref};

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::{
    Affinity, EnvFromSource, EnvVar, EnvVarSource, ResourceRequirements, Toleration,
    TopologySpreadConstraint,
};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, Error, MapAccess, Visitor},
};
use serde_json::Value;

pub use check::{DeploymentProblem, indexed, problem, refused};

/// The settings of the operator's Deployment and of the objects around it. A key has the name of the field in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DeploymentSettings {
    pub replicas: Option<u16>,
    /// The resources of the container, instead of the default ones.
    pub resources: Option<Verbatim<ResourceRequirements>>,
    pub args: Vec<String>,
    pub env: Variables,
    pub env_from: Vec<Verbatim<EnvFromSource>>,
    pub log_format: Option<LogFormat>,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Verbatim<Toleration>>,
    pub affinity: Option<Verbatim<Affinity>>,
    pub topology_spread_constraints: Vec<Verbatim<TopologySpreadConstraint>>,
    pub priority_class_name: Option<String>,
    /// The names of Secrets.
    pub image_pull_secrets: Vec<String>,
    /// The labels that all objects have, the pods too.
    pub labels: BTreeMap<String, String>,
    pub pod_annotations: BTreeMap<String, String>,
    pub service_account_annotations: BTreeMap<String, String>,
    pub disruption_budget: Option<DisruptionBudget>,
}

impl DeploymentSettings {
    /// The number of replicas; one works, and the others wait for its lease.
    pub fn replicas(&self) -> u16 {
        self.replicas.unwrap_or(1)
    }

    /// The arguments of the container: those that follow from other keys, then the user's.
    pub fn arguments(&self) -> Vec<String> {
        self.log_format
            .map(LogFormat::argument)
            .into_iter()
            .chain(self.args.iter().cloned())
            .collect()
    }

    /// The time that running reconciliations have to finish when a pod ends.
    pub fn shutdown_timeout(&self) -> SignedDuration {
        self.duration("--shutdown-timeout", "SHUTDOWN_TIMEOUT")
            .unwrap_or(SHUTDOWN_TIMEOUT)
    }

    /// A duration that is set for the runtime by a flag or a variable. `None` if it is not set, if its value comes from an object in the
    /// cluster, or if it is invalid: then the operator does not start.
    pub fn duration(&self, flag: &str, variable: &str) -> Option<SignedDuration> {
        let mut arguments = self.args.iter().map(String::as_str);
        let argument = arguments.find_map(|argument| {
            let value = argument.strip_prefix(flag)?;
            value.strip_prefix('=').or(value.is_empty().then_some(""))
        });
        // the value may be the next argument
        let argument = match argument {
            Some("") => arguments.next(),
            argument => argument,
        };
        let of_variable = || {
            self.env.0.iter().find_map(|(name, value)| match value {
                Variable::Text(text) if name == variable => Some(text.as_str()),
                _ => None,
            })
        };
        argument.or_else(of_variable)?.parse().ok()
    }
}

/// The default in `operator_runtime::Settings`.
const SHUTDOWN_TIMEOUT: SignedDuration = SignedDuration::from_secs(20);

/// The format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    Human,
    Json,
}

impl LogFormat {
    pub const FLAG: &str = "--log-format";

    fn argument(self) -> String {
        let format = match self {
            Self::Human => "human",
            Self::Json => "json",
        };
        format!("{}={format}", Self::FLAG)
    }
}

/// How many pods may be evicted at a time, for example when nodes are drained: one of the two fields of a PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DisruptionBudget {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available: Option<IntOrPercent>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
}

/// A number of pods, or a percentage of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(
    untagged,
    expecting = "write a number of pods, or a percentage such as \"50%\""
)]
pub enum IntOrPercent {
    Pods(u16),
    Percentage(String),
}

/// The variables of the container, in the order of the file: `NAME = "text"`, or a source such as `{ secretKeyRef = { name = "..", key = ".." } }`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(pub Vec<(String, Variable)>);

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Variable {
    Text(String),
    From(Box<EnvVarSource>),
}

impl Variables {
    /// The variables as `env` of a container.
    pub fn in_container(&self) -> impl Iterator<Item = EnvVar> {
        self.0.iter().map(|(name, variable)| {
            let (value, value_from) = match variable {
                Variable::Text(text) => (Some(text.clone()), None),
                Variable::From(source) => (None, Some(EnvVarSource::clone(source))),
            };
            EnvVar {
                name: name.clone(),
                value,
                value_from,
            }
        })
    }
}

impl<'de> Deserialize<'de> for Variables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Variables;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of variables")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Variables, A::Error> {
                let mut variables = vec![];
                while let Some(entry) = map.next_entry()? {
                    variables.push(entry);
                }
                Ok(Variables(variables))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self::Text(text)),
            source @ Value::Object(_) => Ok(Self::From(verbatim(source).map_err(Error::custom)?)),
            _ => Err(Error::custom(
                "write a text, or a source such as { secretKeyRef = { name = \"credentials\", key = \"token\" } }",
            )),
        }
    }
}

/// A value with the fields that Kubernetes gives it. Unlike in the types of k8s-openapi, an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Verbatim<T>(pub T);

impl<T> Deref for Verbatim<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: DeserializeOwned + Serialize> Deserialize<'de> for Verbatim<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(verbatim(value).map_err(Error::custom)?))
    }
}

/// Decodes a value, and rejects a field that the type does not have.
fn verbatim<T: DeserializeOwned + Serialize>(value: Value) -> Result<T, String> {
    let typed: T = serde_path_to_error::deserialize(&value).map_err(|error| {
        let path = error.path().to_string();
        match path.as_str() {
            "." => error.into_inner().to_string(),
            _ => format!("`{path}`: {}", error.into_inner()),
        }
    })?;
    let known = serde_json::to_value(&typed).map_err(|error| error.to_string())?;
    match unknown(&value, &known) {
        Some(field) => Err(format!("unknown field `{field}`")),
        None => Ok(typed),
    }
}

/// The path of the first field of a value that its type has dropped.
fn unknown(value: &Value, known: &Value) -> Option<String> {
    match (value, known) {
        (Value::Object(fields), Value::Object(_)) => fields.iter().find_map(|(name, value)| {
            let Some(known) = known.get(name) else {
                return Some(name.clone());
            };
            unknown(value, known).map(|rest| {
                if rest.starts_with('[') {
                    format!("{name}{rest}")
                } else {
                    format!("{name}.{rest}")
                }
            })
        }),
        (Value::Array(items), Value::Array(known)) => {
            items
                .iter()
                .zip(known)
                .enumerate()
                .find_map(|(index, (item, known))| {
                    Some(format!("[{index}].{}", unknown(item, known)?))
                })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
