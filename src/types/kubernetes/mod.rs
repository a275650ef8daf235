//! Finds the types of k8s-openapi for object schemas: those that can read and write every value that the schema allows, field by field.
//!
//! `kubernetes/types.json` is generated from k8s-openapi, `kubernetes/since.json` from its releases for Kubernetes 1.16 to 1.33: the first
//! minor release with a type (under the empty name) or a field that 1.16 does not have.
//!
//! A type fits if the schema has the fields, and the same required fields, that the type has in some release, and if the type writes what
//! it read. Three losses are accepted, because Go's types have them, too: a quantity that is a number becomes a string, an int-or-string
//! has 32 bits, and the time of a condition is in UTC and in whole seconds. Types are compared by shape; the name matters only for shapes
//! that are too small to be distinguished. What the CRD adds to such a schema is JSON in an attribute of the field. If a type of the kind
//! has the same name, the type of k8s-openapi is written with its path.

use std::{
    collections::{BTreeSet, HashMap},
    sync::LazyLock,
};

use indexmap::IndexMap;
use operator_schema::{Schema, SchemaOrBool};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    name,
    value_form::{is_int_or_string, is_quantity, keeps_unknown, walk},
};

/// The size in bytes of a `String`, `Vec`, `BTreeMap`, `Quantity` or `IntOrString`, also inside of an `Option`.
pub const TEXT: usize = 24;

/// The size in bytes of a `serde_json::Value`, with the feature `preserve_order` as in tests.
pub const VALUE: usize = 72;

/// A type of k8s-openapi.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kubernetes(usize);

/// The form in which k8s-openapi reads and writes a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    fields: IndexMap<String, Expression>,
    /// Fields that are not `Option`s: they are written even if they were absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    required: Vec<String>,
}

/// The type of a field, without `Option`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Expression {
    String,
    Bool,
    I32,
    I64,
    Quantity,
    IntOrString,
    /// A type that does not write exactly what it read, such as a time.
    Lossy,
    List(Box<Expression>),
    Map(Box<Expression>),
    /// Another type, by its path in k8s-openapi.
    Type(String),
}

/// The minor release of types and fields that are not in `since.json`.
const EARLIEST: u8 = 16;
/// An object with at least this many fields, including those of nested objects, is recognized by its fields alone.
const TELLING: usize = 5;

/// The types of k8s-openapi, with indexes for the search.
struct Table {
    types: IndexMap<String, Known>,
    since: HashMap<String, HashMap<String, u8>>,
    /// Types by the names of their fields.
    with_field: HashMap<String, Vec<usize>>,
    /// For each type, the names of the fields that have it in Kubernetes, and the name of the type itself, all in CamelCase.
    names: Vec<BTreeSet<String>>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let types: IndexMap<String, Known> =
        serde_json::from_str(include_str!("types.json")).expect("a test wrote it");
    let since = serde_json::from_str(include_str!("since.json")).expect("a test reads it");
    let mut with_field: HashMap<String, Vec<usize>> = HashMap::new();
    let mut names: Vec<BTreeSet<String>> = types
        .keys()
        .map(|path| BTreeSet::from([name::pascal(&name::camel(&name::field(last(path))))]))
        .collect();
    for (at, known) in types.values().enumerate() {
        for (wire, expression) in &known.fields {
            with_field.entry(wire.clone()).or_default().push(at);
            if let Some(used) = expression.named().and_then(|path| types.get_index_of(path)) {
                names[used].insert(name::pascal(wire));
            }
        }
    }
    Table {
        types,
        since,
        with_field,
        names,
    }
});

/// Finds the type for an object. `wire` is the name of the property that contains the object, directly or as items or values.
///
/// A type must lose nothing, and the object must have exactly the fields that the type had in some release of Kubernetes: a copy of any age
/// is recognized, a selection of fields is not. Small objects such as `{key, name}` are often alike by chance. So they must also have a
/// name that Kubernetes gives to fields of the type, and an object with one field is not a copy of a larger type. If two types remain, the
/// older one is chosen.
pub fn find(wire: &str, schema: &Schema) -> Option<Kubernetes> {
    if is_condition(schema) {
        return TABLE.types.get_index_of(CONDITION).map(Kubernetes);
    }
    let (first, _) = schema.properties.first()?;
    let candidates = TABLE.with_field.get(first)?.iter().copied();
    let fitting: Vec<usize> = candidates
        .filter(|at| TABLE.is_lossless(*at, schema))
        .collect();
    if fitting.is_empty() {
        return None;
    }
    let is_telling = fields(schema) >= TELLING;
    // the end of a name is enough: a `podSecurityContext` may be a `securityContext`
    let wire = name::pascal(wire);
    let is_named = |at: &usize| {
        let is_more_than_a_field =
            schema.properties.len() > 1 || TABLE.types[*at].fields.len() == 1;
        is_more_than_a_field && TABLE.names[*at].iter().any(|name| wire.ends_with(name))
    };
    let named: Vec<usize> = fitting.iter().copied().filter(is_named).collect();
    match (fitting.as_slice(), named.as_slice()) {
        ([only], _) if is_telling => Some(*only),
        (_, named) => TABLE.oldest(named),
    }
    .map(Kubernetes)
}

impl Kubernetes {
    /// The path of the type from the root of k8s-openapi.
    pub fn path(self) -> &'static str {
        self.entry().0
    }

    pub fn name(self) -> &'static str {
        last(self.path())
    }

    pub fn is_condition(self) -> bool {
        self.path() == CONDITION
    }

    /// Whether the type has fields that are not `Option`s.
    pub fn has_required(self) -> bool {
        !self.entry().1.required.is_empty()
    }

    /// The size of a value in bytes.
    pub fn size(self) -> usize {
        Self::size_of(self.path())
    }

    /// The size of the type at a path.
    pub fn size_of(path: &str) -> usize {
        let Some(known) = TABLE.types.get(path) else {
            return VALUE;
        };
        let of_field = |(wire, expression): (&String, &Expression)| {
            let is_option = u8::from(!known.required.contains(wire));
            match expression {
                Expression::Bool => 1,
                Expression::I32 => 4 << is_option,
                Expression::I64 => 8 << is_option,
                Expression::Type(path) => Self::size_of(path),
                Expression::String
                | Expression::Quantity
                | Expression::IntOrString
                | Expression::Lossy
                | Expression::List(_)
                | Expression::Map(_) => TEXT,
            }
        };
        known.fields.iter().map(of_field).sum()
    }

    /// The JSON of its `Default`; `None` if it is not known.
    pub fn zero(self) -> Option<Value> {
        zero(self.path())
    }

    fn entry(self) -> (&'static String, &'static Known) {
        TABLE
            .types
            .get_index(self.0)
            .expect("it is an index of the table")
    }
}

impl Table {
    /// Whether everything that the schema allows is written as it was read, and the type has no fields that the object lacks.
    fn is_lossless(&self, at: usize, schema: &Schema) -> bool {
        let (path, known) = self
            .types
            .get_index(at)
            .expect("it is an index of the table");
        let is_plain = schema
            .type_
            .as_deref()
            .is_none_or(|type_| type_ == "object")
            && !schema.nullable
            && !keeps_unknown(schema)
            && schema.enum_.is_none();
        // a type with fewer required fields would let a caller omit one, and a type with more would write fields that were absent
        let has_same_required = known.required.len() == schema.required.len()
            && known
                .required
                .iter()
                .all(|wire| schema.required.contains(wire));
        is_plain
            && has_same_required
            && schema.properties.iter().all(|(wire, property)| {
                let expression = known.fields.get(wire);
                expression.is_some_and(|expression| self.reads(expression, property))
            })
            && self.is_of_a_release(path, known, schema)
    }

    /// Whether a field of this type reads and writes every value that the schema allows.
    fn reads(&self, expression: &Expression, schema: &Schema) -> bool {
        if schema.nullable {
            return false;
        }
        let type_ = schema.type_.as_deref();
        let is_int_or_string = is_int_or_string(schema);
        match expression {
            Expression::Quantity if is_int_or_string => is_quantity(schema),
            Expression::IntOrString => is_int_or_string && !is_quantity(schema),
            _ if is_int_or_string => false,
            Expression::String => type_ == Some("string") && schema.enum_.is_none(),
            Expression::Quantity => type_ == Some("string"),
            Expression::Bool => type_ == Some("boolean"),
            Expression::I32 => {
                type_ == Some("integer") && schema.format.as_deref() == Some("int32")
            }
            Expression::I64 => type_ == Some("integer"),
            Expression::List(inner) => {
                type_ == Some("array")
                    && schema
                        .items
                        .as_ref()
                        .is_some_and(|items| self.reads(inner, items))
            }
            Expression::Map(inner) => {
                let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties else {
                    return false;
                };
                type_ == Some("object")
                    && schema.properties.is_empty()
                    && schema.preserve_unknown_fields != Some(true)
                    && !schema.embedded_resource
                    && self.reads(inner, values)
            }
            Expression::Type(path) => {
                let at = self.types.get_index_of(path);
                !schema.properties.is_empty() && at.is_some_and(|at| self.is_lossless(at, schema))
            }
            Expression::Lossy => false,
        }
    }

    /// Whether the schema can be a copy from some release: all fields that it lacks are newer than all fields that it has.
    fn is_of_a_release(&self, path: &str, known: &Known, schema: &Schema) -> bool {
        let (has, lacks): (Vec<&String>, Vec<&String>) = known
            .fields
            .keys()
            .partition(|wire| schema.properties.contains_key(*wire));
        let newest = has.into_iter().map(|wire| self.since(path, wire)).max();
        let oldest = lacks.into_iter().map(|wire| self.since(path, wire)).min();
        oldest.is_none_or(|oldest| newest.is_some_and(|newest| oldest > newest))
    }

    /// The release that introduced a field, or the type itself for an empty name.
    fn since(&self, path: &str, wire: &str) -> u8 {
        let fields = self.since.get(path);
        let of = |wire: &str| {
            fields
                .and_then(|fields| fields.get(wire))
                .copied()
                .unwrap_or(EARLIEST)
        };
        of(wire).max(of(""))
    }

    /// The oldest of the types; `None` if several are equally old.
    fn oldest(&self, types: &[usize]) -> Option<usize> {
        let since = |at: usize| {
            let (path, _) = self.types.get_index(at).expect("it is an index");
            self.since(path, "")
        };
        let oldest = types.iter().copied().min_by_key(|at| since(*at))?;
        let rivals = types.iter().filter(|at| since(**at) == since(oldest));
        (rivals.count() == 1).then_some(oldest)
    }
}

impl Expression {
    /// The innermost type of lists and maps.
    fn named(&self) -> Option<&str> {
        match self {
            Self::List(inner) | Self::Map(inner) => inner.named(),
            Self::Type(path) => Some(path),
            _ => None,
        }
    }
}

/// The JSON of the default of the type at a path: only fields that are not `Option`s.
fn zero(path: &str) -> Option<Value> {
    let known = TABLE.types.get(path)?;
    let mut object = Map::new();
    for wire in &known.required {
        let value = match known.fields.get(wire)? {
            Expression::String | Expression::Quantity => "".into(),
            Expression::Bool => false.into(),
            Expression::I32 | Expression::I64 | Expression::IntOrString => 0.into(),
            Expression::List(_) => Value::Array(vec![]),
            Expression::Map(_) => Value::Object(Map::new()),
            Expression::Type(path) => zero(path)?,
            Expression::Lossy => return None,
        };
        object.insert(wire.clone(), value);
    }
    Some(object.into())
}

/// The properties of an object and of all objects below it.
fn fields(schema: &Schema) -> usize {
    let mut count = 0;
    walk(schema, &mut |schema| {
        count += schema.properties.len();
    });
    count
}

fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

const CONDITION: &str = "apimachinery::pkg::apis::meta::v1::Condition";

/// Whether the schema is that of metav1.Condition, apart from descriptions. It is accepted that the time loses fractions of a second.
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
            schema.properties.get(*name).is_some_and(|property| {
                property.type_.as_deref() == Some(type_)
                    && property.format.as_deref() == *format
                    && !property.nullable
            })
        })
}

#[cfg(test)]
mod tests;
