//! Test cases for everything but fields: before, after, and the expected differences in both directions.

pub type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Schemas of `spec`.
pub const SPECS: &[Case] = &[
    (
        "{type: object, properties: {a: {type: string}}}",
        "{type: object, properties: {a: {type: string}, b: {type: string}}}",
        &["field-added spec.b: `b` is new"],
        &["field-removed spec.b: `b` was removed"],
    ),
    (
        "{type: object, properties: {a: {type: string, description: The size.}, c: {type: integer}}}",
        "{type: object, properties: {b: {type: string}, d: {type: boolean}}}",
        &[
            "field-removed spec.a: `a` was removed; if `b` is its new name, a new version (`add-version`) with `renames` keeps the values",
            "field-removed spec.c: `c` was removed",
            "field-added spec.b: `b` is new",
            "field-added spec.d: `d` is new",
        ],
        &[
            "field-removed spec.b: `b` was removed; if `a` is its new name, a new version (`add-version`) with `renames` keeps the values",
            "field-removed spec.d: `d` was removed",
            "field-added spec.a: `a` is new",
            "field-added spec.c: `c` is new",
        ],
    ),
    (
        "{type: object, properties: {a: {type: string}}}",
        "{type: object, required: [b], properties: {a: {type: string}, b: {type: string}}}",
        &["required-field-added spec.b: `b` is new and required"],
        &["field-removed spec.b: `b` was removed"],
    ),
    (
        "{type: object, maxProperties: 1, properties: {a: {type: string}}}",
        "{type: object, maxProperties: 1, properties: {a: {type: string}, b: {type: integer, default: 1}}}",
        &["default-field-added spec.b: `b` is new, default 1"],
        &["field-removed spec.b: `b` was removed"],
    ),
    (
        "{type: object, not: {minProperties: 2}, properties: {a: {type: string}}}",
        "{type: object, not: {minProperties: 2}, properties: {a: {type: string}, b: {type: integer, default: 1}}}",
        &["default-field-added spec.b: `b` is new, default 1"],
        &["field-removed spec.b: `b` was removed"],
    ),
    (
        "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}",
        "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}, b: {type: string}}}",
        &["field-schema-added spec.b: `b` now has a schema; it was kept"],
        &["field-schema-removed spec.b: `b` no longer has a schema, but is kept"],
    ),
    (
        "{type: object, properties: {a: {type: string}}}",
        "{type: object, required: [a], properties: {a: {type: string}}}",
        &["required-added spec.a: `a` is now required"],
        &["required-removed spec.a: `a` is no longer required"],
    ),
    (
        "{type: object, properties: {a: {type: integer, default: 1}}}",
        "{type: object, required: [a], properties: {a: {type: integer, default: 1}}}",
        &["required-added-with-default spec.a: `a` is now required, and has a default"],
        &["required-removed spec.a: `a` is no longer required"],
    ),
    (
        "{type: object, required: [a], properties: {a: {type: integer}}}",
        "{type: object, required: [a], properties: {a: {type: integer, default: 1}}}",
        &["default-added-to-required spec.a: default 1 is new"],
        &["default-removed spec.a: default 1 was removed"],
    ),
    // an object that may have any fields is a map, and one without fields a struct
    (
        "{type: object, additionalProperties: true}",
        "{type: object, properties: {a: {type: string}}}",
        &[
            "rust-type-changed spec: in Rust map of any values -> struct",
            "unknown-fields-pruned spec: unknown fields are kept, except for fields of objects -> pruned",
            "field-schema-added spec.a: `a` now has a schema; it was kept, except for fields of objects",
        ],
        &[
            "rust-type-changed spec: in Rust struct -> map of any values",
            "unknown-fields-kept spec: unknown fields are pruned -> kept, except for fields of objects",
            "field-removed spec.a: `a` was removed",
        ],
    ),
    (
        "{type: object}",
        "{type: object, properties: {a: {type: string}}}",
        &["field-added spec.a: `a` is new"],
        &["field-removed spec.a: `a` was removed"],
    ),
];

/// Schemas of the root.
pub const ROOTS: &[Case] = &[
    // fields that every resource has
    (
        "{type: object}",
        "{type: object, required: [metadata], properties: {metadata: {type: object}, kind: {type: string, description: A.}}}",
        &[],
        &[],
    ),
    (
        "{type: object}",
        "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}}}",
        &["field-schema-added metadata: `metadata` now has a schema; it was kept"],
        &["field-schema-removed metadata: `metadata` no longer has a schema, but is kept"],
    ),
    (
        "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 9}}}}}",
        "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 5}}}}}",
        &["bound-tightened metadata.name: maxLength 9 -> 5"],
        &["bound-loosened metadata.name: maxLength 5 -> 9"],
    ),
];

/// The version beside `v1` in the cases below.
pub const OLDER: &str = "  - name: v0
    served: true
    storage: false
    subresources: {scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}
    schema: {openAPIV3Schema: {type: object}}
";

/// A part of the text of the CRD, and its replacement.
pub const DEFINITIONS: &[Case] = &[
    (
        "kind: Widget,",
        "kind: Gadget,",
        &[
            "identity-changed: kind Widget -> Gadget",
            "name-changed: singular widget -> gadget",
            "name-changed: list kind WidgetList -> GadgetList",
        ],
        &[
            "identity-changed: kind Gadget -> Widget",
            "name-changed: singular gadget -> widget",
            "name-changed: list kind GadgetList -> WidgetList",
        ],
    ),
    (
        "[wd]",
        "[wi], categories: [all]",
        &[
            "name-added: the short name wi is new",
            "name-removed: the short name wd was removed",
            "name-added: the category all is new",
        ],
        &[
            "name-added: the short name wd is new",
            "name-removed: the short name wi was removed",
            "name-removed: the category all was removed",
        ],
    ),
    (
        "Namespaced",
        "Cluster",
        &["scope-changed: scope Namespaced -> Cluster"],
        &["scope-changed: scope Cluster -> Namespaced"],
    ),
    (
        "  versions:",
        "  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com'}}}\n  versions:",
        &["conversion-by-webhook: conversion None -> Webhook"],
        &["conversion-by-none: conversion Webhook -> None"],
    ),
    (
        "  - name: v1\n",
        "  - name: v2\n",
        &[
            "storage-moved: objects are stored as v1 -> v2",
            "version-added: the version v2 is new",
            "version-removed: the version v1 was removed",
        ],
        &[
            "storage-moved: objects are stored as v2 -> v1",
            "version-added: the version v1 is new",
            "version-removed: the version v2 was removed",
        ],
    ),
    (
        "    storage: true\n    schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}\n  - name: v0\n    served: true\n    storage: false",
        "    storage: false\n    schema: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}\n  - name: v0\n    served: true\n    storage: true",
        &[
            "storage-moved: objects are stored as v1 -> v0",
            "stored-field-lost a: the field is lost when an object is stored as v0",
        ],
        &["storage-moved: objects are stored as v0 -> v1"],
    ),
    (
        "  - name: v1\n",
        "  - {name: v3, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}\n  - name: v1\n",
        &["version-added: the version v3 is new"],
        &["unserved-version-removed: the version v3 was removed"],
    ),
    (
        "    storage: true\n",
        "    storage: true\n    deprecated: true\n    deprecationWarning: old\n",
        &["deprecation-changed: it is deprecated: old is new"],
        &["deprecation-changed: it is no longer deprecated"],
    ),
    (
        "    storage: true\n",
        "    storage: true\n    subresources: {status: {}, scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a}}\n",
        &[
            "status-subresource-added: the status subresource is new",
            "scale-subresource-added: the scale subresource is new",
        ],
        &[
            "status-subresource-removed: the status subresource was removed",
            "scale-subresource-removed: the scale subresource was removed",
        ],
    ),
    (
        "    storage: true\n",
        "    storage: true\n    additionalPrinterColumns: [{name: A, type: string, jsonPath: .a}]\n",
        &["printer-columns-changed: printer columns: A is new"],
        &["printer-columns-changed: printer columns: A was removed"],
    ),
    (
        "    storage: true\n",
        "    storage: true\n    selectableFields: [{jsonPath: .a}]\n",
        &["selectable-field-added: selectors can use `.a`"],
        &["selectable-field-removed: selectors can no longer use `.a`"],
    ),
    (
        "name: v0\n    served: true",
        "name: v0\n    served: false",
        &["version-unserved: it is no longer served"],
        &["version-served: it is served"],
    ),
    (
        ".status.a",
        ".status.b",
        &["scale-subresource-changed: the scale subresource uses other fields"],
        &["scale-subresource-changed: the scale subresource uses other fields"],
    ),
];
