//! The one table of what can change in a definition, and for whom it breaks. `docs/evolution.md` shows it, and a test compares the two.

use std::fmt;

use Verdict::{Breaking, Risky, Safe};
use What::{Added, Changed, Loosened, Removed, Retyped, Tightened};

/// What happened, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    Added,
    Removed,
    /// It takes or reads as another type.
    Retyped,
    /// It takes less than before.
    Tightened,
    /// It takes more than before, and all that it took.
    Loosened,
    /// Neither of these, or both at once.
    Changed,
}

impl What {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Retyped => "retyped",
            Self::Tightened => "tightened",
            Self::Loosened => "loosened",
            Self::Changed => "changed",
        }
    }
}

/// Whom a change can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Code that is compiled with the types of the definition, or reads objects.
    Readers,
    /// Objects in etcd that were valid: can they be read and updated, do they lose nothing?
    Stored,
    /// Requests and manifests that were accepted: are they still, and do they mean the same?
    Clients,
}

impl Party {
    pub const ALL: [Self; 3] = [Self::Readers, Self::Stored, Self::Clients];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Readers => "readers",
            Self::Stored => "stored objects",
            Self::Clients => "clients",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    #[default]
    Safe,
    /// It depends on what the party does.
    Risky,
    /// There is such a party that it breaks.
    Breaking,
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Risky => "risky",
            Self::Breaking => "breaking",
        }
    }
}

/// A verdict for each party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Impact {
    pub readers: Verdict,
    pub stored: Verdict,
    pub clients: Verdict,
}

impl Impact {
    pub fn on(self, party: Party) -> Verdict {
        match party {
            Party::Readers => self.readers,
            Party::Stored => self.stored,
            Party::Clients => self.clients,
        }
    }
}

/// The enum and all that is said of its variants, from one table.
macro_rules! changes {
    ($($(#[doc = $doc:literal])* $change:ident = $name:literal: $what:ident, $readers:ident, $stored:ident, $clients:ident;)*) => {
        /// A row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Change {
            $($(#[doc = $doc])* $change,)*
        }

        impl Change {
            pub const ALL: &[Self] = &[$(Self::$change,)*];

            /// Its stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$change => $name,)*
                }
            }

            pub fn what(self) -> What {
                match self {
                    $(Self::$change => $what,)*
                }
            }

            /// For whom it breaks in a version that is served.
            pub fn impact(self) -> Impact {
                let (readers, stored, clients) = match self {
                    $(Self::$change => ($readers, $stored, $clients),)*
                };
                Impact { readers, stored, clients }
            }

            /// What it is and why it is judged so, in a line.
            pub fn reason(self) -> &'static str {
                match self {
                    $(Self::$change => concat!($($doc,)*).trim_start(),)*
                }
            }
        }
    };
}

changes! {
    //                                                  what        readers   stored    clients
    /// The group, kind or plural: the API server refuses it, as objects are not moved to another kind.
    IdentityChanged = "identity-changed":               Changed,    Breaking, Breaking, Breaking;
    /// The API server refuses it once the definition is established.
    ScopeChanged = "scope-changed":                     Changed,    Breaking, Breaking, Breaking;
    /// The list kind or the singular, which are names for people and for clients of other languages.
    NameChanged = "name-changed":                       Changed,    Safe,     Safe,     Risky;
    /// A short name or a category.
    NameAdded = "name-added":                           Added,      Safe,     Safe,     Safe;
    /// A short name or a category, which scripts may use.
    NameRemoved = "name-removed":                       Removed,    Safe,     Safe,     Risky;
    /// Requests for a version that is not the stored one fail when the webhook does.
    ConversionByWebhook = "conversion-by-webhook":      Changed,    Safe,     Risky,    Risky;
    /// With the strategy `None` only `apiVersion` is converted, and what the other version does not have is pruned.
    ConversionByNone = "conversion-by-none":            Changed,    Risky,    Breaking, Breaking;

    /// Nothing that is there is touched.
    VersionAdded = "version-added":                     Added,      Safe,     Safe,     Safe;
    /// Objects stored in it cannot be read; the API server refuses it while `status.storedVersions` names the version.
    VersionRemoved = "version-removed":                 Removed,    Breaking, Breaking, Breaking;
    /// Nobody could ask for it; objects may still be stored in it.
    UnservedVersionRemoved = "unserved-version-removed": Removed,   Safe,     Risky,    Safe;
    /// A version can be asked for again.
    VersionServed = "version-served":                   Loosened,   Safe,     Safe,     Safe;
    /// Requests for the version are not found; objects are served in the other versions.
    VersionUnserved = "version-unserved":               Tightened,  Breaking, Safe,     Breaking;
    /// Objects move when they are next written, which prunes what the new storage version does not have; a controller stays with the version that its code names.
    StorageMoved = "storage-moved":                     Changed,    Risky,    Risky,    Safe;
    /// A deprecated version answers with a warning.
    DeprecationChanged = "deprecation-changed":         Changed,    Safe,     Safe,     Risky;

    /// A write of the object leaves its status alone from now on.
    StatusAdded = "status-subresource-added":           Added,      Risky,    Safe,     Breaking;
    /// A write of `/status` is not found.
    StatusRemoved = "status-subresource-removed":       Removed,    Breaking, Safe,     Breaking;
    /// `/scale` answers.
    ScaleAdded = "scale-subresource-added":             Added,      Safe,     Safe,     Safe;
    /// `kubectl scale` and autoscalers find nothing.
    ScaleRemoved = "scale-subresource-removed":         Removed,    Safe,     Safe,     Breaking;
    /// `/scale` reads and writes other fields.
    ScaleChanged = "scale-subresource-changed":         Changed,    Safe,     Safe,     Breaking;
    /// What `kubectl get` shows.
    ColumnsChanged = "printer-columns-changed":         Changed,    Safe,     Safe,     Safe;
    /// One more field for selectors.
    SelectableFieldAdded = "selectable-field-added":    Added,      Safe,     Safe,     Safe;
    /// A list or watch with a selector of the field is refused.
    SelectableFieldRemoved = "selectable-field-removed": Removed,   Breaking, Safe,     Breaking;

    /// A field that may be absent; only a struct literal without `..` has to name it.
    FieldAdded = "field-added":                         Added,      Safe,     Safe,     Safe;
    /// A field that objects and manifests lack, with no default to fill it in.
    RequiredFieldAdded = "required-field-added":        Added,      Breaking, Breaking, Breaking;
    /// A field with a default, where `maxProperties`, a union or equality of values sees it.
    CountedFieldAdded = "counted-field-added":          Added,      Safe,     Breaking, Breaking;
    /// A field that was kept unknown has a schema now, so it is checked and pruned inside, and is no unknown field of the Rust type.
    FieldDescribed = "field-described":                 Added,      Breaking, Breaking, Breaking;
    /// The field of the Rust type is gone; the API server prunes the value, of stored objects as well.
    FieldRemoved = "field-removed":                     Removed,    Breaking, Breaking, Breaking;
    /// A field that is kept, unknown from now on.
    FieldUndescribed = "field-undescribed":             Removed,    Breaking, Safe,     Safe;
    /// `Option<T>` is `T`; an object that lacks the field does not decode, and is refused as soon as what holds the field changes.
    RequiredAdded = "required-added":                   Tightened,  Breaking, Breaking, Breaking;
    /// `Option<T>` is `T`; the API server fills the field in.
    RequiredAddedWithDefault = "required-added-with-default": Tightened, Breaking, Safe, Safe;
    /// `T` is `Option<T>`, and older code does not decode an object that lacks the field.
    RequiredRemoved = "required-removed":               Loosened,   Breaking, Safe,     Safe;

    /// Values of the old type are refused and do not decode.
    TypeChanged = "type-changed":                       Retyped,    Breaking, Breaking, Breaking;
    /// The new type has all values of the old one, and another Rust type.
    TypeWidened = "type-widened":                       Retyped,    Breaking, Safe,     Safe;
    /// The same type of JSON has another Rust type, such as `i64` for `i32` or a struct for a map.
    RustTypeChanged = "rust-type-changed":              Retyped,    Breaking, Safe,     Safe;
    /// The Rust type has one more `Option`; a `null`, which gave way to the default or was dropped, is kept.
    NullableAdded = "nullable-added":                   Loosened,   Breaking, Safe,     Risky;
    /// The Rust type has one `Option` less; a `null` gives way to the default, is dropped or refused.
    NullableRemoved = "nullable-removed":               Tightened,  Breaking, Risky,    Breaking;
    /// What was left out has a value now.
    DefaultAdded = "default-added":                     Changed,    Safe,     Risky,    Breaking;
    /// A field that had to be there may be left out.
    DefaultAddedToRequired = "default-added-to-required": Changed,  Safe,     Safe,     Safe;
    /// What is left out means something else; objects keep the default that they were stored with.
    DefaultChanged = "default-changed":                 Changed,    Risky,    Risky,    Breaking;
    /// What is left out stays absent, or is refused; the accessor of the default is gone.
    DefaultRemoved = "default-removed":                 Changed,    Breaking, Risky,    Breaking;

    /// `String` is an enum; other values are refused.
    EnumAdded = "enum-added":                           Tightened,  Breaking, Risky,    Breaking;
    /// The enum is a `String`.
    EnumRemoved = "enum-removed":                       Loosened,   Breaking, Safe,     Safe;
    /// Our enums keep a value that they do not know; enums of others may not decode it.
    EnumValueAdded = "enum-value-added":                Loosened,   Risky,    Safe,     Safe;
    /// The variant is gone, and the value is refused.
    EnumValueRemoved = "enum-value-removed":            Tightened,  Breaking, Risky,    Breaking;
    /// A minimum, maximum, `multipleOf` or `uniqueItems` that refuses more.
    BoundTightened = "bound-tightened":                 Tightened,  Risky,    Risky,    Breaking;
    /// A minimum, maximum, `multipleOf` or `uniqueItems` that refuses less.
    BoundLoosened = "bound-loosened":                   Loosened,   Safe,     Safe,     Safe;
    /// A `multipleOf` of other values.
    BoundChanged = "bound-changed":                     Changed,    Safe,     Risky,    Breaking;
    /// A pattern, or a format that the API server checks, where there was none.
    PatternAdded = "pattern-added":                     Tightened,  Risky,    Risky,    Breaking;
    /// All texts are accepted.
    PatternRemoved = "pattern-removed":                 Loosened,   Safe,     Safe,     Safe;
    /// Which of two patterns or formats accepts more is not decided.
    PatternChanged = "pattern-changed":                 Changed,    Risky,    Risky,    Breaking;
    /// `allOf`, `anyOf`, `oneOf` or `not` is new, or has more to satisfy or less to choose from.
    UnionTightened = "union-tightened":                 Tightened,  Risky,    Risky,    Breaking;
    /// `allOf`, `anyOf`, `oneOf` or `not` is gone, or has less to satisfy or more to choose from.
    UnionLoosened = "union-loosened":                   Loosened,   Safe,     Safe,     Safe;
    /// `allOf`, `anyOf`, `oneOf` or `not` has other branches; which accept more is not decided.
    UnionChanged = "union-changed":                     Changed,    Risky,    Risky,    Breaking;
    /// A CEL rule of another text is a new one.
    RuleAdded = "rule-added":                           Tightened,  Safe,     Risky,    Breaking;
    /// A CEL rule is gone.
    RuleRemoved = "rule-removed":                       Loosened,   Safe,     Safe,     Safe;

    /// A list is a set or a map: no value or key twice, and each item has its own owner in server-side apply.
    ListKeyed = "list-keyed":                           Tightened,  Safe,     Risky,    Breaking;
    /// A list is atomic: whoever applies it replaces it.
    ListAtomic = "list-atomic":                         Loosened,   Safe,     Safe,     Risky;
    /// A set is a map or the other way round, or a map has other keys.
    ListKeysChanged = "list-keys-changed":              Changed,    Safe,     Risky,    Breaking;
    /// Whoever applies the object replaces it, or no longer does.
    MapTypeChanged = "map-type-changed":                Changed,    Safe,     Safe,     Risky;
    /// Fields without a schema are kept from now on.
    UnknownFieldsKept = "unknown-fields-kept":          Loosened,   Safe,     Safe,     Safe;
    /// `x-kubernetes-preserve-unknown-fields` or `additionalProperties` is gone, so fields without a schema are pruned.
    UnknownFieldsPruned = "unknown-fields-pruned":      Tightened,  Breaking, Breaking, Breaking;
    /// Fields that were kept as they are have a schema now, or are refused.
    UnknownFieldsChecked = "unknown-fields-checked":    Tightened,  Breaking, Breaking, Breaking;
    /// Fields that had a schema lose what is inside of objects.
    UnknownFieldsChanged = "unknown-fields-changed":    Changed,    Breaking, Breaking, Breaking;
    /// `apiVersion`, `kind` and `metadata` of an embedded resource are checked, also where they have not changed.
    ResourceAdded = "embedded-resource-added":          Tightened,  Breaking, Breaking, Breaking;
    /// `apiVersion`, `kind` and `metadata` of an embedded resource are pruned where the schema does not name them.
    ResourceRemoved = "embedded-resource-removed":      Loosened,   Breaking, Breaking, Breaking;
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
