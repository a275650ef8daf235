//! The [labels of a namespace] that determine which pods it admits.
//!
//! [labels of a namespace]: https://kubernetes.io/docs/concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces

use std::fmt;

use serde_json::Value;

use crate::model::Cause;

/// A level of the Pod Security Standards, from the least to the most strict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

/// A level in a version, `v1.MINOR`; `None` is the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LevelVersion {
    pub level: Level,
    pub minor: Option<u32>,
}

/// The policy of a namespace. The mode `audit` is missing, because this server has no audit log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub enforce: LevelVersion,
    pub warn: LevelVersion,
}

impl Level {
    fn read(text: &str) -> Result<Self, &'static str> {
        match text {
            "privileged" => Ok(Self::Privileged),
            "baseline" => Ok(Self::Baseline),
            "restricted" => Ok(Self::Restricted),
            _ => Err("must be one of privileged, baseline, restricted"),
        }
    }
}

/// Parses a version: `latest`, or `v1.MINOR`.
fn version(text: &str) -> Result<Option<u32>, &'static str> {
    const WRONG: &str = "must be \"latest\" or \"v1.x\"";
    if text == "latest" {
        return Ok(None);
    }
    let minor = text.strip_prefix("v1.").unwrap_or_default();
    let is_plain = minor == "0" || !minor.starts_with(['0', '+']);
    match minor.parse() {
        Ok(minor) if is_plain => Ok(Some(minor)),
        _ => Err(WRONG),
    }
}

impl Policy {
    /// Parses the labels of a namespace. The second part of the result contains the errors. If the level to enforce is invalid, the
    /// strictest level applies.
    pub fn read(namespace: &Value) -> (Self, Vec<Cause>) {
        let labels = &namespace["metadata"]["labels"];
        let mut causes = Vec::new();
        let [enforce, _, warn] = ["enforce", "audit", "warn"].map(|mode| {
            let label = |suffix: &str| format!("pod-security.kubernetes.io/{mode}{suffix}");
            let mut wrong = |label: String, value: &str, why: &str| {
                causes.push(Cause::invalid(
                    format!("metadata.labels[{label}]"),
                    format!("Invalid value: {value:?}: {why}"),
                ));
            };
            let level = labels[label("")].as_str().map(|text| {
                Level::read(text).map_err(|why| {
                    wrong(label(""), text, why);
                    match mode {
                        "enforce" => Level::Restricted,
                        _ => Level::Privileged,
                    }
                })
            });
            let version = labels[label("-version")].as_str().map(|text| {
                version(text).unwrap_or_else(|why| {
                    wrong(label("-version"), text, why);
                    None
                })
            });
            (level, version)
        });
        let of = |(level, version): (Option<Result<Level, Level>>, Option<Option<u32>>)| {
            let level = level.map_or(Level::Privileged, |level| {
                level.unwrap_or_else(|level| level)
            });
            LevelVersion {
                level,
                minor: version.flatten(),
            }
        };
        let mut policy = Self {
            enforce: of(enforce),
            warn: of(warn),
        };
        // a namespace without a level for warnings warns about what it also enforces
        if warn.0.is_none() && matches!(enforce.0, Some(Ok(_))) {
            policy.warn.level = policy.enforce.level;
            if warn.1.is_none() && policy.enforce.level > Level::Privileged {
                policy.warn.minor = policy.enforce.minor;
            }
        }
        (policy, causes)
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        };
        match self.minor {
            Some(minor) => write!(f, "{level}:v1.{minor}"),
            None => write!(f, "{level}:latest"),
        }
    }
}
