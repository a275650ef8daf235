//! The types of a version as data: an arena of definitions that refer to each other by [`TypeId`].

use std::collections::HashSet;

use super::{attribute::Argument, doc::Doc, kubernetes::Kubernetes};

/// An index into [`TypeGraph::definitions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TypeId(pub usize);

#[derive(Clone, Debug, Default)]
pub struct TypeGraph {
    /// In the order in which the schema comes to them, parents first.
    pub definitions: Vec<Definition>,
    /// The fields of the root beside `apiVersion`, `kind` and `metadata`.
    pub root: Vec<Field>,
    /// Whether the API server keeps fields of the root that the schema does not name.
    pub root_keeps_unknown: bool,
    /// Of the root in `derive` mode.
    pub root_schemars: Vec<Argument>,
    /// The root's Rust name.
    pub root_name: String,
    /// The Rust names of the kind and of all its types.
    pub names: HashSet<String>,
    /// Where the schema does not say what a value is.
    pub untyped: Vec<String>,
}

/// A type that a path of the schema names.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    /// The wire names from the root.
    pub path: Vec<String>,
    pub doc: Option<Doc>,
    pub shape: Shape,
    /// What its schema has beside what its shape derives, in `derive` mode.
    pub schemars: Vec<Argument>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    Struct(Struct),
    /// Strings that the schema names. Others are kept too, as those of a later version of the schema.
    Enum(Vec<Variant>),
    /// Of the same shape as an earlier definition.
    Alias(TypeId),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Struct {
    pub fields: Vec<Field>,
    /// Fields that the schema does not name are kept.
    pub keeps_unknown: bool,
    /// Whether the zero value is valid by the schema.
    pub has_default: bool,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub wire: String,
    pub ident: String,
    pub type_: Type,
    /// Whether the schema lets it be absent; the Rust field is then an `Option`.
    pub optional: bool,
    /// Whether `null` is a value of it.
    pub nullable: bool,
    /// Whether it is a `Box`, as values of the kind are large.
    pub boxed: bool,
    pub doc: Option<Doc>,
    pub default: Option<serde_json::Value>,
    /// What its schema has beside what its type derives, in `derive` mode.
    pub schemars: Vec<Argument>,
}

/// Equal but for their own descriptions. A default is part of a struct, as that has an accessor for it.
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
    /// k8s-openapi's.
    IntOrString,
    /// k8s-openapi's `resource.Quantity`.
    Quantity,
    /// Another one of k8s-openapi's.
    Kubernetes(Kubernetes),
    Vec(Box<Type>),
    /// From strings.
    Map(Box<Type>),
    /// An item or a value that may be `null`.
    Nullable(Box<Type>),
    Named(TypeId),
}

impl Field {
    /// Whether absent and `null` are two values of it. Where either may be missing one `Option` says all.
    pub fn tells_null_from_absent(&self) -> bool {
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

    /// Those of the root too.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        let fields = self.structs().flat_map(|shape| &shape.fields);
        fields.chain(&self.root)
    }

    /// Of all fields.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        self.fields().map(|field| &field.type_)
    }

    /// The one of which it is an alias, or itself.
    pub fn first(&self, id: TypeId) -> TypeId {
        match self.get(id).shape {
            Shape::Alias(first) => first,
            _ => id,
        }
    }

    /// The definition behind aliases.
    pub fn resolve(&self, id: TypeId) -> &Definition {
        self.get(self.first(id))
    }

    /// The struct behind a type, if it is one.
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
    /// The same where no item or value is `null`.
    pub fn without_nullable(&self) -> Self {
        match self {
            Self::Vec(inner) => Self::Vec(Box::new(inner.without_nullable())),
            Self::Map(inner) => Self::Map(Box::new(inner.without_nullable())),
            Self::Nullable(inner) => inner.without_nullable(),
            other => other.clone(),
        }
    }

    /// Of the items or values, where it has any.
    pub fn innermost(&self) -> &Self {
        match self {
            Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.innermost(),
            other => other,
        }
    }

    /// Whether a predicate holds for a part of the expression.
    pub fn any(&self, holds: &impl Fn(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) => inner.any(holds),
                _ => false,
            }
    }
}
