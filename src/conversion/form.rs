//! The form of a schema node, as far as a conversion depends on it, and the comparison of nodes.

use operator_schema::{Schema, SchemaOrBool};

/// The JSON values that a node describes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form<'a> {
    /// A value of any type.
    Any,
    /// A scalar, by its JSON type.
    Scalar(&'a str),
    /// A list, with the schema of its items.
    List(Option<&'a Schema>),
    /// A map with the schema of its values.
    Map(&'a Schema),
    /// An object with fields.
    Object,
    /// An object that keeps fields that its schema does not name.
    Open,
}

impl<'a> Form<'a> {
    pub fn of(schema: &'a Schema) -> Self {
        let keeps = schema.preserve_unknown_fields == Some(true);
        match schema.type_.as_deref() {
            _ if schema.int_or_string => Self::Scalar("integer or string"),
            Some("array") => Self::List(schema.items.as_deref()),
            Some("object") => match &schema.additional_properties {
                Some(SchemaOrBool::Schema(values)) => Self::Map(values),
                Some(SchemaOrBool::Bool(true)) => Self::Open,
                _ if keeps => Self::Open,
                _ => Self::Object,
            },
            Some(scalar) => Self::Scalar(scalar),
            None if !schema.properties.is_empty() => Self::Object,
            None => Self::Any,
        }
    }

    /// The name of the form in messages.
    pub fn name(self) -> String {
        match self {
            Self::Any => "any value".into(),
            Self::Scalar(type_) => type_.into(),
            Self::List(None) => "list".into(),
            Self::List(Some(items)) => format!("list of {}", Self::of(items).name()),
            Self::Map(values) => format!("map of {}", Self::of(values).name()),
            Self::Object => "object".into(),
            Self::Open => "object with any fields".into(),
        }
    }
}

/// Whether two nodes describe the same values, apart from bounds, patterns, defaults and rules.
pub fn is_alike(a: &Schema, b: &Schema) -> bool {
    let is_same_optional = |a: Option<&Schema>, b: Option<&Schema>| match (a, b) {
        (Some(a), Some(b)) => is_alike(a, b),
        (a, b) => a.is_none() == b.is_none(),
    };
    let is_same_form = match (Form::of(a), Form::of(b)) {
        (Form::List(a), Form::List(b)) => is_same_optional(a, b),
        (Form::Map(a), Form::Map(b)) => is_alike(a, b),
        (Form::Scalar(was), Form::Scalar(is)) => {
            was == is && a.enum_ == b.enum_ && a.format == b.format
        }
        (a, b) => a == b,
    };
    let is_field = |(name, field): (&String, &Schema)| {
        let other = b.properties.get(name);
        other.is_some_and(|other| is_alike(field, other))
    };
    is_same_form && a.properties.len() == b.properties.len() && a.properties.iter().all(is_field)
}

/// The schema without texts for humans, so that equal schemas accept equal values.
pub fn bare(schema: &Schema) -> Schema {
    let mut bare = schema.clone();
    strip(&mut bare);
    bare
}

fn strip(schema: &mut Schema) {
    schema.description = None;
    schema.title = None;
    schema.example = None;
    schema.external_docs = None;
    schema.required.sort_unstable();
    schema.properties.values_mut().for_each(strip);
    if let Some(items) = &mut schema.items {
        strip(items);
    }
    if let Some(SchemaOrBool::Schema(values)) = &mut schema.additional_properties {
        strip(values);
    }
}
