//! Lowers a schema to the graph of its types. This always succeeds: a value without a Rust type becomes a `serde_json::Value`.

use std::collections::HashSet;

use indexmap::IndexSet;
use operator_schema::{Schema, SchemaOrBool, pointer};
use serde_json::Value;

use super::{
    doc::Doc,
    graph::{Definition, Field, Shape, Struct, Type, TypeGraph, TypeId, Variant},
    kubernetes, name, unique_name,
    value_form::{is_int_or_string, is_quantity, keeps_unknown},
};
use crate::crd::{Api, Version};

/// Fields of the root that the API server defines.
pub const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

pub fn lower(api: &Api, version: &Version) -> TypeGraph {
    let root_name = name::root(&api.names.kind);
    let mut lowering = Lowering {
        graph: TypeGraph::default(),
    };
    let pointer = version.schema_pointer();
    let path = Path::Root(&pointer);
    let properties = version
        .schema
        .properties
        .iter()
        .filter(|(wire, _)| !ENVELOPE.contains(&wire.as_str()));
    let fields = lowering.fields(&path, properties, &version.schema);
    lowering.graph.root = fields;
    lowering.graph.root_keeps_unknown = keeps_unknown(&version.schema);
    name_all(&mut lowering.graph, root_name);
    lowering.graph
}

/// Assigns names after all paths are known, so that a contested name does not depend on the order of the schema.
fn name_all(graph: &mut TypeGraph, root: String) {
    let mut reserved: HashSet<String> = name::imported().map(str::to_owned).collect();
    reserved.insert(root.clone());
    let definitions = graph.definitions.iter();
    let paths: Vec<&[String]> = definitions
        .map(|definition| definition.path.as_slice())
        .collect();
    let names = unique_name::types(&root, &paths, &reserved);
    graph.names = names.iter().chain([&root]).cloned().collect();
    graph.root_name = root;
    for (definition, name) in graph.definitions.iter_mut().zip(names) {
        definition.name = name;
    }
}

/// A path in the schema. Its text is built only on demand, because few paths are reported.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root(&'a str),
    Property(&'a Path<'a>, &'a str),
    /// The items or values of a list or map, by the keyword. They have the wire name of the list or map.
    Inner(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    fn pointer(&self) -> String {
        match self {
            Self::Root(pointer) => (*pointer).to_owned(),
            Self::Property(parent, wire) => {
                parent.pointer() + "/properties/" + &pointer::escape(wire)
            }
            Self::Inner(parent, keyword) => parent.pointer() + "/" + keyword,
        }
    }

    fn wires(&self) -> Vec<String> {
        match self {
            Self::Root(_) => vec![],
            Self::Property(parent, wire) => {
                let mut wires = parent.wires();
                wires.push((*wire).to_owned());
                wires
            }
            Self::Inner(parent, _) => parent.wires(),
        }
    }

    /// The wire name of the last property, and whether it is a property of the root.
    fn last(&self) -> Option<(&'a str, bool)> {
        match self {
            Self::Root(_) => None,
            Self::Property(parent, wire) => Some((wire, parent.last().is_none())),
            Self::Inner(parent, _) => parent.last(),
        }
    }
}

struct Lowering {
    graph: TypeGraph,
}

impl Lowering {
    /// The Rust type for the values of a schema, apart from `nullable`.
    fn type_of(&mut self, path: &Path<'_>, schema: &Schema) -> Type {
        if is_int_or_string(schema) {
            return if is_quantity(schema) {
                Type::Quantity
            } else {
                Type::IntOrString
            };
        }
        let keeps_unknown = keeps_unknown(schema);
        match schema.type_.as_deref() {
            Some("string") => self.string(path, schema),
            Some("boolean") => Type::Bool,
            Some("integer") if schema.format.as_deref() == Some("int32") => Type::I32,
            Some("integer") => Type::I64,
            Some("number") => Type::Number,
            Some("array") => Type::Vec(Box::new(match &schema.items {
                Some(items) => self.inner(&Path::Inner(path, "items"), items),
                None => self.untyped(path),
            })),
            Some("object") | None if !schema.properties.is_empty() => {
                match path.last() {
                    // spec and status always become structs of the kind
                    Some((wire, false)) => kubernetes::find(wire, schema).map(Type::Kubernetes),
                    _ => None,
                }
                .unwrap_or_else(|| self.structure(path, schema, keeps_unknown))
            }
            Some("object") => match &schema.additional_properties {
                Some(SchemaOrBool::Schema(values)) if !keeps_unknown => Type::Map(Box::new(
                    self.inner(&Path::Inner(path, "additionalProperties"), values),
                )),
                _ if schema.prunes_all() => {
                    self.graph.pruned.push(path.pointer());
                    self.structure(path, schema, false)
                }
                _ => Type::Map(Box::new(Type::Any)),
            },
            _ => self.untyped(path),
        }
    }

    fn untyped(&mut self, path: &Path<'_>) -> Type {
        self.graph.untyped.push(path.pointer());
        Type::Any
    }

    /// The type of items or values. `nullable` is a part of the type, because there is no field for it.
    fn inner(&mut self, path: &Path<'_>, schema: &Schema) -> Type {
        let inner = self.type_of(path, schema);
        if schema.nullable && inner != Type::Any {
            Type::Nullable(Box::new(inner))
        } else {
            inner
        }
    }

    /// Defines an enum if the schema lists strings and at most a permitted null; otherwise, the type is `String`.
    fn string(&mut self, path: &Path<'_>, schema: &Schema) -> Type {
        let values = schema.enum_.as_deref().unwrap_or_default();
        let wires: IndexSet<&str> = values.iter().filter_map(Value::as_str).collect();
        let others = values.iter().filter(|value| !value.is_string());
        // values other than strings have no variant, except for a permitted null, which is an `Option`
        let only_null =
            others.clone().all(Value::is_null) && (schema.nullable || others.count() == 0);
        if wires.is_empty() || !only_null {
            return Type::String;
        }
        let wires: Vec<&str> = wires.into_iter().collect();
        let idents = unique_name::variants(&wires);
        let variants = wires.into_iter().zip(idents).map(|(wire, ident)| Variant {
            wire: wire.into(),
            ident,
        });
        Type::Named(self.define(path, schema, Shape::Enum(variants.collect())))
    }

    /// Defines a struct, before the types of its fields: parents are first in the graph.
    fn structure(&mut self, path: &Path<'_>, schema: &Schema, keeps_unknown: bool) -> Type {
        let empty = Struct {
            fields: vec![],
            keeps_unknown,
            has_default: false,
        };
        let id = self.define(path, schema, Shape::Struct(empty));
        let fields = self.fields(path, schema.properties.iter(), schema);
        let zeros = fields
            .iter()
            .zip(schema.properties.values())
            .all(|(field, schema)| field.optional || self.is_zero_valid(field, schema));
        let bounds = schema.min_properties.is_none_or(|min| min <= 0)
            && schema.any_of.is_empty()
            && schema.one_of.is_empty()
            && schema.all_of.is_empty()
            && schema.not.is_none()
            // a required field without a schema is in the map of unknown fields, which is empty by default
            && schema.required.iter().all(|wire| schema.properties.contains_key(wire));
        self.graph.definitions[id.0].shape = Shape::Struct(Struct {
            fields,
            keeps_unknown,
            has_default: zeros && bounds,
        });
        Type::Named(id)
    }

    fn fields<'a>(
        &mut self,
        path: &Path<'_>,
        properties: impl Iterator<Item = (&'a String, &'a Schema)>,
        parent: &Schema,
    ) -> Vec<Field> {
        let properties: Vec<_> = properties.collect();
        let wires: Vec<&str> = properties.iter().map(|(wire, _)| wire.as_str()).collect();
        let idents = unique_name::fields(&wires);
        let required: HashSet<&String> = parent.required.iter().collect();
        let mut fields = vec![];
        for ((wire, schema), ident) in properties.into_iter().zip(idents) {
            // the API server keeps the metadata of an embedded resource, even if its schema has no fields
            let keeps = parent.embedded_resource && wire == "metadata" && schema.prunes_all();
            let type_ = if keeps {
                Type::Map(Box::new(Type::Any))
            } else {
                self.type_of(&Path::Property(path, wire), schema)
            };
            fields.push(Field {
                ident,
                type_,
                optional: !required.contains(wire),
                nullable: schema.nullable,
                boxed: false,
                doc: doc(4, schema),
                default: schema.default.clone(),
                schemars: vec![],
                wire: wire.clone(),
            });
        }
        fields
    }

    fn define(&mut self, path: &Path<'_>, schema: &Schema, shape: Shape) -> TypeId {
        let id = TypeId(self.graph.definitions.len());
        self.graph.definitions.push(Definition {
            name: String::new(),
            path: path.wires(),
            doc: doc(0, schema),
            shape,
            schemars: vec![],
        });
        id
    }

    /// Whether the schema allows the Rust default of a required field.
    fn is_zero_valid(&self, field: &Field, schema: &Schema) -> bool {
        let zero = match &field.type_ {
            _ if field.nullable => Value::Null,
            Type::String => "".into(),
            Type::Bool => false.into(),
            Type::I32 | Type::I64 => 0.into(),
            Type::Vec(_) => Value::Array(vec![]),
            Type::Map(_) => Value::Object(serde_json::Map::new()),
            Type::Named(id) => {
                return matches!(&self.graph.get(*id).shape, Shape::Struct(inner) if inner.has_default);
            }
            Type::Kubernetes(foreign) => match foreign.zero() {
                Some(zero) => zero,
                None => return false,
            },
            Type::Any | Type::Number | Type::IntOrString | Type::Quantity | Type::Nullable(_) => {
                return false;
            }
        };
        operator_schema::violations(schema, &zero).is_empty()
    }
}

fn doc(indent: usize, schema: &Schema) -> Option<Doc> {
    let description = schema.description.as_ref()?;
    Some(Doc::new(indent, description))
}
