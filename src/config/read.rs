//! An entry of `reads`: a kind, and the verbs with which its objects are read.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A kind whose objects the operator reads; written `"v1/Secret"`, or `{ kind = "v1/Secret", verbs = ["get"] }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawRead")]
pub struct Read {
    /// The kind, in the syntax of `owns`.
    pub kind: String,
    pub verbs: Vec<ReadVerb>,
}

/// A read-only verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadVerb {
    Get,
    List,
    Watch,
}

impl ReadVerb {
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
        }
    }
}

/// The verbs of an entry that names none.
const DEFAULT: [ReadVerb; 2] = [ReadVerb::Get, ReadVerb::List];

/// An entry as it is written: a kind alone, or a table.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "write a kind, such as \"v1/Secret\", or { kind = \"v1/Secret\", verbs = [\"get\"] }, of the verbs get, list and watch"
)]
enum RawRead {
    Kind(String),
    Table(RawTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    kind: String,
    verbs: Vec<ReadVerb>,
}

impl TryFrom<RawRead> for Read {
    type Error = String;

    fn try_from(raw: RawRead) -> Result<Self, String> {
        let (kind, mut verbs) = match raw {
            RawRead::Kind(kind) => (kind, DEFAULT.to_vec()),
            RawRead::Table(RawTable { kind, verbs }) => (kind, verbs),
        };
        verbs.sort_unstable();
        verbs.dedup();
        if verbs.is_empty() {
            Err(format!(
                "`verbs` of {kind:?} is empty: write get, list or watch"
            ))
        } else {
            Ok(Self { kind, verbs })
        }
    }
}

/// Formats the entry for people: the kind, and verbs that are not the default ones in parentheses.
impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.verbs == DEFAULT {
            return Ok(());
        }
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.name()).collect();
        write!(f, " ({})", verbs.join(", "))
    }
}

impl Serialize for Read {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table<'a> {
            kind: &'a str,
            verbs: &'a [ReadVerb],
        }
        if self.verbs == DEFAULT {
            return self.kind.serialize(serializer);
        }
        let Self { kind, verbs } = self;
        Table { kind, verbs }.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Read>, String> {
        #[derive(Deserialize)]
        struct Reads {
            reads: Vec<Read>,
        }
        let read = toml_edit::de::from_str::<Reads>(&format!("reads = {text}"));
        read.map(|it| it.reads).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kind_alone_has_get_and_list_and_a_table_has_its_verbs() {
        let reads = read(r#"["v1/Secret", { kind = "v1/Node", verbs = ["list", "get", "get"] }, { kind = "v1/Pod", verbs = ["get"] }]"#).unwrap();
        let displayed: Vec<String> = reads.iter().map(ToString::to_string).collect();
        assert_eq!(displayed, ["v1/Secret", "v1/Node", "v1/Pod (get)"]);
        let json = serde_json::to_value(&reads).unwrap();
        assert_eq!(
            json[2],
            serde_json::json!({"kind": "v1/Pod", "verbs": ["get"]})
        );
    }

    #[test]
    fn writing_verbs_and_unknown_keys_are_errors_that_show_the_syntax() {
        for wrong in [
            r#"{ kind = "v1/Secret", verbs = ["update"] }"#,
            r#"{ kind = "v1/Secret", verb = ["get"] }"#,
            r#"{ kind = "v1/Secret" }"#,
            "1",
        ] {
            let error = read(&format!("[{wrong}]")).unwrap_err();
            assert!(
                error.contains("of the verbs get, list and watch"),
                "{wrong}: {error}"
            );
        }
        let error = read(r#"[{ kind = "v1/Secret", verbs = [] }]"#).unwrap_err();
        assert!(error.contains("is empty"), "{error}");
    }
}
