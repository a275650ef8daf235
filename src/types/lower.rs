//! From a schema to the graph of its types. Total: what has no Rust type of its own is a `serde_json::Value`.

use std::collections::HashSet;

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use super::{
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, TypeId, Variant},
    name::{self, Taken},
};
use crate::crd::{Api, Version};

/// Fields of the root that are the API server's, not the schema's.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub fn lower(api: &Api, version: &Version) -> TypeGraph {
    let root_name = name::root(&api.names.kind);
    let mut lowering = Lowering {
        graph: TypeGraph::default(),
        names: Taken::default(),
    };
    lowering.names.take(root_name.clone(), "");
    let path = Path {
        pointer: version.schema_pointer(),
        name: root_name.clone(),
    };
    let properties = version
        .schema
        .properties
        .iter()
        .filter(|(wire, _)| !ENVELOPE.contains(&wire.as_str()));
    let fields = lowering.fields(&path, properties, &version.schema.required);
    lowering.graph.root = fields;
    lowering.graph.root_name = root_name;
    lowering.graph
}

/// Where in the schema we are, and the name of a type there.
#[derive(Clone)]
struct Path {
    pointer: String,
    name: String,
}

impl Path {
    fn property(&self, wire: &str) -> Self {
        Self {
            pointer: format!(
                "{}/properties/{}",
                self.pointer,
                wire.replace('~', "~0").replace('/', "~1")
            ),
            name: format!("{}{}", self.name, name::pascal(wire)),
        }
    }

    /// Items and values are named as the list or map is.
    fn inner(&self, keyword: &str) -> Self {
        Self {
            pointer: format!("{}/{keyword}", self.pointer),
            name: self.name.clone(),
        }
    }
}

struct Lowering {
    graph: TypeGraph,
    names: Taken,
}

impl Lowering {
    fn type_of(&mut self, path: &Path, schema: &Schema) -> Type {
        if schema.int_or_string || is_int_or_string_union(schema) {
            return Type::IntOrString;
        }
        let keeps_unknown = schema.preserve_unknown_fields == Some(true);
        match schema.type_.as_deref() {
            Some("string") => self.string(path, schema),
            Some("boolean") => Type::Bool,
            Some("integer") if schema.format.as_deref() == Some("int32") => Type::I32,
            Some("integer") => Type::I64,
            Some("number") => Type::F64,
            Some("array") => Type::Vec(Box::new(match &schema.items {
                Some(items) => self.inner(&path.inner("items"), items),
                None => self.untyped(path),
            })),
            Some("object") | None if !schema.properties.is_empty() => {
                if is_condition(schema) {
                    Type::Condition
                } else {
                    self.structure(path, schema, keeps_unknown)
                }
            }
            Some("object") => match &schema.additional_properties {
                Some(SchemaOrBool::Schema(values)) if !keeps_unknown => Type::Map(Box::new(
                    self.inner(&path.inner("additionalProperties"), values),
                )),
                _ => Type::Map(Box::new(Type::Any)),
            },
            _ => self.untyped(path),
        }
    }

    fn untyped(&mut self, path: &Path) -> Type {
        self.graph.untyped.push(path.pointer.clone());
        Type::Any
    }

    fn inner(&mut self, path: &Path, schema: &Schema) -> Type {
        let inner = self.type_of(path, schema);
        if schema.nullable && inner != Type::Any {
            Type::Nullable(Box::new(inner))
        } else {
            inner
        }
    }

    fn string(&mut self, path: &Path, schema: &Schema) -> Type {
        let values = schema.enum_.as_deref().unwrap_or_default();
        let strings: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        let others = values.iter().filter(|value| !value.is_string());
        let only_null =
            others.clone().all(Value::is_null) && (schema.nullable || others.count() == 0);
        if strings.is_empty() || !only_null {
            return Type::String;
        }
        let mut variants: Vec<Variant> = vec![];
        let mut idents = HashSet::new();
        for wire in strings {
            if variants.iter().any(|variant| variant.wire == wire) {
                continue;
            }
            let ident = name::variant(wire);
            // values that differ in signs or case alone have no two good names
            if !idents.insert(ident.clone()) {
                return Type::String;
            }
            variants.push(Variant {
                wire: wire.into(),
                ident,
            });
        }
        let name = self.names.take(path.name.clone(), "Value");
        Type::Named(self.define(name, schema, Shape::Enum(variants)))
    }

    fn structure(&mut self, path: &Path, schema: &Schema, keeps_unknown: bool) -> Type {
        let name = self.names.take(path.name.clone(), "Fields");
        let keeps_unknown = keeps_unknown
            || schema
                .additional_properties
                .as_ref()
                .is_some_and(|more| *more != SchemaOrBool::Bool(false));
        let empty = Struct {
            fields: vec![],
            keeps_unknown,
            has_default: false,
        };
        let id = self.define(name, schema, Shape::Struct(empty));
        let fields = self.fields(path, schema.properties.iter(), &schema.required);
        let zeros = fields
            .iter()
            .zip(schema.properties.values())
            .all(|(field, schema)| field.optional || self.is_zero_valid(field, schema));
        let bounds = schema.min_properties.is_none_or(|min| min <= 0)
            && schema.any_of.is_empty()
            && schema.one_of.is_empty()
            && schema.all_of.is_empty()
            && schema.not.is_none();
        self.graph.definitions[id.0].shape = Shape::Struct(Struct {
            fields,
            keeps_unknown,
            has_default: zeros && bounds,
        });
        Type::Named(id)
    }

    fn fields<'a>(
        &mut self,
        path: &Path,
        properties: impl Iterator<Item = (&'a String, &'a Schema)>,
        required: &[String],
    ) -> Vec<Field> {
        let mut idents = Taken::default();
        let mut fields = vec![];
        for (wire, schema) in properties {
            let type_ = self.type_of(&path.property(wire), schema);
            fields.push(Field {
                ident: idents.take(name::field(wire), "_"),
                type_,
                optional: !required.contains(wire),
                nullable: schema.nullable,
                doc: schema.description.clone(),
                default: schema.default.clone(),
                wire: wire.clone(),
            });
        }
        fields
    }

    fn define(&mut self, name: String, schema: &Schema, shape: Shape) -> TypeId {
        let id = TypeId(self.graph.definitions.len());
        self.graph.definitions.push(Definition {
            name,
            doc: schema.description.clone(),
            shape,
        });
        id
    }

    /// Whether the Rust default of a required field is a value that the schema allows.
    fn is_zero_valid(&self, field: &Field, schema: &Schema) -> bool {
        let zero = match &field.type_ {
            _ if field.nullable => Value::Null,
            Type::String => "".into(),
            Type::Bool => false.into(),
            Type::I32 | Type::I64 => 0.into(),
            Type::F64 => serde_json::json!(0.0),
            Type::Vec(_) => Value::Array(vec![]),
            Type::Map(_) => Value::Object(serde_json::Map::new()),
            Type::Named(id) => {
                return matches!(&self.graph.get(*id).shape, Shape::Struct(inner) if inner.has_default);
            }
            Type::Any | Type::IntOrString | Type::Condition | Type::Nullable(_) => return false,
        };
        operator_schema::violations(schema, &zero).is_empty()
    }
}

/// `anyOf: [{type: integer}, {type: string}]`, which some write without the Kubernetes extension.
fn is_int_or_string_union(schema: &Schema) -> bool {
    let types: Vec<_> = schema
        .any_of
        .iter()
        .filter_map(|part| part.type_.as_deref())
        .collect();
    schema.type_.is_none()
        && matches!(
            types.as_slice(),
            ["integer", "string"] | ["string", "integer"]
        )
}

/// Whether it is metav1.Condition itself, in which only descriptions may differ.
fn is_condition(schema: &Schema) -> bool {
    const FIELDS: [(&str, &str, Option<&str>); 6] = [
        ("lastTransitionTime", "string", Some("date-time")),
        ("message", "string", None),
        ("observedGeneration", "integer", Some("int64")),
        ("reason", "string", None),
        ("status", "string", None),
        ("type", "string", None),
    ];
    let mut required: Vec<&str> = schema.required.iter().map(String::as_str).collect();
    required.sort_unstable();
    required == ["lastTransitionTime", "message", "reason", "status", "type"]
        && schema.properties.len() == FIELDS.len()
        && schema.preserve_unknown_fields != Some(true)
        && FIELDS.iter().all(|(name, type_, format)| {
            schema.properties.get(*name).is_some_and(|found| {
                found.type_.as_deref() == Some(type_)
                    && found.format.as_deref() == *format
                    && !found.nullable
            })
        })
}
