//! The user's declarations about fields, and the check that each of them is needed.

use serde_json::Value;

use super::difference::differences;
use super::field::Field;
use super::proof::ConversionProof;
use super::report::{Report, shown};

/// A field that conversions may change or refuse, and an object for which they do.
pub(super) struct Declared {
    pub kind: Kind,
    pub field: Field,
    pub example: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lossy,
    Normalised,
    Inexpressible,
}

impl Kind {
    /// # Panics
    ///
    /// If there is no such kind.
    pub fn read(kind: &str) -> Self {
        match kind {
            "lossy" => Self::Lossy,
            "normalised" => Self::Normalised,
            "inexpressible" => Self::Inexpressible,
            other => panic!("{other:?} is none of lossy, normalised and inexpressible"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Lossy => "lossy",
            Self::Normalised => "normalised",
            Self::Inexpressible => "inexpressible",
        }
    }
}

impl ConversionProof<'_> {
    /// Checks that the example of each declaration is valid, and needs the declaration.
    pub(super) fn check_declared(&self, report: &mut Report) {
        for declared in &self.declared {
            let field = declared.field.text();
            let name = declared.kind.name();
            let Some(version) = self.crd.version_of(&declared.example) else {
                let found = shown(declared.example.get("apiVersion"));
                let help = format!("set apiVersion to that of a version of {}", self.crd.name);
                report.add(
                    name,
                    field,
                    "example",
                    &format!("apiVersion of the example is {found}"),
                    &help,
                );
                continue;
            };
            let mut example = declared.example.clone();
            let dropped = version.settle(&mut example);
            let unknown = dropped.iter().map(|path| format!("{path}: unknown field"));
            let problems: Vec<String> = unknown.chain(version.violations(&example)).collect();
            if let Some(problem) = problems.first() {
                let what =
                    format!("the example of this {name} field is not a valid object: {problem}");
                report.add(
                    &version.name,
                    field,
                    "example",
                    &what,
                    "correct the example",
                );
                continue;
            }
            if !self.shows(declared, &version.name, &example) {
                let what = match declared.kind {
                    Kind::Lossy => "is declared as lossy, but its example loses nothing in it",
                    Kind::Normalised => {
                        "is declared as normalised, but its example does not come back in another, stable form"
                    }
                    Kind::Inexpressible => {
                        "is declared as inexpressible, but no conversion of its example fails with an error that names it"
                    }
                };
                let help = "remove the declaration, or give an example that needs it";
                report.add(&version.name, field, "needless", what, help);
            }
        }
    }

    /// Whether the example needs the declaration when it is converted to at least one other version.
    fn shows(&self, declared: &Declared, version: &str, example: &Value) -> bool {
        self.crd
            .versions
            .iter()
            .filter(|other| other.name != version)
            .any(|other| {
                let returned = self.there_and_back(example, &other.name);
                let returned = match (declared.kind, returned) {
                    (Kind::Inexpressible, Err(error)) => {
                        return is_subject(&declared.field, version, &error);
                    }
                    (Kind::Inexpressible, Ok(_)) | (_, Err(_)) => return false,
                    (_, Ok(returned)) => returned,
                };
                let changes = differences(example, &returned);
                let mut changes = changes.iter().filter(|it| {
                    declared.field.contains(&it.path) || is_above(&it.path, &declared.field)
                });
                if changes.next().is_none() {
                    return false;
                }
                declared.kind == Kind::Lossy || {
                    let again = self.there_and_back(&returned, &other.name);
                    let value = declared.field.values(&returned);
                    !value.is_empty()
                        && again.is_ok_and(|again| declared.field.values(&again) == value)
                }
            })
    }

    /// Whether an error is about a value that is declared as inexpressible.
    pub(super) fn is_declared(&self, error: &str) -> bool {
        self.declared
            .iter()
            .filter(|it| it.kind == Kind::Inexpressible)
            .into_iter()
            .any(|declared| {
                let version = self.crd.version_of(&declared.example);
                version.is_some_and(|version| is_subject(&declared.field, &version.name, error))
            })
    }

    /// An object without the fields of its version that may come back changed.
    pub(super) fn without_declared(&self, version: &str, object: &Value) -> Value {
        let mut rest = object.clone();
        for declared in self
            .declared
            .iter()
            .filter(|it| it.kind != Kind::Inexpressible)
        {
            let declared_in = self.crd.version_of(&declared.example);
            if declared_in.is_some_and(|it| it.name == version) {
                declared.field.remove(&mut rest);
            }
        }
        rest
    }
}

/// The version and the field that an error begins with: `v1 spec.size: reason`.
pub(super) fn subject(error: &str) -> Option<(&str, &str)> {
    let (subject, _) = error.split_once(": ")?;
    let (version, field) = subject.split_once(' ')?;
    (!field.contains(' ')).then_some((version, field))
}

/// Whether an error is about a field of a version.
fn is_subject(field: &Field, version: &str, error: &str) -> bool {
    subject(error)
        .is_some_and(|(its_version, place)| its_version == version && field.contains(place))
}

/// Whether a place contains the field. A difference is at a parent of the field if the parent is absent, for example.
fn is_above(place: &str, field: &Field) -> bool {
    Field::read(place).contains(field.text())
}
