//! An entry of `reads`: a kind, and the verbs with which its objects are read.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::entry::{self, Entry};

/// A kind whose objects the operator reads; written `"v1/Secret"`, or `{ kind = "v1/Secret", verbs = ["get"] }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The kind, in the syntax of `owns`.
    pub kind: String,
    #[serde(default = "default_verbs", skip_serializing_if = "is_default")]
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

fn default_verbs() -> Vec<ReadVerb> {
    DEFAULT.to_vec()
}

fn is_default(verbs: &[ReadVerb]) -> bool {
    verbs == DEFAULT
}

impl Entry for Read {
    const KEY: &'static str = "kind";
    const EXPECTED: &'static str = "a kind, such as \"v1/Secret\", or a table, such as { kind = \"v1/Secret\", verbs = [\"get\"] }";
}

/// Reads the value of `reads`, and rejects an entry without verbs.
pub fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Read>, D::Error> {
    let mut reads: Vec<Read> = entry::list(deserializer)?;
    for Read { kind, verbs } in &mut reads {
        verbs.sort_unstable();
        verbs.dedup();
        if verbs.is_empty() {
            return Err(Error::custom(format_args!(
                "`verbs` of {kind:?} is empty: write get, list or watch"
            )));
        }
    }
    Ok(reads)
}

/// Formats the entry for people: the kind, and verbs that are not the default ones in parentheses.
impl fmt::Display for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if is_default(&self.verbs) {
            return Ok(());
        }
        let verbs: Vec<&str> = self.verbs.iter().map(|verb| verb.name()).collect();
        write!(f, " ({})", verbs.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Read>, String> {
        #[derive(Deserialize)]
        struct Reads {
            #[serde(deserialize_with = "list")]
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
    fn mutating_verbs_and_unknown_keys_are_errors_that_name_them() {
        for (wrong, expected) in [
            (
                r#"{ kind = "v1/Secret", verbs = ["update"] }"#,
                "unknown variant `update`, expected one of `get`, `list`, `watch`",
            ),
            (
                r#"{ kind = "v1/Secret", verb = ["get"] }"#,
                "unknown field `verb`, expected `kind` or `verbs`",
            ),
            ("1", "expected a kind, such as"),
        ] {
            let error = read(&format!("[{wrong}]")).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
        let error = read(r#"[{ kind = "v1/Secret", verbs = [] }]"#).unwrap_err();
        assert!(error.contains("is empty"), "{error}");
    }
}
