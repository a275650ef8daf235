//! Checks the keywords of one schema.

use super::{Effect, Problems, SchemaContext};
use crate::schema::FORBIDDEN;
use crate::{Schema, SchemaOrBool, number, pattern, pointer};
use serde_json::Value;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Whether a path such as `.spec.size` or `.labels['a.b']` resolves to a field of a schema.
fn resolves(schema: &Schema, path: &str) -> bool {
    let (name, rest) = if let Some(rest) = path.strip_prefix("['") {
        let Some((name, rest)) = rest.split_once("']") else {
            return false;
        };
        (name, rest)
    } else if let Some(rest) = path.strip_prefix('.') {
        rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
    } else {
        return false;
    };
    let field = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(values)) => Some(&**values),
        _ => schema.properties.get(name),
    };
    !name.is_empty() && field.is_some_and(|field| rest.is_empty() || resolves(field, rest))
}

impl Problems {
    /// Checks the keywords and their combinations, both in the structure and under junctors.
    pub(super) fn keywords(&mut self, schema: &Schema, context: &SchemaContext) {
        if let Some(type_) = schema.type_.as_deref().filter(|it| !it.is_empty()) {
            let message = "type cannot be set to null, use nullable as an alternative";
            self.refuse_if(type_ == "null", "type", message);
            if type_ != "null" && !TYPES.contains(&type_) {
                self.refuse("type", format!("must be one of {}", TYPES.join(", ")));
            }
        }
        for keyword in schema.unknown.keys() {
            if FORBIDDEN.contains(&keyword.as_str()) {
                self.refuse(
                    &pointer::escape(keyword),
                    format!("{keyword} is not supported"),
                );
            } else {
                let message = "the API server does not know the keyword and drops it";
                let step = pointer::escape(keyword);
                self.push(&step, message.into(), Effect::Dropped);
            }
        }
        if let Some(pattern) = schema.pattern.as_deref()
            && let Err(error) = pattern::compiled(pattern)
        {
            let message = format!("must be a valid regular expression, but isn't: {error}");
            self.refuse("pattern", message);
        }
        let message =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        self.refuse_if(schema.unique_items, "uniqueItems", message);
        let closed = !matches!(
            schema.additional_properties,
            None | Some(SchemaOrBool::Bool(true))
        );
        let message = "additionalProperties and properties are mutual exclusive";
        self.refuse_if(
            closed && !schema.properties.is_empty(),
            "additionalProperties",
            message,
        );
        let unpreserved = schema.preserve_unknown_fields == Some(false);
        self.refuse_if(
            unpreserved,
            "x-kubernetes-preserve-unknown-fields",
            "must be true or undefined",
        );
        let nested = context.in_meta && schema.embedded_resource;
        let message = "must not be used inside of resource meta";
        self.refuse_if(nested, "x-kubernetes-embedded-resource", message);
        self.map_type(schema);
        self.list_type(schema);
        self.rules(schema);
    }

    fn map_type(&mut self, schema: &Schema) {
        let Some(map_type) = schema.map_type.as_deref() else {
            return;
        };
        let is_object = schema.type_.as_deref() == Some("object");
        self.refuse_if(
            !is_object,
            "type",
            "must be object if x-kubernetes-map-type is specified",
        );
        let known = matches!(map_type, "atomic" | "granular");
        self.refuse_if(
            !known,
            "x-kubernetes-map-type",
            "must be atomic or granular",
        );
    }

    fn list_type(&mut self, schema: &Schema) {
        let step = "x-kubernetes-list-type";
        let list_type = schema.list_type.as_deref();
        if !schema.list_map_keys.is_empty() && list_type != Some("map") {
            self.refuse(
                step,
                "must be map if x-kubernetes-list-map-keys is non-empty",
            );
        }
        let Some(list_type) = list_type else { return };
        let is_array = schema.type_.as_deref() == Some("array");
        self.refuse_if(
            !is_array,
            "type",
            "must be array if x-kubernetes-list-type is specified",
        );
        let known = matches!(list_type, "atomic" | "set" | "map");
        self.refuse_if(!known, step, "must be atomic, set or map");
        if matches!(list_type, "set" | "map") && schema.items.as_ref().is_some_and(|it| it.nullable)
        {
            let message = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.refuse("items/nullable", message);
        }
        match list_type {
            "set" if is_array => self.set_items(schema),
            "map" => self.map_items(schema),
            _ => {}
        }
    }

    fn set_items(&mut self, schema: &Schema) {
        let Some(items) = &schema.items else { return };
        let message = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let granular = match items.type_.as_deref() {
            Some("array") => items.list_type.as_deref().is_some_and(|it| it != "atomic"),
            _ => false,
        };
        self.refuse_if(granular, "items/x-kubernetes-list-type", message);
        let is_object = items.type_.as_deref() == Some("object");
        let granular = is_object && items.map_type.as_deref() != Some("atomic");
        self.refuse_if(granular, "items/x-kubernetes-map-type", message);
    }

    fn map_items(&mut self, schema: &Schema) {
        let step = "x-kubernetes-list-map-keys";
        let keys = &schema.list_map_keys;
        self.refuse_if(
            keys.is_empty(),
            step,
            "must not be empty if x-kubernetes-list-type is map",
        );
        let Some(items) = &schema.items else {
            return self.refuse(
                "items",
                "must have a schema if x-kubernetes-list-type is map",
            );
        };
        if items.type_.as_deref() != Some("object") {
            let message = "must be object if parent array's x-kubernetes-list-type is map";
            return self.refuse("items/type", message);
        }
        for (index, key) in keys.iter().enumerate() {
            let twice = keys[..index].contains(key);
            self.refuse_if(twice, step, "must not contain duplicate entries");
            let Some(field) = items.properties.get(key) else {
                self.refuse(step, "entries must all be names of item properties");
                continue;
            };
            let at = format!("items/properties/{}", pointer::escape(key));
            if matches!(field.type_.as_deref(), Some("array" | "object")) {
                let message =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                self.refuse(&format!("{at}/type"), message);
            }
            if !items.required.contains(key) && field.default.is_none() {
                let message = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.refuse(&format!("{at}/default"), message);
            }
            let message =
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            self.refuse_if(field.nullable, &format!("{at}/nullable"), message);
        }
    }

    fn rules(&mut self, schema: &Schema) {
        for (index, rule) in schema.validations.iter().enumerate() {
            let at = |field: &str| format!("x-kubernetes-validations/{index}/{field}");
            let lines = |text: &str| text.trim().contains(['\r', '\n']);
            let is_blank = |text: &Option<String>| {
                text.as_deref()
                    .is_some_and(|it| !it.is_empty() && it.trim().is_empty())
            };
            let message = rule.message.as_deref().unwrap_or("");
            if rule.rule.trim().is_empty() {
                self.refuse(&at("rule"), "rule is not specified");
            } else if is_blank(&rule.message) {
                self.refuse(&at("message"), "must be non-empty if specified");
            } else if lines(message) {
                self.refuse(&at("message"), "must not contain line breaks");
            } else if lines(&rule.rule) && message.is_empty() {
                let text = "message must be specified if rule contains line breaks";
                self.refuse(&at("message"), text);
            }
            let blank = is_blank(&rule.message_expression);
            let text = "messageExpression must be non-empty if specified";
            self.refuse_if(blank, &at("messageExpression"), text);
            let unknown = rule
                .reason
                .as_deref()
                .is_some_and(|it| !REASONS.contains(&it));
            let text = format!("must be one of {}", REASONS.join(", "));
            self.refuse_if(unknown, &at("reason"), &text);
            let blank = is_blank(&rule.field_path);
            self.refuse_if(blank, &at("fieldPath"), "must be non-empty if specified");
            let path = rule.field_path.as_deref().filter(|_| !blank);
            let is_lost = path.is_some_and(|path| !path.is_empty() && !resolves(schema, path));
            self.refuse_if(is_lost, &at("fieldPath"), "must be a valid path");
        }
    }

    /// Checks for contradictions, which the API server accepts although no value, or fewer than intended, can satisfy them.
    pub(super) fn contradictions(&mut self, schema: &Schema) {
        let pairs = [
            ("minLength", schema.min_length, schema.max_length),
            ("minItems", schema.min_items, schema.max_items),
            (
                "minProperties",
                schema.min_properties,
                schema.max_properties,
            ),
        ];
        for (keyword, min, max) in pairs {
            if min.zip(max).is_some_and(|(min, max)| min > max) {
                self.contradiction(keyword, "is more than the maximum, so no value is valid");
            }
        }
        let bound =
            |it: &Option<serde_json::Number>| it.as_ref().and_then(serde_json::Number::as_f64);
        if let Some((min, max)) = bound(&schema.minimum).zip(bound(&schema.maximum)) {
            let exclusive = schema.exclusive_minimum || schema.exclusive_maximum;
            if min > max || (min == max && exclusive) {
                self.contradiction(
                    "minimum",
                    "leaves no number below the maximum, so no value is valid",
                );
            }
        }
        for keyword in number::unusable(schema) {
            self.contradiction(
                keyword,
                "is no number of the type and format, so Kubernetes 1.36 and later refuse every value",
            );
        }
        let null = schema
            .enum_
            .as_deref()
            .unwrap_or(&[])
            .iter()
            .any(Value::is_null);
        if null {
            self.contradiction(
                "enum",
                "holds null, which the API server refuses in every enum",
            );
        }
        let open = schema.additional_properties.is_some()
            || schema.preserve_unknown_fields == Some(true)
            || schema.properties.is_empty();
        for name in &schema.required {
            let meta = schema.embedded_resource || self.pointer.is_empty();
            let specified =
                schema.properties.contains_key(name) || (meta && crate::prune::is_meta(name));
            if !open && !specified {
                let message = format!(
                    "{name} is required but not specified, so it is dropped and no object is valid"
                );
                self.contradiction("required", message);
            }
        }
    }
}
