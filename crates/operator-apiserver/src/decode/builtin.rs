//! Decodes objects of built-in kinds as Go does, whose types are structs.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value, json};

use super::Normalized;
use crate::go::{
    Undecodable, described, in_struct, last_word, omits, quantity, reference, time, time_precision,
};
use crate::model::builtin::{OBJECT_META, resolve};

/// The place of a value, as Go's decoder names it.
#[derive(Clone, Copy)]
pub(super) struct Location<'a> {
    /// The name of the struct of which the value is a field.
    owner: &'a str,
    /// The full name of the struct.
    type_name: &'a str,
    trail: Trail<'a>,
}

/// The path to a value, which is formatted only for errors.
#[derive(Clone, Copy)]
enum Trail<'a> {
    Root,
    /// A field of a struct of this type.
    Field(&'a Trail<'a>, &'a str, &'a str),
    /// A key of a map.
    Key(&'a Trail<'a>, &'a str),
    Item(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    /// The path without keys and indices. A field of an embedded struct follows the name of that struct: `VolumeSource.emptyDir`.
    fn fields(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, _) | Self::Item(parent, _) => parent.fields(),
            Self::Field(parent, type_name, name) => {
                below(parent.fields(), &in_struct(type_name, name))
            }
        }
    }

    /// The complete path, with keys and indices.
    fn whole(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field(parent, _, name) | Self::Key(parent, name) => below(parent.whole(), name),
            Self::Item(parent, at) => format!("{}[{at}]", parent.whole()),
        }
    }
}

fn below(path: String, name: &str) -> String {
    match path.as_str() {
        "" => name.to_owned(),
        _ => path + "." + name,
    }
}

impl<'a> Location<'a> {
    pub fn root(owner: &'a str, type_name: &'a str) -> Self {
        Self {
            owner,
            type_name,
            trail: Trail::Root,
        }
    }

    /// The location of the metadata of a custom object.
    pub fn metadata() -> Location<'static> {
        Location {
            trail: Trail::Key(&Trail::Root, "metadata"),
            ..Location::root("ObjectMeta", OBJECT_META)
        }
    }

    fn at(&self, trail: Trail<'a>) -> Self {
        Self { trail, ..*self }
    }
}

/// Decodes a value as a Go struct: null is absent, unknown fields are dropped, a wrong type is rejected.
pub(super) fn normalize_builtin(
    value: &mut Value,
    schema: &Schema,
    location: &Location<'_>,
    normalized: &mut Normalized,
) -> Result<(), Undecodable> {
    let target = resolve(schema);
    if last_word(schema) == Some("Quantity") {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if value.is_null() {
            return Ok(());
        }
        if let Some(why) = quantity::refusal(text.trim()) {
            return Err(Undecodable::new(why.to_owned()));
        }
        if let Some(canonical) = quantity::canonical(text.trim()) {
            *value = canonical.into();
        }
        return Ok(());
    }
    if last_word(schema) == Some("FieldsV1") {
        // `fieldsV1` is decoded when it is needed
        return Ok(());
    }
    let type_ = target.type_.as_deref().unwrap_or_default();
    if target.format.as_deref() == Some("byte")
        && let Some(items) = value.as_array()
    {
        *value = STANDARD.encode(bytes(items, location)?).into();
    }
    let fits = match (type_, &*value) {
        ("object", value) => value.is_object(),
        ("array", value) => value.is_array(),
        ("string", value) => value.is_string(),
        ("boolean", value) => value.is_boolean(),
        ("integer", value) if target.format.as_deref() != Some("int64") => {
            value.as_i64().is_some_and(|it| i32::try_from(it).is_ok())
        }
        ("integer", value) => value.is_i64(),
        _ if last_word(schema) == Some("IntOrString") => value.is_number() || value.is_string(),
        _ => true,
    };
    if !fits && !value.is_null() {
        return Err(Undecodable::of(
            value,
            schema,
            location.owner,
            &location.trail.fields(),
        ));
    }
    match value {
        Value::Object(fields) if type_ == "object" => {
            let location = Location {
                owner: last_word(schema).unwrap_or(location.owner),
                type_name: reference(schema).unwrap_or(location.type_name),
                ..*location
            };
            normalize_fields(fields, target, &location, normalized)
        }
        Value::Array(items) => match &target.items {
            Some(item) => items.iter_mut().enumerate().try_for_each(|(at, value)| {
                zero_item(value, item);
                normalize_builtin(
                    value,
                    item,
                    &location.at(Trail::Item(&location.trail, at)),
                    normalized,
                )
            }),
            None => Ok(()),
        },
        Value::String(text) if target.format.as_deref() == Some("byte") => match bad_base64(text) {
            Some(at) => {
                let decoded = format!("illegal base64 data at input byte {at}");
                let converted = format!("error decoding from json: {decoded}");
                Err(Undecodable { decoded, converted })
            }
            None => {
                // Go's base64 decoder ignores line ends
                text.retain(|letter| !matches!(letter, '\n' | '\r'));
                Ok(())
            }
        },
        Value::String(text) => match time_precision(schema) {
            Some(form) => {
                let time = time::canonical(text, form).map_err(Undecodable::new)?;
                *value = time.map_or(Value::Null, Value::from);
                Ok(())
            }
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Decodes bytes from a list of numbers, which Go accepts besides base64.
fn bytes(items: &[Value], location: &Location<'_>) -> Result<Vec<u8>, Undecodable> {
    let byte = |item: &Value| {
        item.as_u64().and_then(|number| u8::try_from(number).ok()).ok_or_else(|| {
            let found = described(item);
            let (owner, fields) = (location.owner, location.trail.fields());
            Undecodable::new(format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.{fields} of type uint8"
            ))
        })
    };
    items.iter().map(byte).collect()
}

/// A null in a list becomes the zero value of its items, as in Go.
fn zero_item(value: &mut Value, item: &Schema) {
    if value.is_null() {
        *value = match resolve(item).type_.as_deref() {
            Some("object") => json!({}),
            Some("string") => json!(""),
            Some("integer" | "number") => json!(0),
            Some("boolean") => json!(false),
            _ => Value::Null,
        };
    }
}

/// The position at which Go's decoder stops in invalid base64.
fn bad_base64(text: &str) -> Option<usize> {
    let is_end_of_line = |byte: u8| matches!(byte, b'\r' | b'\n');
    let mut letters = text
        .bytes()
        .enumerate()
        .filter(|(_, it)| !is_end_of_line(*it));
    let mut count = 0;
    while let Some((at, byte)) = letters.next() {
        match byte {
            b'+' | b'/' => count += 1,
            _ if byte.is_ascii_alphanumeric() => count += 1,
            b'=' if count % 4 >= 2 => {
                // after two characters, the padding has a second `=`; nothing may follow the padding
                if count % 4 == 2 {
                    match letters.next() {
                        None => return Some(text.len()),
                        Some((_, b'=')) => {}
                        Some((next, _)) => return Some(next - 1),
                    }
                }
                return letters.next().map(|(at, _)| at);
            }
            _ => return Some(at),
        }
    }
    (count % 4 != 0).then(|| text.len() - count % 4)
}

/// Decodes the fields of a struct, or the entries of a map. All are decoded before the first error is returned.
fn normalize_fields(
    fields: &mut Map<String, Value>,
    schema: &Schema,
    location: &Location<'_>,
    normalized: &mut Normalized,
) -> Result<(), Undecodable> {
    let element = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&**element),
        _ => None,
    };
    // this type is an empty struct; other object types without properties, such as RawExtension, accept any field
    let is_empty = location
        .type_name
        .ends_with(".CustomResourceSubresourceStatus");
    let is_open = schema.properties.is_empty() && element.is_none() && !is_empty;
    let mut failure = None;
    fields.retain(|name, value| {
        // Go names the field of the struct, not the key of a map in it.
        let below = location.at(match element {
            Some(_) => Trail::Key(&location.trail, name),
            None => Trail::Field(&location.trail, location.type_name, name),
        });
        let Some(property) = schema.properties.get(name).or(element) else {
            if !is_open {
                normalized.unknown.push(below.trail.whole());
            }
            return is_open;
        };
        if element.is_none() && value.is_null() {
            normalized.omits_empty = true;
            return false;
        }
        if let Some(element) = element.map(resolve)
            && value.is_null()
            && element.type_.as_deref() == Some("string")
        {
            *value = "".into();
        }
        if let Err(found) = normalize_builtin(value, property, &below, normalized) {
            failure.get_or_insert(found);
        }
        if let Some(element) = element {
            // The API server rounds a ResourceList up to thousandths. Nearly all maps of quantities are ResourceLists; the others have no
            // smaller fractions.
            if last_word(element) == Some("Quantity")
                && let Some(rounded) = value.as_str().and_then(quantity::in_thousandths)
            {
                *value = rounded.into();
            }
            return true;
        }
        if schema.required.contains(name) || !is_left_out(name, property, value) {
            return !omits(location.type_name, name, value);
        }
        normalized.omits_empty = true;
        normalized.is_reduced = true;
        false
    });
    failure.map_or(Ok(()), Err)
}

/// Whether Go omits the value: an empty list or map.
fn is_left_out(name: &str, schema: &Schema, value: &Value) -> bool {
    match value {
        // a value of any type, such as the default of a schema, stays
        Value::Array(items) => {
            items.is_empty()
                && resolve(schema).type_.as_deref() == Some("array")
                && !["rules", "managedFields"].contains(&name)
        }
        Value::Object(fields) => {
            fields.is_empty() && resolve(schema).additional_properties.is_some()
        }
        _ => false,
    }
}

/// Restores empty values that [`normalize_builtin`] has omitted.
pub(super) fn restore_empty(value: &mut Value, sent: &Value, schema: &Schema) {
    let schema = resolve(schema);
    match (value, sent) {
        (Value::Object(fields), Value::Object(sent)) => {
            for (name, sent) in sent {
                let property = schema.properties.get(name);
                let element = match &schema.additional_properties {
                    Some(SchemaOrBool::Schema(element)) => Some(&**element),
                    _ => None,
                };
                let Some(below) = property.or(element) else {
                    continue;
                };
                match fields.get_mut(name).filter(|value| !value.is_null()) {
                    Some(value) => restore_empty(value, sent, below),
                    None if property.is_some() && is_left_out(name, below, sent) => {
                        fields.insert(name.clone(), sent.clone());
                    }
                    None => {}
                }
            }
        }
        (Value::Array(items), Value::Array(sent)) if items.len() == sent.len() => {
            if let Some(schema) = &schema.items {
                items
                    .iter_mut()
                    .zip(sent)
                    .for_each(|(item, sent)| restore_empty(item, sent, schema));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::decode::builtin::bad_base64;

    #[test]
    fn base64_stops_where_go_stops() {
        for (text, at) in [
            ("", None),
            ("YQ==", None),
            ("Y\nQ==\r\n", None),
            ("YWI=", None),
            ("====", Some(0)),
            ("a==", Some(1)),
            ("YQ==YQ==", Some(4)),
            ("YQ=", Some(3)),
            ("YQ=a", Some(2)),
            ("YQ", Some(0)),
            ("YWJjYQ", Some(4)),
            ("Y Q=", Some(1)),
        ] {
            assert_eq!(bad_base64(text), at, "{text:?}");
        }
    }
}
