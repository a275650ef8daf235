//! The types that a schema declares for rules.
//!
//! <https://kubernetes.io/docs/reference/using-api/cel/#type-system-integration>

use super::super::value::escaped;
use super::types::{DURATION, TIMESTAMP, Type};
use crate::{Schema, SchemaOrBool};
use std::ptr;

/// An object with fields. Two objects have the same type only if they are the same node of the schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Object<'s> {
    Plain(&'s Schema),
    /// With `apiVersion`, `kind` and `metadata`.
    Resource(&'s Schema),
    /// The metadata of a resource, of which rules see only `name` and `generateName`.
    Metadata(&'s Schema),
}

impl PartialEq for Object<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Object::Plain(a), Object::Plain(b))
            | (Object::Resource(a), Object::Resource(b))
            | (Object::Metadata(a), Object::Metadata(b)) => ptr::eq(*a, *b),
            _ => false,
        }
    }
}

/// The type of a value; `None` if rules cannot see it.
pub(super) fn declared(schema: &Schema, is_resource: bool) -> Option<Type<'_>> {
    if schema.int_or_string {
        return Some(Type::Dyn);
    }
    match schema.type_.as_deref()? {
        "array" => {
            let items = schema.items.as_deref()?;
            declared(items, items.embedded_resource).map(Type::list)
        }
        "object" => match &schema.additional_properties {
            Some(SchemaOrBool::Schema(values)) => {
                let values = declared(values, values.embedded_resource)?;
                Some(Type::map(Type::simple("string"), values))
            }
            _ if is_resource => Some(Type::Object(Object::Resource(schema))),
            _ => Some(Type::Object(Object::Plain(schema))),
        },
        "string" => Some(Type::simple(match schema.format.as_deref() {
            Some("byte") => "bytes",
            Some("duration") => DURATION,
            Some("date" | "date-time") => TIMESTAMP,
            _ => "string",
        })),
        "boolean" => Some(Type::simple("bool")),
        "number" => Some(Type::simple("double")),
        "integer" => Some(Type::simple("int")),
        _ => None,
    }
}

impl<'s> Object<'s> {
    /// The type of a field, by its name in rules.
    pub(super) fn field(self, name: &str) -> Option<Type<'s>> {
        match (self, name) {
            (Object::Resource(_), "apiVersion" | "kind")
            | (Object::Metadata(_), "name" | "generateName") => Some(Type::simple("string")),
            (Object::Resource(schema), "metadata") if !has_own_metadata(schema) => {
                Some(Type::Object(Object::Metadata(schema)))
            }
            (Object::Metadata(_), _) => None,
            (Object::Plain(schema) | Object::Resource(schema), _) => {
                let field = property(schema, name)?;
                declared(field, field.embedded_resource)
            }
        }
    }

    /// The names of the fields in rules.
    pub(super) fn fields(self) -> Vec<String> {
        let own = |schema: &Schema| {
            schema
                .properties
                .keys()
                .filter_map(|it| escaped(it))
                .collect()
        };
        let with = |mut names: Vec<String>, more: &[&str]| {
            names.extend(more.iter().map(|name| (*name).to_owned()));
            names
        };
        match self {
            Object::Plain(schema) => own(schema),
            Object::Resource(schema) => with(own(schema), &["apiVersion", "kind", "metadata"]),
            Object::Metadata(_) => with(Vec::new(), &["name", "generateName"]),
        }
    }
}

/// The property that a rule calls `name`. A keyword may be written without its escape.
fn property<'s>(schema: &'s Schema, name: &str) -> Option<&'s Schema> {
    let mut properties = schema.properties.iter();
    if name.contains("__") {
        properties.find_map(|(key, it)| (escaped(key)? == name).then_some(it))
    } else {
        schema.properties.get(name)
    }
}

/// Whether a resource declares all that rules may see of its metadata.
pub(super) fn has_own_metadata(schema: &Schema) -> bool {
    let is = |schema: &Schema, name: &str, type_: &str| {
        schema
            .properties
            .get(name)
            .is_some_and(|it| it.type_.as_deref() == Some(type_))
    };
    let metadata = schema.properties.get("metadata");
    is(schema, "kind", "string")
        && is(schema, "apiVersion", "string")
        && metadata.is_some_and(|it| {
            it.type_.as_deref() == Some("object")
                && is(it, "name", "string")
                && is(it, "generateName", "string")
        })
}
