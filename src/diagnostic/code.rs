//! The codes of diagnostics. They are stable, and each has a section in `docs/diagnostics.md`.

use std::fmt;

/// The enum, its names and the list of all, from one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)*) => {
        /// What a diagnostic or an error of an input is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[$doc])* $code,)*
        }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$code,)*];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                }
            }
        }
    };
}

codes! {
    /// Parts of the schema are in the module as JSON, as no attribute of the Rust types carries them.
    NoAttribute = "no-attribute",
    /// A schema that says nothing of its type; values stay `serde_json::Value`.
    Untyped = "untyped",
    /// A field whose Rust type is another one than in the last run.
    Retyped = "retyped",
    /// A change of a definition that breaks operator code, stored objects or clients.
    BreakingChange = "breaking-change",
    /// A spec that changed while what it was compared with is gone.
    NotCompared = "not-compared",
    /// Code of the user that uses what a new schema takes away or changes.
    TouchedCode = "touched-code",
    /// A controller that is not what `operator.toml` says of it.
    ControllerDiffers = "controller-differs",
    /// Children of a kind that their controller no longer owns, and so no longer deletes.
    AbandonedChildren = "abandoned-children",
    /// A resource or group in a rule that is nearly one that exists.
    UnknownResource = "unknown-resource",
    /// A keyword that CustomResourceDefinitions do not have.
    UnknownKeyword = "unknown-keyword",
    /// A schema that the API server takes, and that cannot have been meant.
    Contradiction = "contradiction",
    /// A CEL rule that cannot be read.
    UnreadableRule = "unreadable-rule",
    /// No sample can be made that the schema accepts.
    NoValidSample = "no-valid-sample",
    /// The spec asks for a conversion webhook and nothing serves it yet.
    ConversionNotServed = "conversion-not-served",
    /// The image is not set, so that the manifests have no Deployment yet.
    NoImage = "no-image",
    /// A file of the tool that the user edited.
    EditedFile = "edited-file",
    /// A merged file that the user and its template changed in the same place.
    MergeConflict = "merge-conflict",
    /// A text that is neither YAML nor JSON.
    Syntax = "syntax",
    /// A text of more levels than a definition can have.
    TooDeep = "too-deep",
    /// A definition of more bytes than the API server takes.
    TooLarge = "too-large",
    /// A mapping with one key twice.
    TwiceKey = "twice-key",
    /// A scalar that YAML 1.1 and 1.2 read differently.
    AmbiguousScalar = "ambiguous-scalar",
    /// A definition of an API version that cannot be read.
    ApiVersion = "api-version",
    /// Something that the API server cannot decode as a definition.
    NotADefinition = "not-a-definition",
    /// A name that the API server does not take.
    InvalidName = "invalid-name",
    /// `metadata.name` that is not `<plural>.<group>`.
    Misnamed = "misnamed",
    /// Versions that the API server does not take: none served, not one stored, one twice, one without a schema.
    Versions = "versions",
    /// Metadata or a part of the spec that the API server refuses.
    RefusedDefinition = "refused-definition",
    /// A schema that the API server refuses.
    RefusedSchema = "refused-schema",
    /// A default that its own schema refuses.
    InvalidDefault = "invalid-default",
    /// A pattern that is no regular expression of Go.
    InvalidPattern = "invalid-pattern",
}

impl Code {
    /// The code of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
