//! A model of what schemars derives for a type without attributes, and the CRD's schema in the same form, node by node. A nested definition
//! is a placeholder in both, because it has its own node.

use serde_json::{Map, Value, json};

use super::graph::{Definition, Shape, Struct, Type, TypeGraph};

/// A placeholder for the values of keywords that k8s-openapi sets. No CRD has this value, so the comparison finds each of them different.
const FROM_K8S_OPENAPI: &str = "of k8s-openapi";
/// Keywords for which schemars puts the schema of an `Option` into a union with null. To other schemas, it adds the type null.
const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The schema that schemars derives for a type expression. An `Option` adds nothing, because `crd()` removes its null.
pub fn node(type_: &Type) -> Value {
    match type_ {
        Type::String => json!({"type": "string"}),
        Type::Bool => json!({"type": "boolean"}),
        Type::I32 => json!({"type": "integer", "format": "int32"}),
        Type::I64 => json!({"type": "integer", "format": "int64"}),
        Type::Number => json!({"type": "number"}),
        Type::Any => true.into(),
        Type::IntOrString | Type::Quantity => {
            json!({"description": FROM_K8S_OPENAPI, "x-kubernetes-int-or-string": true})
        }
        Type::Kubernetes(foreign) => {
            let mut node = json!({"description": FROM_K8S_OPENAPI, "type": "object", "properties": FROM_K8S_OPENAPI});
            if foreign.has_required() {
                node["required"] = FROM_K8S_OPENAPI.into();
            }
            node
        }
        Type::Vec(inner) => json!({"type": "array", "items": node(inner)}),
        Type::Map(inner) => json!({"type": "object", "additionalProperties": node(inner)}),
        Type::Nullable(inner) => node(inner),
        Type::Named(_) => Value::Null,
    }
}

/// The schema that schemars derives for a struct or enum, without its description.
pub fn shape(shape: &Shape) -> Map<String, Value> {
    match shape {
        Shape::Struct(Struct { fields, .. }) => {
            let required = fields.iter().filter(|field| !field.optional);
            object(required.map(|field| field.wire.as_str()).collect())
        }
        Shape::Enum(variants) => {
            let wires: Vec<&str> = variants
                .iter()
                .map(|variant| variant.wire.as_str())
                .collect();
            Map::from_iter([
                ("type".into(), "string".into()),
                ("enum".into(), wires.into()),
            ])
        }
        Shape::Alias(_) => Map::new(),
    }
}

/// The schema of a struct with these required fields.
pub fn object(required: Vec<&str>) -> Map<String, Value> {
    let mut map = Map::from_iter([("type".into(), "object".into())]);
    if !required.is_empty() {
        map.insert("required".into(), required.into());
    }
    map
}

/// The CRD's schema of a type expression, in the form of [`node()`]: a nested definition is null.
pub fn wanted(type_: &Type, node: &Value) -> Value {
    let with = |keyword: &str, inner: &Type| {
        let entries = node.as_object().into_iter().flatten();
        let entries = entries.map(|(key, value)| {
            if key == keyword {
                (key.clone(), wanted(inner, value))
            } else {
                (key.clone(), value.clone())
            }
        });
        Value::Object(entries.collect())
    };
    match type_ {
        Type::Vec(inner) => with("items", inner),
        Type::Map(inner) => with("additionalProperties", inner),
        Type::Nullable(inner) => wanted(inner, node),
        Type::Named(_) => Value::Null,
        _ => node.clone(),
    }
}

/// The keywords of a node in the CRD, without those that belong to its fields.
pub fn own(node: &Value) -> Map<String, Value> {
    node.as_object()
        .into_iter()
        .flatten()
        .filter(|(keyword, _)| *keyword != "properties")
        .map(|(keyword, value)| (keyword.clone(), value.clone()))
        .collect()
}

/// Whether an `Option` of a type with this node changes more than its `type`.
pub fn option_changes_more_than_type(node: &Value) -> bool {
    UNIONS.iter().any(|union| node.get(union).is_some()) || has_null_value(node)
}

/// Whether the `enum` contains `null`.
pub fn has_null_value(node: &Value) -> bool {
    let values = node["enum"].as_array();
    values.is_some_and(|values| values.contains(&Value::Null))
}

/// The schemas of the definitions, in their order. To be called before `share` merges equal types.
pub fn nodes<'a>(graph: &TypeGraph, schema: &'a Value) -> Vec<&'a Value> {
    let mut nodes = vec![&Value::Null; graph.definitions.len()];
    let mut open: Vec<(&Type, &Value)> = graph
        .root
        .iter()
        .map(|field| (&field.type_, &schema["properties"][&field.wire]))
        .collect();
    while let Some((type_, node)) = open.pop() {
        match type_ {
            Type::Vec(inner) => open.push((inner, &node["items"])),
            Type::Map(inner) => open.push((inner, &node["additionalProperties"])),
            Type::Nullable(inner) => open.push((inner, node)),
            Type::Named(id) => {
                nodes[id.0] = node;
                if let Definition {
                    shape: Shape::Struct(shape),
                    ..
                } = graph.get(*id)
                {
                    let fields = shape.fields.iter();
                    open.extend(
                        fields.map(|field| (&field.type_, &node["properties"][&field.wire])),
                    );
                }
            }
            _ => {}
        }
    }
    nodes
}
