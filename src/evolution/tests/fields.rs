//! Test cases for single fields: before, after, and the expected differences in both directions.

use super::cases::Case;

/// Schemas of the field `spec.a`.
pub const FIELDS: &[Case] = &[
    (
        "{type: integer}",
        "{type: string}",
        &["type-changed spec.a: integer -> string"],
        &["type-changed spec.a: string -> integer"],
    ),
    (
        "{type: integer, maximum: 9}",
        "{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}",
        &[
            "type-widened spec.a: integer -> int-or-string",
            "bound-loosened spec.a: maximum 9 was removed",
        ],
        &["type-changed spec.a: int-or-string -> integer"],
    ),
    (
        "{type: integer, format: int32}",
        "{type: integer, format: int64}",
        &[
            "rust-type-changed spec.a: in Rust i32 -> i64",
            "pattern-removed spec.a: format int32 -> int64",
        ],
        &[
            "rust-type-changed spec.a: in Rust i64 -> i32",
            "pattern-added spec.a: format int64 -> int32",
        ],
    ),
    (
        "{type: string, nullable: true}",
        "{type: string}",
        &["nullable-removed spec.a: it may no longer be null"],
        &["nullable-added spec.a: it may be null"],
    ),
    (
        "{type: integer}",
        "{type: integer, default: 3}",
        &["default-added spec.a: default 3 is new"],
        &["default-removed spec.a: default 3 was removed"],
    ),
    (
        "{type: integer, default: 3}",
        "{type: integer, default: 5}",
        &["default-changed spec.a: default 3 -> 5"],
        &["default-changed spec.a: default 5 -> 3"],
    ),
    (
        "{type: string}",
        "{type: string, enum: [Fast, Slow]}",
        &["enum-added spec.a: any value -> one of \"Fast\", \"Slow\""],
        &["enum-removed spec.a: one of \"Fast\", \"Slow\" -> any value"],
    ),
    (
        "{type: string, enum: [Fast, Slow]}",
        "{type: string, enum: [Lazy, Slow]}",
        &[
            "enum-value-removed spec.a: the value \"Fast\" is removed",
            "enum-value-added spec.a: the value \"Lazy\" is added",
        ],
        &[
            "enum-value-removed spec.a: the value \"Lazy\" is removed",
            "enum-value-added spec.a: the value \"Fast\" is added",
        ],
    ),
    (
        "{type: integer, minimum: 1, maximum: 10}",
        "{type: integer, minimum: 0, maximum: 5}",
        &[
            "bound-loosened spec.a: minimum 1 -> 0",
            "bound-tightened spec.a: maximum 10 -> 5",
        ],
        &[
            "bound-tightened spec.a: minimum 0 -> 1",
            "bound-loosened spec.a: maximum 5 -> 10",
        ],
    ),
    (
        "{type: number, minimum: 1, maximum: 2.5}",
        "{type: number, minimum: 1, exclusiveMinimum: true, maximum: 2.5, exclusiveMaximum: true}",
        &[
            "bound-tightened spec.a: minimum 1 -> 1 (exclusive)",
            "bound-tightened spec.a: maximum 2.5 -> 2.5 (exclusive)",
        ],
        &[
            "bound-loosened spec.a: minimum 1 (exclusive) -> 1",
            "bound-loosened spec.a: maximum 2.5 (exclusive) -> 2.5",
        ],
    ),
    (
        "{type: integer, multipleOf: 2}",
        "{type: integer, multipleOf: 4}",
        &["bound-tightened spec.a: multipleOf 2 -> 4"],
        &["bound-loosened spec.a: multipleOf 4 -> 2"],
    ),
    (
        "{type: integer, multipleOf: 2}",
        "{type: integer, multipleOf: 3}",
        &["bound-changed spec.a: multipleOf 2 -> 3"],
        &["bound-changed spec.a: multipleOf 3 -> 2"],
    ),
    (
        "{type: string, maxLength: 5}",
        "{type: string, minLength: 1}",
        &[
            "bound-tightened spec.a: minLength 1 is new",
            "bound-loosened spec.a: maxLength 5 was removed",
        ],
        &[
            "bound-loosened spec.a: minLength 1 was removed",
            "bound-tightened spec.a: maxLength 5 is new",
        ],
    ),
    // a minimum of 0 restricts nothing
    ("{type: string}", "{type: string, minLength: 0}", &[], &[]),
    (
        "{type: array, items: {type: string}, minItems: 1, maxItems: 9}",
        "{type: array, items: {type: string}, minItems: 2}",
        &[
            "bound-tightened spec.a: minItems 1 -> 2",
            "bound-loosened spec.a: maxItems 9 was removed",
        ],
        &[
            "bound-loosened spec.a: minItems 2 -> 1",
            "bound-tightened spec.a: maxItems 9 is new",
        ],
    ),
    (
        "{type: object, additionalProperties: {type: string}, minProperties: 1}",
        "{type: object, additionalProperties: {type: string}, maxProperties: 3}",
        &[
            "bound-loosened spec.a: minProperties 1 was removed",
            "bound-tightened spec.a: maxProperties 3 is new",
        ],
        &[
            "bound-tightened spec.a: minProperties 1 is new",
            "bound-loosened spec.a: maxProperties 3 was removed",
        ],
    ),
    (
        "{type: string}",
        "{type: string, pattern: ^a}",
        &["pattern-added spec.a: pattern ^a is new"],
        &["pattern-removed spec.a: pattern ^a was removed"],
    ),
    (
        "{type: string, pattern: ^a}",
        "{type: string, pattern: ^b}",
        &["pattern-changed spec.a: pattern ^a -> ^b"],
        &["pattern-changed spec.a: pattern ^b -> ^a"],
    ),
    (
        "{type: string, format: date}",
        "{type: string, format: ipv4}",
        &["pattern-changed spec.a: format date -> ipv4"],
        &["pattern-changed spec.a: format ipv4 -> date"],
    ),
    // the API server ignores unknown formats
    ("{type: string}", "{type: string, format: own}", &[], &[]),
    (
        "{type: string, anyOf: [{pattern: a}, {pattern: b}]}",
        "{type: string, anyOf: [{pattern: a}]}",
        &[r#"union-tightened spec.a: anyOf {"pattern":"b"} was removed"#],
        &[r#"union-loosened spec.a: anyOf {"pattern":"b"} is new"#],
    ),
    (
        "{type: string, allOf: [{pattern: a}]}",
        "{type: string, allOf: [{pattern: a}, {pattern: b}]}",
        &[r#"union-tightened spec.a: allOf {"pattern":"b"} is new"#],
        &[r#"union-loosened spec.a: allOf {"pattern":"b"} was removed"#],
    ),
    (
        "{type: string, oneOf: [{pattern: a}]}",
        "{type: string, oneOf: [{pattern: a}, {pattern: b}]}",
        &[r#"union-changed spec.a: oneOf {"pattern":"b"} is new"#],
        &[r#"union-changed spec.a: oneOf {"pattern":"b"} was removed"#],
    ),
    (
        "{type: string}",
        "{type: string, not: {pattern: a}}",
        &[r#"union-tightened spec.a: not {"pattern":"a"} is new"#],
        &[r#"union-loosened spec.a: not {"pattern":"a"} was removed"#],
    ),
    (
        "{type: integer, x-kubernetes-validations: [{rule: self > 0}]}",
        "{type: integer, x-kubernetes-validations: [{rule: self > 1}]}",
        &[
            "rule-removed spec.a: the rule `self > 0` was removed",
            "rule-added spec.a: the rule `self > 1` is new",
        ],
        &[
            "rule-removed spec.a: the rule `self > 1` was removed",
            "rule-added spec.a: the rule `self > 0` is new",
        ],
    ),
    (
        "{type: array, items: {type: string}}",
        "{type: array, items: {type: string}, x-kubernetes-list-type: set}",
        &["list-keyed spec.a: list type atomic -> set"],
        &["list-atomic spec.a: list type set -> atomic"],
    ),
    (
        "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b], items: {type: object, required: [b, c], properties: {b: {type: string}, c: {type: string}}}}",
        "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [b, c], items: {type: object, required: [b, c], properties: {b: {type: string}, c: {type: string}}}}",
        &["list-keys-changed spec.a: the keys of the list b -> b, c"],
        &["list-keys-changed spec.a: the keys of the list b, c -> b"],
    ),
    (
        "{type: object, additionalProperties: {type: string}}",
        "{type: object, additionalProperties: {type: string}, x-kubernetes-map-type: atomic}",
        &["map-type-changed spec.a: map type granular -> atomic"],
        &["map-type-changed spec.a: map type atomic -> granular"],
    ),
    (
        "{type: object, properties: {b: {type: string}}}",
        "{type: object, properties: {b: {type: string}}, x-kubernetes-preserve-unknown-fields: true}",
        &["unknown-fields-kept spec.a: unknown fields are pruned -> kept"],
        &["unknown-fields-pruned spec.a: unknown fields are kept -> pruned"],
    ),
    (
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{type: object, additionalProperties: {type: string}}",
        &[
            "rust-type-changed spec.a: in Rust map of any values -> map of typed values",
            "unknown-fields-checked spec.a: unknown fields are kept -> checked",
        ],
        &[
            "rust-type-changed spec.a: in Rust map of typed values -> map of any values",
            "unknown-fields-kept spec.a: unknown fields are checked -> kept",
        ],
    ),
    (
        "{type: object, additionalProperties: {type: string}}",
        "{type: object, additionalProperties: {type: integer}}",
        &["type-changed spec.a: string -> integer"],
        &["type-changed spec.a: integer -> string"],
    ),
    (
        "{type: object, additionalProperties: {type: string}}",
        "{type: object, additionalProperties: true}",
        &[
            "rust-type-changed spec.a: in Rust map of typed values -> map of any values",
            "unknown-fields-changed spec.a: unknown fields are checked -> kept, except for fields of objects",
        ],
        &[
            "rust-type-changed spec.a: in Rust map of any values -> map of typed values",
            "unknown-fields-changed spec.a: unknown fields are kept, except for fields of objects -> checked",
        ],
    ),
    (
        "{type: object, x-kubernetes-preserve-unknown-fields: true}",
        "{type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}",
        &["embedded-resource-added spec.a: it is an embedded resource"],
        &["embedded-resource-removed spec.a: it is no longer an embedded resource"],
    ),
    // the API server checks this format only where a string is allowed
    (
        "{type: object, format: date}",
        "{x-kubernetes-preserve-unknown-fields: true, format: date}",
        &[
            "type-widened spec.a: object -> any type",
            "pattern-added spec.a: format date is new",
            "unknown-fields-kept spec.a: unknown fields are pruned -> kept",
        ],
        &["type-changed spec.a: any type -> object"],
    ),
];
