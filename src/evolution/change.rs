//! The table of the possible changes of a CRD, and who is affected by each. `docs/evolution.md` shows it, and a test compares the two.

use ChangeKind::{Added, Changed, Loosened, Removed, Retyped, Tightened};
use Verdict::{Breaking, Risky, Safe};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    Added,
    Removed,
    /// The type of the values is different.
    Retyped,
    /// Fewer values are accepted.
    Tightened,
    /// More values are accepted, including all that were accepted before.
    Loosened,
    /// None of these, or several.
    Changed,
}

impl ChangeKind {
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

/// A party that a change can affect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// Code that is compiled with the types of the CRD, or that reads objects.
    Readers,
    /// Valid objects in etcd. They are affected if they can no longer be read or updated, or if they lose data.
    Stored,
    /// Requests and manifests that were accepted. They are affected if they are rejected, or if their meaning changes.
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

/// The effect of a change on a party.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    #[default]
    Safe,
    /// Whether the change breaks the party depends on its code or data.
    Risky,
    /// The change breaks some code, objects or requests.
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

/// Defines the enum and all properties of its variants in one table.
macro_rules! changes {
    ($($(#[doc = $doc:literal])* $change:ident = $name:literal: $what:ident, $readers:ident, $stored:ident, $clients:ident;)*) => {
        /// A possible change of a CRD: a row of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Change {
            $($(#[doc = $doc])* $change,)*
        }

        impl Change {
            pub const ALL: &[Self] = &[$(Self::$change,)*];

            /// The stable name.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$change => $name,)*
                }
            }

            pub fn kind(self) -> ChangeKind {
                match self {
                    $(Self::$change => $what,)*
                }
            }

            /// The verdict for each party, in a version that is served.
            pub fn impact(self) -> Impact {
                let (readers, stored, clients) = match self {
                    $(Self::$change => ($readers, $stored, $clients),)*
                };
                Impact { readers, stored, clients }
            }

            /// Describes the change, and explains its verdict, in one line.
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
    /// The API server refuses a new group, kind or plural, because existing objects are not moved to another kind.
    IdentityChanged = "identity-changed":               Changed,    Breaking, Breaking, Breaking;
    /// The API server refuses the change once the CRD is established.
    ScopeChanged = "scope-changed":                     Changed,    Breaking, Breaking, Breaking;
    /// The list kind or the singular, which people and clients in other languages use.
    NameChanged = "name-changed":                       Changed,    Safe,     Safe,     Risky;
    /// A short name or a category.
    NameAdded = "name-added":                           Added,      Safe,     Safe,     Safe;
    /// A short name or a category, which scripts may use.
    NameRemoved = "name-removed":                       Removed,    Safe,     Safe,     Risky;
    /// If the webhook fails, requests for a version other than the stored one fail too.
    ConversionByWebhook = "conversion-by-webhook":      Changed,    Safe,     Risky,    Risky;
    /// The strategy `None` converts only `apiVersion`; fields that the other version does not have are pruned.
    /// Server-side apply cannot remove a webhook whose `caBundle` the operator has set.
    ConversionByNone = "conversion-by-none":            Changed,    Risky,    Breaking, Breaking;

    /// Existing versions and objects stay as they are.
    VersionAdded = "version-added":                     Added,      Safe,     Safe,     Safe;
    /// Objects stored in the version cannot be read; the API server refuses the change while `status.storedVersions` lists the version.
    VersionRemoved = "version-removed":                 Removed,    Breaking, Breaking, Breaking;
    /// No client could request the version, but objects may still be stored in it.
    UnservedVersionRemoved = "unserved-version-removed": Removed,   Safe,     Risky,    Safe;
    /// Clients can request the version.
    VersionServed = "version-served":                   Loosened,   Safe,     Safe,     Safe;
    /// Requests for the version fail with 404 (Not Found); objects are served in the other versions.
    VersionUnserved = "version-unserved":               Tightened,  Breaking, Safe,     Breaking;
    /// The next write stores an object in the new version, which prunes fields that this version does not have; a controller keeps using the version that its code names.
    StorageMoved = "storage-moved":                     Changed,    Risky,    Risky,    Safe;
    /// The new storage version does not have the field, and nothing converts: the API server prunes the field from each object that it stores.
    StoredFieldLost = "stored-field-lost":              Removed,    Risky,    Breaking, Breaking;
    /// The API server answers requests for a deprecated version with a warning.
    DeprecationChanged = "deprecation-changed":         Changed,    Safe,     Safe,     Risky;

    /// Writes to the object no longer change its status.
    StatusAdded = "status-subresource-added":           Added,      Risky,    Safe,     Breaking;
    /// Writes to `/status` fail with 404 (Not Found).
    StatusRemoved = "status-subresource-removed":       Removed,    Breaking, Safe,     Breaking;
    /// `/scale` becomes available.
    ScaleAdded = "scale-subresource-added":             Added,      Safe,     Safe,     Safe;
    /// `kubectl scale` and autoscalers no longer work for the kind.
    ScaleRemoved = "scale-subresource-removed":         Removed,    Safe,     Safe,     Breaking;
    /// `/scale` reads and writes different fields.
    ScaleChanged = "scale-subresource-changed":         Changed,    Safe,     Safe,     Breaking;
    /// Only the output of `kubectl get` changes.
    ColumnsChanged = "printer-columns-changed":         Changed,    Safe,     Safe,     Safe;
    /// Field selectors can use one more field.
    SelectableFieldAdded = "selectable-field-added":    Added,      Safe,     Safe,     Safe;
    /// The API server refuses a list or watch with a selector for the field.
    SelectableFieldRemoved = "selectable-field-removed": Removed,   Breaking, Safe,     Breaking;

    /// Objects and manifests may omit the field; only struct literals without `..` must name it.
    FieldAdded = "field-added":                         Added,      Safe,     Safe,     Safe;
    /// Existing objects and manifests lack the field, and no default fills it in.
    RequiredFieldAdded = "required-field-added":        Added,      Breaking, Breaking, Breaking;
    /// The API server adds the field with its default to existing objects, which may then exceed `maxProperties`, match another branch of a
    /// union, or compare differently in an enum or a set.
    CountedFieldAdded = "default-field-added":          Added,      Safe,     Breaking, Breaking;
    /// A field that was kept as unknown now has a schema: the API server validates and prunes its value, and the Rust type no longer has it
    /// among its unknown fields.
    FieldDescribed = "field-schema-added":                 Added,      Breaking, Breaking, Breaking;
    /// The Rust type loses the field; the API server prunes it, even from stored objects.
    FieldRemoved = "field-removed":                     Removed,    Breaking, Breaking, Breaking;
    /// The field loses its schema, but its value is kept as an unknown field.
    FieldUndescribed = "field-schema-removed":             Removed,    Breaking, Safe,     Safe;
    /// `Option<T>` becomes `T`. An object without the field cannot be decoded. The API server refuses it as soon as the parent of the
    /// missing field changes.
    RequiredAdded = "required-added":                   Tightened,  Breaking, Breaking, Breaking;
    /// `Option<T>` becomes `T`; the API server fills in the field.
    RequiredAddedWithDefault = "required-added-with-default": Tightened, Breaking, Safe, Safe;
    /// `T` becomes `Option<T>`; older code cannot decode an object without the field.
    RequiredRemoved = "required-removed":               Loosened,   Breaking, Safe,     Safe;

    /// Values of the old type are refused and cannot be decoded.
    TypeChanged = "type-changed":                       Retyped,    Breaking, Breaking, Breaking;
    /// The new type accepts all values of the old one, but its Rust type is different.
    TypeWidened = "type-widened":                       Retyped,    Breaking, Safe,     Safe;
    /// The JSON type stays the same, but the Rust type changes, for example from `i32` to `i64` or from a map to a struct.
    RustTypeChanged = "rust-type-changed":              Retyped,    Breaking, Safe,     Safe;
    /// The Rust type gains an `Option`; a `null` is now kept, and no longer dropped or replaced with the default.
    NullableAdded = "nullable-added":                   Loosened,   Breaking, Safe,     Risky;
    /// The Rust type loses an `Option`; a `null` is replaced with the default, dropped or refused.
    NullableRemoved = "nullable-removed":               Tightened,  Breaking, Risky,    Breaking;
    /// An omitted field now has a value.
    DefaultAdded = "default-added":                     Changed,    Safe,     Risky,    Breaking;
    /// A required field may now be omitted.
    DefaultAddedToRequired = "default-added-to-required": Changed,  Safe,     Safe,     Safe;
    /// An omitted field has another value; stored objects keep the default that they were stored with.
    DefaultChanged = "default-changed":                 Changed,    Risky,    Risky,    Breaking;
    /// An omitted field stays absent or is refused; the method that returns the default is removed.
    DefaultRemoved = "default-removed":                 Changed,    Breaking, Risky,    Breaking;

    /// `String` becomes an enum; other values are refused.
    EnumAdded = "enum-added":                           Tightened,  Breaking, Risky,    Breaking;
    /// The enum becomes a `String`.
    EnumRemoved = "enum-removed":                       Loosened,   Breaking, Safe,     Safe;
    /// Generated enums keep a value that they do not know; other enums may fail to decode it.
    EnumValueAdded = "enum-value-added":                Loosened,   Risky,    Safe,     Safe;
    /// The Rust enum loses the variant, and the API server refuses the value.
    EnumValueRemoved = "enum-value-removed":            Tightened,  Breaking, Risky,    Breaking;
    /// A minimum, maximum, `multipleOf` or `uniqueItems` that refuses more values.
    BoundTightened = "bound-tightened":                 Tightened,  Risky,    Risky,    Breaking;
    /// A minimum, maximum, `multipleOf` or `uniqueItems` that refuses fewer values.
    BoundLoosened = "bound-loosened":                   Loosened,   Safe,     Safe,     Safe;
    /// The new `multipleOf` accepts different values than the old one.
    BoundChanged = "bound-changed":                     Changed,    Safe,     Risky,    Breaking;
    /// A new pattern, or a new format that the API server checks.
    PatternAdded = "pattern-added":                     Tightened,  Risky,    Risky,    Breaking;
    /// The pattern or format no longer restricts the values.
    PatternRemoved = "pattern-removed":                 Loosened,   Safe,     Safe,     Safe;
    /// The pattern or format is different; the comparison cannot tell whether it accepts more or fewer values.
    PatternChanged = "pattern-changed":                 Changed,    Risky,    Risky,    Breaking;
    /// `allOf`, `anyOf`, `oneOf` or `not` is new, `allOf` has more branches, or `anyOf` has fewer.
    UnionTightened = "union-tightened":                 Tightened,  Risky,    Risky,    Breaking;
    /// `allOf`, `anyOf`, `oneOf` or `not` is removed, `allOf` has fewer branches, or `anyOf` has more.
    UnionLoosened = "union-loosened":                   Loosened,   Safe,     Safe,     Safe;
    /// `allOf`, `anyOf`, `oneOf` or `not` has different branches; the comparison cannot tell whether they accept more or fewer values.
    UnionChanged = "union-changed":                     Changed,    Risky,    Risky,    Breaking;
    /// A new CEL rule; a rule with a changed text counts as new.
    RuleAdded = "rule-added":                           Tightened,  Safe,     Risky,    Breaking;
    /// A CEL rule is removed.
    RuleRemoved = "rule-removed":                       Loosened,   Safe,     Safe,     Safe;

    /// The list becomes a set or a map: values or keys must be unique, and each item has its own owner in server-side apply.
    ListKeyed = "list-keyed":                           Tightened,  Safe,     Risky,    Breaking;
    /// The list becomes atomic: each server-side apply replaces the whole list.
    ListAtomic = "list-atomic":                         Loosened,   Safe,     Safe,     Risky;
    /// A set becomes a map, a map becomes a set, or the keys of a map change.
    ListKeysChanged = "list-keys-changed":              Changed,    Safe,     Risky,    Breaking;
    /// Each server-side apply replaces the whole value, or no longer does.
    MapTypeChanged = "map-type-changed":                Changed,    Safe,     Safe,     Risky;
    /// Fields without a schema are now kept.
    UnknownFieldsKept = "unknown-fields-kept":          Loosened,   Safe,     Safe,     Safe;
    /// Without `x-kubernetes-preserve-unknown-fields` or `additionalProperties`, fields without a schema are pruned.
    UnknownFieldsPruned = "unknown-fields-pruned":      Tightened,  Breaking, Breaking, Breaking;
    /// Fields that were kept as they are now have a schema, or are refused.
    UnknownFieldsChecked = "unknown-fields-checked":    Tightened,  Breaking, Breaking, Breaking;
    /// `additionalProperties` changes between a schema and `true`; the API server then prunes different fields.
    UnknownFieldsChanged = "unknown-fields-changed":    Changed,    Breaking, Breaking, Breaking;
    /// `apiVersion`, `kind` and `metadata` of an embedded resource are now checked, even if they have not changed.
    ResourceAdded = "embedded-resource-added":          Tightened,  Breaking, Breaking, Breaking;
    /// `apiVersion`, `kind` and `metadata` of the value are pruned unless its schema names them.
    ResourceRemoved = "embedded-resource-removed":      Loosened,   Breaking, Breaking, Breaking;
}
