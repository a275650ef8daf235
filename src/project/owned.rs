//! An entry of `owns`: a kind of children, and what the operator caches of them.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// A kind of children; written `"apps/v1/Deployment"`, or `{ kind = "v1/Secret", cache = "content" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "RawOwned")]
pub struct Owned {
    /// `GROUP/VERSION/KIND`, or `VERSION/KIND` of the core group.
    pub kind: String,
    /// What the operator caches of the children; what the runtime chooses for the kind, where it is absent.
    pub cache: Option<OwnedCache>,
}

/// What a cache of children has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnedCache {
    /// The whole child, so that applying it reads nothing.
    Content,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "write a kind, such as \"apps/v1/Deployment\", or { kind = \"v1/Secret\", cache = \"content\" }"
)]
enum RawOwned {
    Kind(String),
    Table(RawTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    kind: String,
    cache: Option<OwnedCache>,
}

impl From<RawOwned> for Owned {
    fn from(raw: RawOwned) -> Self {
        match raw {
            RawOwned::Kind(kind) => Self::new(kind),
            RawOwned::Table(RawTable { kind, cache }) => Self { kind, cache },
        }
    }
}

impl Owned {
    /// A kind of children with the cache that the runtime chooses.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            cache: None,
        }
    }
}

impl fmt::Display for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cache {
            None => f.write_str(&self.kind),
            Some(OwnedCache::Content) => write!(f, "{} (content cached)", self.kind),
        }
    }
}

impl Serialize for Owned {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Table<'a> {
            kind: &'a str,
            cache: OwnedCache,
        }
        match self.cache {
            None => self.kind.serialize(serializer),
            Some(cache) => Table {
                kind: &self.kind,
                cache,
            }
            .serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Owned>, String> {
        #[derive(Deserialize)]
        struct Owns {
            owns: Vec<Owned>,
        }
        let read = toml_edit::de::from_str::<Owns>(&format!("owns = {text}"));
        read.map(|it| it.owns).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kind_alone_and_a_table_without_a_cache_are_the_same() {
        let text = r#"["v1/Pod", { kind = "v1/Pod" }, { kind = "v1/Secret", cache = "content" }]"#;
        let owns = read(text).unwrap();
        assert_eq!(owns[0], owns[1]);
        let shown: Vec<String> = owns.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["v1/Pod", "v1/Pod", "v1/Secret (content cached)"]);
        let json = serde_json::to_value(&owns).unwrap();
        assert_eq!(json[0], "v1/Pod");
        assert_eq!(
            json[2],
            serde_json::json!({"kind": "v1/Secret", "cache": "content"})
        );
    }

    #[test]
    fn an_unknown_cache_or_key_is_an_error_that_shows_the_syntax() {
        for wrong in [
            r#"{ kind = "v1/Secret", cache = "all" }"#,
            r#"{ kind = "v1/Secret", cached = "content" }"#,
            r#"{ cache = "content" }"#,
            "1",
        ] {
            let error = read(&format!("[{wrong}]")).unwrap_err();
            assert!(error.contains("write a kind, such as"), "{wrong}: {error}");
        }
    }
}
