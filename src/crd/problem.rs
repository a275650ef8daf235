//! The errors of a text that should contain CRDs, with their location and help.

use std::{fmt, ops::Range};

use granit_parser::{ErrorKind, ScanError};
use operator_schema::{RuleFault, RuleFaultKind};

use super::refused;
use crate::diagnostic::{Code, Explain, Location, Report};

/// The maximum number of nested mappings and lists in a text.
pub const MOST_LEVELS: usize = 128;

/// The maximum size of a CRD's text in bytes. The API server accepts requests of 3 MiB, but indentation and comments are not sent.
pub const MOST_BYTES: usize = 16 << 20;

/// Parts of the messages of the YAML parser about `{{ ... }}`.
const TEMPLATE: [&str; 5] = [
    "flow mapping",
    "closing bracket",
    "bracket '{'",
    "only valid inside a block",
    "a key is a mapping",
];

/// The maximum number of reported errors in a document; a file with more is probably not a CRD.
pub const MOST_REPORTED: usize = 20;

/// A problem, and the bytes of the document that it concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub place: Range<usize>,
    pub problem: Problem,
}

impl Fault {
    pub fn syntax(place: Range<usize>, message: impl Into<String>) -> Self {
        let problem = Problem::Syntax(message.into());
        Self { place, problem }
    }

    pub fn too_deep(place: Range<usize>) -> Self {
        let problem = Problem::TooDeep;
        Self { place, problem }
    }

    /// The fault of a parser error in `text`. An unexpected end is at the last character of the text, not on the line after it.
    pub fn of_parser(text: &str, error: &ScanError) -> Self {
        let last = text.trim_end().len().saturating_sub(1);
        let start = error.marker().byte_offset().unwrap_or(last).min(last);
        let place = start..start + 1;
        let message = match error.kind() {
            ErrorKind::RecursionLimitExceeded => return Self::too_deep(place),
            ErrorKind::UnexpectedCharacter { character }
                if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') =>
            {
                "control characters are not allowed".into()
            }
            ErrorKind::InvalidColonPlacement => {
                "did not find expected ',' or closing bracket before ':'".into()
            }
            ErrorKind::InvalidQuotedScalarIndent => {
                "a quoted string is not closed, or continues without indentation".into()
            }
            kind => kind.to_string(),
        };
        Self::syntax(place, message)
    }
}

/// A problem of a text, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}:{}: {problem}", location.path, location.line)]
pub struct ReadError {
    pub location: Location,
    pub problem: Problem,
}

impl Explain for ReadError {
    fn help(&self) -> String {
        self.problem.help()
    }

    fn report(&self) -> Report {
        Report {
            code: Some(self.problem.code()),
            location: Some(self.location.clone()),
            ..Report::error(self.problem.to_string(), self.help())
        }
    }
}

/// The reason why a document cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("this is not YAML or JSON: {0}")]
    Syntax(String),
    #[error(
        "a CustomResourceDefinition of apiextensions.k8s.io/v1beta1, which Kubernetes removed in 1.22"
    )]
    Beta,
    #[error("a CustomResourceDefinition of the unknown version `{0}`")]
    UnknownVersion(String),
    #[error("this is not a valid CustomResourceDefinition: {0}")]
    Shape(String),
    #[error("`{0}` is not a valid {1}")]
    Name(String, NameRule),
    #[error("the CRD is named `{found}`, but its plural and group make `{expected}`")]
    Misnamed { found: String, expected: String },
    #[error("the version `{0}` has no schema")]
    NoSchema(String),
    #[error("the API server refuses the schema: `{keyword}` {message}")]
    Schema { keyword: String, message: String },
    #[error("the API server refuses the CRD: {}{message}", prefix(field))]
    Refused { field: String, message: String },
    #[error("the API server does not know the field `{field}`")]
    UnknownField {
        field: String,
        /// The known field with the most similar name, or the path of the field in the current version of the API.
        instead: Option<String>,
    },
    #[error("{}", rule_message(.0))]
    Rule(RuleFault),
    #[error("no version is served")]
    NotServed,
    #[error("{0} versions are marked as the storage version; there must be one")]
    Storage(usize),
    #[error("the version `{0}` is listed twice")]
    TwiceVersion(String),
    #[error("the text has more than {MOST_LEVELS} levels of nesting")]
    TooDeep,
    #[error("the CRD has more than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    #[error("the key `{0}` is given twice")]
    TwiceKey(String),
    #[error(
        "the key `{0}` is given before `<<`, which has another value: kubectl takes that one, and other readers this one"
    )]
    Overridden(String),
    #[error("kubectl, which reads YAML 1.1, takes the unquoted scalar `{0}` for another value")]
    Ambiguous(String),
}

impl Problem {
    /// Whether some API servers may accept the CRD despite the problem.
    pub fn is_uncertain(&self) -> bool {
        let is_uncertain = |kind| {
            matches!(
                kind,
                RuleFaultKind::UnknownFunction | RuleFaultKind::TooDeep
            )
        };
        matches!(self, Self::Rule(fault) if is_uncertain(fault.kind))
    }

    pub fn code(&self) -> Code {
        match self {
            Self::Syntax(_) => Code::Syntax,
            Self::Beta | Self::UnknownVersion(_) => Code::ApiVersion,
            Self::Shape(_) => Code::NotADefinition,
            Self::Name(..) => Code::InvalidName,
            Self::Misnamed { .. } => Code::Misnamed,
            Self::NoSchema(_) | Self::NotServed | Self::Storage(_) | Self::TwiceVersion(_) => {
                Code::Versions
            }
            Self::Refused { .. } => Code::RefusedDefinition,
            Self::UnknownField { .. } => Code::UnknownField,
            Self::Rule(_) => Code::RefusedRule,
            Self::TwiceKey(_) | Self::Overridden(_) => Code::TwiceKey,
            Self::TooDeep => Code::TooDeep,
            Self::TooLarge => Code::TooLarge,
            Self::Schema { keyword, .. } => match keyword.as_str() {
                "default" => Code::InvalidDefault,
                "pattern" => Code::InvalidPattern,
                _ => Code::RefusedSchema,
            },
            Self::Ambiguous(_) => Code::AmbiguousScalar,
        }
    }

    /// The help for the user.
    pub fn help(&self) -> String {
        match self {
            Self::Syntax(detail) if TEMPLATE.iter().any(|part| detail.contains(part)) => {
                "if this is a Helm template, render it first: `helm template CHART | cargo operator ... -`".into()
            }
            Self::Syntax(detail) if detail.contains("document start") => {
                "remove the directive (`%...`) before the document, or fix the line".into()
            }
            Self::Syntax(_) => "fix the line, or pass another file".into(),
            Self::Beta => {
                "convert it to apiextensions.k8s.io/v1: the schema moves to `spec.versions[].schema.openAPIV3Schema`".into()
            }
            Self::UnknownVersion(_) => "write `apiVersion: apiextensions.k8s.io/v1`".into(),
            Self::Shape(_) => "`kubectl explain customresourcedefinition.spec` shows the fields".into(),
            Self::Name(_, rule) => rule.help().into(),
            Self::Misnamed { expected, .. } => format!("write `name: {expected}` under `metadata`"),
            Self::NoSchema(_) => {
                "add `schema.openAPIV3Schema`; the minimum is `type: object` with `x-kubernetes-preserve-unknown-fields: true`".into()
            }
            Self::Schema { keyword, message } => schema_help(keyword, message),
            Self::Refused { field, message } => refused::help(field, message),
            Self::UnknownField { instead: Some(new), .. } if new.contains('.') => {
                format!("move it to `{new}`, where apiextensions.k8s.io/v1 has it")
            }
            Self::UnknownField { instead: Some(near), .. } => format!("write `{near}`"),
            Self::UnknownField { instead: None, .. } => {
                "remove it: the API server drops it, and kubectl refuses it".into()
            }
            Self::Rule(fault) => rule_help(fault.kind).into(),
            Self::TooDeep => "replace the deepest levels with `x-kubernetes-preserve-unknown-fields: true`".into(),
            Self::TooLarge => "replace its largest parts with `x-kubernetes-preserve-unknown-fields: true`".into(),
            Self::NotServed => "set `served: true` on a version".into(),
            Self::Storage(_) => "set `storage: true` on one version and `storage: false` on the others".into(),
            Self::TwiceVersion(_) | Self::TwiceKey(_) => "remove or rename one of them".into(),
            Self::Overridden(_) => "write `<<` as the first key: then the others override it for all".into(),
            Self::Ambiguous(scalar) => format!("write \"{scalar}\" in quotes, or the boolean or number that you mean"),
        }
    }
}

/// The message about a problem of a CEL rule.
fn rule_message(fault: &RuleFault) -> String {
    // the lines after the first only repeat the rule
    let reason = fault.message.lines().next().unwrap_or_default();
    match fault.kind {
        RuleFaultKind::Syntax => format!("this is not valid CEL: {reason}"),
        RuleFaultKind::Type | RuleFaultKind::Cost => {
            format!("the API server refuses this rule: {reason}")
        }
        RuleFaultKind::UnknownFunction => {
            format!("no known API server has this function: {reason}")
        }
        RuleFaultKind::TooDeep => format!("this rule is not checked: {reason}"),
    }
}

fn rule_help(kind: RuleFaultKind) -> &'static str {
    match kind {
        RuleFaultKind::Syntax => {
            "fix the rule: the API server refuses a CRD with a rule that it can't parse"
        }
        RuleFaultKind::Type => {
            "fix the rule: the API server checks it against the schema when the CRD is installed"
        }
        RuleFaultKind::UnknownFunction => {
            "fix its name, unless all your API servers are newer than this tool and have it"
        }
        RuleFaultKind::TooDeep => {
            "split it into several rules: the API server refuses a rule from some depth on"
        }
        RuleFaultKind::Cost => {
            "add the bounds to the schema: without them, the server expects values as large as a request"
        }
    }
}

/// Formats a problem after the name of its field.
fn prefix(field: &str) -> String {
    match field {
        "" => String::new(),
        field => format!("{field}: "),
    }
}

/// The help for a keyword that the API server rejects.
fn schema_help(keyword: &str, message: &str) -> String {
    match keyword {
        "$ref" | "definitions" => "replace it with what it refers to; for a value of any shape, use `x-kubernetes-preserve-unknown-fields: true`".into(),
        "type" if message.contains("empty to be structural") => {
            "declare the type outside of allOf, anyOf, oneOf and not; use `x-kubernetes-int-or-string: true` for both types".into()
        }
        "type" => "use one of the six types, or `x-kubernetes-preserve-unknown-fields: true` if any value is allowed".into(),
        "default" => "use a default that the schema accepts, or remove it".into(),
        "pattern" => "write it without lookaround and back-references, which Go's regexp lacks; use a CEL rule for the rest".into(),
        _ if message.starts_with("must be") => format!("fix `{keyword}`"),
        _ => format!("fix `{keyword}`, or remove it"),
    }
}

/// The kinds of names, with their rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    Group,
    Plural,
    Kind,
    Version,
}

impl NameRule {
    /// Whether the API server accepts the name.
    pub fn holds(self, name: &str) -> bool {
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let word = |name: &str| label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
        match self {
            Self::Group => name.contains('.') && name.len() <= 253 && name.split('.').all(label),
            Self::Plural | Self::Version => word(name),
            Self::Kind => word(&name.to_ascii_lowercase()),
        }
    }

    pub fn help(self) -> &'static str {
        match self {
            Self::Group => "a group is a domain name such as `cache.example.com`",
            Self::Plural => "a plural is lower case, such as `memcacheds`",
            Self::Kind => "a kind is a word such as `Memcached`",
            Self::Version => "a version is a word such as `v1alpha1`",
        }
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group => "API group",
            Self::Plural => "plural name",
            Self::Kind => "kind",
            Self::Version => "version name",
        })
    }
}
