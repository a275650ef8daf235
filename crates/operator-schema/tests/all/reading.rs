//! A schema is read and written without loss.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::json;

#[test]
fn every_keyword_is_read_and_written_back() {
    let node = json!({"type": "string"});
    let schema = json!({
        "description": "d", "title": "t", "type": "object", "format": "f", "nullable": true, "default": {"a": null}, "example": [],
        "enum": [null, 1], "properties": {"b": node, "a": node}, "required": ["b"], "additionalProperties": node,
        "minProperties": 1, "maxProperties": 2, "items": node, "minItems": 1, "maxItems": 2, "uniqueItems": true,
        "minimum": 1.0, "exclusiveMinimum": true, "maximum": 2, "exclusiveMaximum": true, "multipleOf": 0.5,
        "pattern": "p", "minLength": 1, "maxLength": 2, "allOf": [node], "anyOf": [node], "oneOf": [node], "not": node,
        "x-kubernetes-preserve-unknown-fields": false, "x-kubernetes-embedded-resource": true,
        "x-kubernetes-int-or-string": true, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"],
        "x-kubernetes-map-type": "atomic", "x-kubernetes-validations": [{"rule": "self", "fieldPath": ".a"}],
        "externalDocs": {"url": "u"}, "$ref": "#/x", "x-other": {"y": 1},
    });
    let read: Schema = serde_json::from_value(schema.clone()).unwrap();
    assert_eq!(read.default, Some(json!({"a": null})));
    assert_eq!(read.unknown.keys().collect::<Vec<_>>(), ["$ref", "x-other"]);
    assert_eq!(serde_json::to_string(&read).unwrap(), schema.to_string());
}

#[test]
fn null_keywords_are_read_as_absent() {
    let text = "type: object\nrequired: null\nproperties: null\nnullable: null\nenum: null\nitems: null\ndefault: null\nexample: null\nid: null\n";
    let read: Schema = serde_yaml::from_str(text).unwrap();
    assert_eq!(
        read,
        Schema {
            type_: Some("object".into()),
            ..Schema::default()
        }
    );
}

#[test]
fn additional_properties_may_be_a_bool() {
    let read: Schema = serde_yaml::from_str("additionalProperties: false").unwrap();
    assert_eq!(read.additional_properties, Some(SchemaOrBool::Bool(false)));
}
