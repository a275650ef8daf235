//! An entry of `owns`: a kind of children, what the operator caches of them, and how it updates them.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::entry::{self, Entry};

/// A kind of children; written `"apps/v1/Deployment"`, or as a table, such as `{ kind = "v1/Pod", update = "recreate" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Owned {
    /// `GROUP/VERSION/KIND`, or `VERSION/KIND` of the core group.
    pub kind: String,
    /// The parts of children that the operator caches; the runtime's default for the kind if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<OwnedCache>,
    #[serde(default, skip_serializing_if = "Update::is_default")]
    pub update: Update,
}

/// The content of the cache of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum OwnedCache {
    /// Whole children, so that an apply does not read them from the API server.
    Content,
}

/// How an existing child is updated: the strategies of `operator_runtime::UpdateStrategy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    #[default]
    Apply,
    Replace,
    Recreate,
    OnDelete,
    CreateOnly,
}

impl Update {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The name in `operator.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Replace => "replace",
            Self::Recreate => "recreate",
            Self::OnDelete => "on-delete",
            Self::CreateOnly => "create-only",
        }
    }

    /// The variant of `operator_runtime::UpdateStrategy`.
    pub fn variant(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Replace => "Replace",
            Self::Recreate => "Recreate",
            Self::OnDelete => "OnDelete",
            Self::CreateOnly => "CreateOnly",
        }
    }

    /// The verbs in the operator's role for these children. Server-side apply needs `create` for a child that does not exist. The garbage
    /// collector deletes the children of a deleted object, which needs no verb.
    pub fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Apply => &["get", "list", "watch", "create", "patch"],
            Self::Replace => &["get", "list", "watch", "create", "update"],
            Self::Recreate => &["get", "list", "watch", "create", "delete"],
            Self::OnDelete | Self::CreateOnly => &["get", "list", "watch", "create"],
        }
    }

    /// Whether a child stays as it is until somebody deletes it.
    pub fn waits_for_deletion(self) -> bool {
        matches!(self, Self::OnDelete | Self::CreateOnly)
    }
}

impl Entry for Owned {
    const KEY: &'static str = "kind";
    const EXPECTED: &'static str = "a kind, such as \"apps/v1/Deployment\", or a table, such as { kind = \"v1/Pod\", update = \"recreate\" }";
}

/// Deserializes `owns`, and rejects a kind that is listed twice.
pub fn distinct<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Owned>, D::Error> {
    let owns: Vec<Owned> = entry::list(deserializer)?;
    let is_known = |(index, entry): &(usize, &Owned)| {
        owns[..*index].iter().any(|known| known.kind == entry.kind)
    };
    match owns.iter().enumerate().find(is_known) {
        Some((_, entry)) => Err(Error::custom(format_args!(
            "{} is listed twice: write one entry for it",
            entry.kind
        ))),
        None => Ok(owns),
    }
}

impl Owned {
    /// Creates an entry with the default update strategy and cache.
    pub fn new(kind: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            cache: None,
            update: Update::default(),
        }
    }
}

impl fmt::Display for Owned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        let cache = self.cache.map(|OwnedCache::Content| "content cached");
        let update = Some(self.update).filter(|update| !update.is_default());
        let update = update.map(|update| format!("update {}", update.name()));
        let details: Vec<&str> = cache.into_iter().chain(update.as_deref()).collect();
        match details.as_slice() {
            [] => Ok(()),
            details => write!(f, " ({})", details.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Owned>, String> {
        #[derive(Deserialize)]
        struct Owns {
            #[serde(deserialize_with = "distinct")]
            owns: Vec<Owned>,
        }
        let read = toml_edit::de::from_str::<Owns>(&format!("owns = {text}"));
        read.map(|it| it.owns).map_err(|error| error.to_string())
    }

    #[test]
    fn a_kind_that_is_listed_twice_is_an_error() {
        let error = read(r#"["v1/Pod", { kind = "v1/Pod", update = "replace" }]"#).unwrap_err();
        assert!(error.contains("v1/Pod is listed twice"), "{error}");
    }

    #[test]
    fn a_kind_alone_and_a_table_without_another_key_are_the_same() {
        let entries = [
            r#""v1/Pod""#,
            r#"{ kind = "v1/Pod" }"#,
            r#"{ kind = "v1/Pod", update = "apply" }"#,
            r#"{ kind = "v1/Secret", cache = "content" }"#,
            r#"{ kind = "v1/Secret", cache = "content", update = "on-delete" }"#,
        ];
        let owns = entries.map(|entry| read(&format!("[{entry}]")).unwrap().remove(0));
        assert!(owns[1] == owns[0] && owns[2] == owns[0]);
        let shown: Vec<String> = owns[2..].iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "v1/Pod",
                "v1/Secret (content cached)",
                "v1/Secret (content cached, update on-delete)"
            ]
        );
        assert_eq!(
            serde_json::to_value(&owns[2..]).unwrap(),
            serde_json::json!([
                {"kind": "v1/Pod"},
                {"kind": "v1/Secret", "cache": "content"},
                {"kind": "v1/Secret", "cache": "content", "update": "on-delete"},
            ])
        );
    }

    const ALL: [Update; 5] = [
        Update::Apply,
        Update::Replace,
        Update::Recreate,
        Update::OnDelete,
        Update::CreateOnly,
    ];

    #[test]
    fn each_strategy_is_read_by_its_name_and_has_its_verbs() {
        for update in ALL {
            let name = update.name();
            let owns = read(&format!(r#"[{{ kind = "v1/Pod", update = "{name}" }}]"#));
            assert_eq!(owns.unwrap()[0].update, update);
        }
        let verbs = ALL.map(|update| update.verbs()[3..].join(" "));
        assert_eq!(
            verbs,
            [
                "create patch",
                "create update",
                "create delete",
                "create",
                "create"
            ]
        );
    }

    #[test]
    fn an_unknown_word_or_key_is_an_error_that_names_it() {
        for (wrong, expected) in [
            (
                r#"{ kind = "v1/Secret", cache = "all" }"#,
                "unknown variant `all`, expected `content`",
            ),
            (
                r#"{ kind = "v1/Secret", update = "recreated" }"#,
                "unknown variant `recreated`, expected one of `apply`, `replace`, `recreate`, `on-delete`, `create-only`",
            ),
            (
                r#"{ kind = "v1/Secret", cached = "content" }"#,
                "unknown field `cached`, expected one of `kind`, `cache`, `update`",
            ),
            (r#"{ cache = "content" }"#, "missing field `kind`"),
            ("1", "expected a kind, such as"),
        ] {
            let error = read(&format!("[{wrong}]")).unwrap_err();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
