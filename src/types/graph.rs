//! The types of a version as data: an arena of definitions that refer to each other by [`TypeId`].

use std::collections::HashSet;

use super::{attribute::Argument, doc::Doc, kubernetes::Kubernetes};

/// An index into [`TypeGraph::definitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub usize);

/// All types of a version.
#[derive(Clone, Debug, Default)]
pub struct TypeGraph {
    /// The definitions in the order of the schema, parents first.
    pub definitions: Vec<Definition>,
    /// The fields of the root, besides `apiVersion`, `kind` and `metadata`.
    pub root: Vec<Field>,
    /// Whether the API server keeps fields of the root that the schema does not name.
    pub root_keeps_unknown: bool,
    /// The attributes of the root in `derive` mode.
    pub root_schemars: Vec<Argument>,
    /// The Rust name of the root.
    pub root_name: String,
    /// The Rust names of the kind and of all its types.
    pub names: HashSet<String>,
    /// The JSON pointers to the places where the schema does not define a type.
    pub untyped: Vec<String>,
    /// The JSON pointers to objects of which the API server drops all fields.
    pub pruned: Vec<String>,
}

/// A type at a path of the schema.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    /// The wire names from the root.
    pub path: Vec<String>,
    pub doc: Option<Doc>,
    pub shape: Shape,
    /// The attributes that express the rest of its schema in `derive` mode.
    pub schemars: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Struct(Struct),
    /// An enum of strings. Its last variant keeps unknown strings, such as those of a later version of the schema.
    Enum(Vec<Variant>),
    /// An alias of an earlier definition with the same shape.
    Alias(TypeId),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Struct {
    pub fields: Vec<Field>,
    /// Whether unknown fields are kept.
    pub keeps_unknown: bool,
    /// Whether the schema accepts the zero value.
    pub has_default: bool,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub wire: String,
    pub ident: String,
    pub type_: Type,
    /// Whether the field may be absent, so that the Rust field is an `Option`.
    pub optional: bool,
    /// Whether the field may be `null`.
    pub nullable: bool,
    /// Whether the field is a `Box`, because values of the kind are large.
    pub boxed: bool,
    pub doc: Option<Doc>,
    pub default: Option<serde_json::Value>,
    /// The attributes that express the rest of its schema in `derive` mode.
    pub schemars: Vec<Argument>,
}

/// Equality except for descriptions. The default counts, because the struct has an accessor for it.
impl PartialEq for Field {
    fn eq(&self, other: &Self) -> bool {
        (
            &self.wire,
            &self.ident,
            &self.type_,
            self.optional,
            self.nullable,
            &self.default,
        ) == (
            &other.wire,
            &other.ident,
            &other.type_,
            other.optional,
            other.nullable,
            &other.default,
        )
    }
}

impl Eq for Field {}

impl std::hash::Hash for Field {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.wire, &self.type_, self.optional, self.nullable).hash(state);
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    pub wire: String,
    pub ident: String,
}

/// A type expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    String,
    Bool,
    I32,
    I64,
    /// `serde_json::Number`: an `f64` would write the `1` that it read as `1.0`.
    Number,
    /// A value of any type.
    Any,
    /// k8s-openapi's `IntOrString`.
    IntOrString,
    /// k8s-openapi's `resource.Quantity`.
    Quantity,
    /// Any other type of k8s-openapi.
    Kubernetes(Kubernetes),
    Vec(Box<Type>),
    /// A map with string keys.
    Map(Box<Type>),
    /// An item or value that may be `null`.
    Nullable(Box<Type>),
    Named(TypeId),
}

impl Struct {
    /// Whether the struct has no fields, not even unknown ones.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty() && !self.keeps_unknown
    }
}

impl Field {
    /// Whether `null` and absent are different values of the field. Otherwise one `Option` is enough.
    pub fn distinguishes_null_from_absent(&self) -> bool {
        self.optional && self.nullable && self.type_ != Type::Any
    }

    /// Whether a `null` must be read as a value, which serde does not do for an `Option`.
    pub fn keeps_null(&self) -> bool {
        self.optional && (self.nullable || self.type_ == Type::Any)
    }
}

impl TypeGraph {
    pub fn get(&self, id: TypeId) -> &Definition {
        &self.definitions[id.0]
    }

    /// Whether the kind or one of its types has this name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub fn structs(&self) -> impl Iterator<Item = &Struct> {
        self.definitions
            .iter()
            .filter_map(|definition| match &definition.shape {
                Shape::Struct(shape) => Some(shape),
                _ => None,
            })
    }

    /// All fields, including those of the root.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.structs()
            .flat_map(|shape| &shape.fields)
            .chain(&self.root)
    }

    /// The types of all fields.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.fields().map(|field| &field.type_)
    }

    /// The definition that an alias refers to, or the definition itself.
    pub fn first(&self, id: TypeId) -> TypeId {
        match self.get(id).shape {
            Shape::Alias(first) => first,
            _ => id,
        }
    }

    /// The definition after resolving aliases.
    pub fn resolve(&self, id: TypeId) -> &Definition {
        self.get(self.first(id))
    }

    /// The struct of a type, if it is one.
    pub fn as_struct(&self, type_: &Type) -> Option<&Struct> {
        match type_ {
            Type::Named(id) => match &self.resolve(*id).shape {
                Shape::Struct(shape) => Some(shape),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Type {
    /// The type without nullable items or values.
    pub fn without_nullable(&self) -> Self {
        match self {
            Self::Vec(inner) => Self::Vec(Box::new(inner.without_nullable())),
            Self::Map(inner) => Self::Map(Box::new(inner.without_nullable())),
            Self::Nullable(inner) => inner.without_nullable(),
            other => other.clone(),
        }
    }

    /// The type inside of all lists, maps and nullables.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.innermost(),
            other => other,
        }
    }

    /// Whether a predicate holds for any part of the expression.
    pub fn any(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.any(holds),
                _ => false,
            }
    }
}
