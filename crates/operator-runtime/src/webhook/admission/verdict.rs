//! The decision of a webhook about a request, and the refusal that the API server passes on to the client.

use serde::Serialize;
use serde_json::{Value, json};

/// Whether a request may proceed, with warnings for the client.
///
/// A verdict with at least one cause refuses the request as the API server refuses an invalid object, with all causes at once:
///
/// ```
/// use operator_runtime::webhook::Verdict;
///
/// fn check(size: i32, engine: &str) -> Verdict {
///     let mut verdict = Verdict::allow();
///     if size % 2 == 0 {
///         verdict = verdict.invalid("spec.size", size, "must be odd");
///     }
///     if engine == "old" {
///         verdict = verdict.warn("spec.engine: old will be removed in v2");
///     }
///     verdict
/// }
///
/// assert!(check(3, "old").is_allowed());
/// assert!(!check(4, "new").is_allowed());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct Verdict {
    denial: Option<String>,
    code: Option<u16>,
    reason: Option<String>,
    causes: Vec<Cause>,
    warnings: Vec<String>,
}

/// A field that is wrong, as in [StatusCause].
///
/// [StatusCause]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Cause {
    reason: &'static str,
    message: String,
    field: String,
}

/// What a refused request was about.
pub(super) struct Subject<'a> {
    pub group: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
}

impl Verdict {
    /// Lets the request proceed.
    pub fn allow() -> Self {
        Self::default()
    }

    /// Refuses the request, with code 403 and the reason `Forbidden` unless others are set.
    pub fn deny(message: impl Into<String>) -> Self {
        Self {
            denial: Some(message.into()),
            ..Self::default()
        }
    }

    /// Sets the [reason] of a refusal, for example `Conflict`.
    ///
    /// [reason]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    pub fn reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Sets the HTTP status code of a refusal, from 400 to 599.
    pub fn code(mut self, code: u16) -> Self {
        self.code = Some(code);
        self
    }

    /// Adds a warning that the client shows, whether the request is refused or not. Kubernetes asks for at most 120 characters.
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// Refuses the value of a field: `spec.size: Invalid value: 4: must be odd`.
    pub fn invalid(
        self,
        field: impl Into<String>,
        value: impl Serialize,
        detail: impl AsRef<str>,
    ) -> Self {
        let message = format!("Invalid value: {}", shown(value));
        self.cause("FieldValueInvalid", field, message, detail.as_ref())
    }

    /// Refuses the absence of a field: `spec.size: Required value: the engine needs it`.
    pub fn required(self, field: impl Into<String>, detail: impl AsRef<str>) -> Self {
        let message = "Required value".to_owned();
        self.cause("FieldValueRequired", field, message, detail.as_ref())
    }

    /// Refuses to set or change a field: `spec.size: Forbidden: cannot be changed`.
    pub fn forbidden(self, field: impl Into<String>, detail: impl AsRef<str>) -> Self {
        let message = "Forbidden".to_owned();
        self.cause("FieldValueForbidden", field, message, detail.as_ref())
    }

    /// Refuses a value that is already in the list: `spec.names[1]: Duplicate value: "a"`.
    pub fn duplicate(self, field: impl Into<String>, value: impl Serialize) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        self.cause("FieldValueDuplicate", field, message, "")
    }

    /// Refuses a value that is not one of `supported`: `spec.mode: Unsupported value: "c": supported values: "a", "b"`.
    pub fn not_supported(
        self,
        field: impl Into<String>,
        value: impl Serialize,
        supported: &[impl AsRef<str>],
    ) -> Self {
        let message = format!("Unsupported value: {}", shown(value));
        let supported: Vec<_> = supported.iter().map(|it| shown(it.as_ref())).collect();
        let detail = if supported.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", supported.join(", "))
        };
        self.cause("FieldValueNotSupported", field, message, &detail)
    }

    fn cause(
        mut self,
        reason: &'static str,
        field: impl Into<String>,
        mut message: String,
        detail: &str,
    ) -> Self {
        if !detail.is_empty() {
            message = format!("{message}: {detail}");
        }
        self.causes.push(Cause {
            reason,
            message,
            field: field.into(),
        });
        self
    }

    /// Whether the request may proceed.
    pub fn is_allowed(&self) -> bool {
        self.denial.is_none() && self.causes.is_empty()
    }

    /// The warnings for the client.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The message of the refusal without its subject; `None` if the request may proceed.
    pub fn message(&self) -> Option<String> {
        let causes: Vec<_> = self
            .causes
            .iter()
            .map(|it| format!("{}: {}", it.field, it.message))
            .collect();
        let causes = match &causes[..] {
            [] => return self.denial.clone(),
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        Some(match &self.denial {
            Some(denial) => format!("{denial}: {causes}"),
            None => causes,
        })
    }

    /// The refusal as a [Status]; `None` if the request may proceed.
    ///
    /// [Status]: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    pub(super) fn status(&self, subject: &Subject<'_>) -> Option<Value> {
        let detail = self.message()?;
        let Subject { group, kind, name } = subject;
        let (code, reason, message) = if self.causes.is_empty() {
            (403, "Forbidden", detail)
        } else {
            let separator = if group.is_empty() { "" } else { "." };
            let message = format!("{kind}{separator}{group} {name:?} is invalid: {detail}");
            (422, "Invalid", message)
        };
        let own = self.code.filter(|code| (400..600).contains(code));
        let mut status = json!({
            "status": "Failure",
            "code": own.unwrap_or(code),
            "reason": self.reason.as_deref().unwrap_or(reason),
            "message": message,
        });
        if !self.causes.is_empty() {
            status["details"] =
                json!({"group": group, "kind": kind, "name": name, "causes": self.causes});
        }
        Some(status)
    }
}

/// A value as Go's `field.Error` prints it.
fn shown(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_else(|error| format!("<{error}>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUBJECT: Subject<'_> = Subject {
        group: "cache.example.com",
        kind: "Memcached",
        name: "a",
    };

    #[test]
    fn a_verdict_without_denial_and_causes_allows() {
        let verdict = Verdict::allow().warn("old").reason("x").code(409);
        assert_eq!(verdict.status(&SUBJECT), None);
        assert_eq!(verdict.warnings(), ["old"]);
    }

    #[test]
    fn a_denial_is_forbidden_unless_it_says_otherwise() {
        let status = Verdict::deny("not today").status(&SUBJECT).unwrap();
        let expected = json!({"status": "Failure", "code": 403, "reason": "Forbidden", "message": "not today"});
        assert_eq!(status, expected);
        let verdict = Verdict::deny("busy").reason("Conflict").code(409);
        let status = verdict.status(&SUBJECT).unwrap();
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(409), &json!("Conflict"))
        );
        let status = Verdict::deny("x").code(200).status(&SUBJECT).unwrap();
        assert_eq!(status["code"], 403, "a refusal has no code of success");
    }

    #[test]
    fn causes_are_printed_as_the_api_server_prints_them() {
        let verdict = Verdict::allow()
            .invalid("spec.size", 4, "must be odd")
            .invalid("spec.name", "a\"b", "")
            .required("spec.image", "")
            .required("spec.port", "the engine needs it")
            .forbidden("spec.mode", "cannot be changed")
            .duplicate("spec.names[1]", "a")
            .not_supported("spec.engine", "c", &["a", "b"]);
        let status = verdict.status(&SUBJECT).unwrap();
        assert_eq!(
            status["message"],
            "Memcached.cache.example.com \"a\" is invalid: [spec.size: Invalid value: 4: must be odd, \
             spec.name: Invalid value: \"a\\\"b\", spec.image: Required value, \
             spec.port: Required value: the engine needs it, spec.mode: Forbidden: cannot be changed, \
             spec.names[1]: Duplicate value: \"a\", \
             spec.engine: Unsupported value: \"c\": supported values: \"a\", \"b\"]"
        );
        assert_eq!(
            (&status["code"], &status["reason"]),
            (&json!(422), &json!("Invalid"))
        );
        let details = &status["details"];
        assert_eq!(
            details["causes"][0],
            json!({"reason": "FieldValueInvalid", "message": "Invalid value: 4: must be odd", "field": "spec.size"})
        );
        assert_eq!(
            (&details["group"], &details["kind"], &details["name"]),
            (
                &json!("cache.example.com"),
                &json!("Memcached"),
                &json!("a")
            )
        );
        let core = Subject {
            group: "",
            kind: "Pod",
            name: "b",
        };
        let status = Verdict::deny("bad")
            .required("spec", "")
            .status(&core)
            .unwrap();
        assert_eq!(
            status["message"],
            "Pod \"b\" is invalid: bad: spec: Required value"
        );
    }
}
