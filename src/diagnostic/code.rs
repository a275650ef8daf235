//! The codes of diagnostics. They are stable, and each has a section in `docs/diagnostics.md`.

use std::fmt;

/// Defines the enum, its names and the list of all codes in one table.
macro_rules! codes {
    ($($(#[$doc:meta])* $code:ident = $name:literal,)*) => {
        /// The code of a diagnostic or of an error in an input.
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
    /// No attribute of the Rust types can express a part of the schema; the module contains this part as JSON.
    NoAttribute = "no-attribute",
    /// A schema does not define a type; its values stay `serde_json::Value`.
    Untyped = "untyped",
    /// An object of the schema has no fields, so the API server drops everything in it.
    NoFields = "no-fields",
    /// The list of conditions has one owner as a whole, so its writers replace each other's conditions.
    AtomicConditions = "atomic-conditions",
    /// A status has the generation, which each write of this status raises.
    StatusGeneration = "status-generation",
    /// The Rust type of a field has changed since the last run.
    Retyped = "retyped",
    /// A change of a CRD breaks operator code, stored objects or clients.
    BreakingChange = "breaking-change",
    /// The operator no longer has a conversion webhook that an earlier release has installed.
    ConversionRemoved = "conversion-removed",
    /// A CRD changed, but there is no record of the previous one.
    NotCompared = "not-compared",
    /// The user's code uses something that a new schema removes or changes.
    TouchedCode = "touched-code",
    /// A controller, or the code of webhooks, does not match `operator.toml`.
    ControllerDiffers = "controller-differs",
    /// A file of the user that the generated code needs is missing.
    MissingFile = "missing-file",
    /// A setting in `operator.toml` changes nothing.
    WithoutEffect = "without-effect",
    /// A controller no longer owns a kind of children, so it no longer deletes them.
    AbandonedChildren = "abandoned-children",
    /// Objects may keep a finalizer that no controller removes.
    AbandonedFinalizers = "abandoned-finalizers",
    /// Objects left the manifests, but stay in clusters.
    StaleObjects = "stale-objects",
    /// A resource or group in a rule is probably misspelled.
    UnknownResource = "unknown-resource",
    /// A CRD comes from a cluster, and the project's copy lacks what the cluster has set.
    ServerFields = "server-fields",
    /// The API server does not know a field of the CRD outside of its schemas.
    UnknownField = "unknown-field",
    /// CRD schemas do not have this keyword.
    UnknownKeyword = "unknown-keyword",
    /// The API server accepts a part of the CRD that cannot work as intended.
    Contradiction = "contradiction",
    /// The API server refuses a CEL rule.
    RefusedRule = "refused-rule",
    /// A CEL rule could not be evaluated, so the sample may violate it.
    UncheckedRule = "unchecked-rule",
    /// No sample that the schema accepts could be generated.
    NoValidSample = "no-valid-sample",
    /// The CRD declares a conversion webhook of its own, or its versions need a conversion and nothing converts them.
    ConversionNotServed = "conversion-not-served",
    /// The user's code does not answer a question about two versions, or answers one that no longer exists.
    OpenConversion = "open-conversion",
    /// Only one of two versions has a field: its value is kept, and clients of the other version do not see it.
    KeptFields = "kept-fields",
    /// The image is not set, so the manifests have no Deployment.
    NoImage = "no-image",
    /// The runtime comes from a folder of this machine, so others cannot build the project.
    LocalRuntime = "local-runtime",
    /// A bundle of OLM cannot express a setting in `operator.toml`.
    OlmLimit = "olm-limit",
    /// The CRDs are too large for a Helm release, so the chart does not contain them.
    HelmLimit = "helm-limit",
    /// The user edited a file that the tool owns.
    EditedFile = "edited-file",
    /// The user and the template changed the same place of a merged file.
    MergeConflict = "merge-conflict",
    /// A text is neither valid YAML nor JSON.
    Syntax = "syntax",
    /// A text has more levels of nesting than a CRD can have.
    TooDeep = "too-deep",
    /// The text of a CRD is larger than the limit.
    TooLarge = "too-large",
    /// A mapping has the same key twice.
    TwiceKey = "twice-key",
    /// YAML 1.1 and 1.2 read a scalar differently.
    AmbiguousScalar = "ambiguous-scalar",
    /// The CRD has an unsupported `apiVersion`.
    ApiVersion = "api-version",
    /// The API server cannot decode the document as a CRD.
    NotADefinition = "not-a-definition",
    /// The API server does not accept a name.
    InvalidName = "invalid-name",
    /// `metadata.name` is not `<plural>.<group>`.
    Misnamed = "misnamed",
    /// The API server does not accept the versions: none is served, not exactly one is stored, a name is duplicate, or a schema is missing.
    Versions = "versions",
    /// The API server refuses the metadata or a part of the spec.
    RefusedDefinition = "refused-definition",
    /// The API server refuses a schema.
    RefusedSchema = "refused-schema",
    /// A default violates its own schema.
    InvalidDefault = "invalid-default",
    /// A pattern is not a valid regular expression in Go.
    InvalidPattern = "invalid-pattern",
}

impl Code {
    /// The code with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
