//! From a request's body to an object of its kind: type checks, pruning and defaults, as the API server's decoder does them.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value};

use super::builtin::{OBJECT_META, builtin, resolve};
use super::go::{Undecodable, bad_time, is_pointer, last_word, omits, reference};
use super::json::go_type;
use super::kind::{Custom, Kind};
use super::quantity;
use super::status::{Cause, Failure, Result};

/// Checks that a body is of the kind that the path says, and fills in what is absent of that.
pub(crate) fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    let Some(fields) = object.as_object_mut() else {
        return Err(Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string; Kind string }}",
            go_type(object)
        )));
    };
    for (field, expected, what) in [
        ("apiVersion", kind.api_version(), "API version"),
        ("kind", kind.kind.clone(), "kind"),
    ] {
        match fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
        {
            "" if kind.custom.is_some() && field == "kind" => {
                return Err(Failure::bad_request("Object 'Kind' is missing in the body"));
            }
            "" if kind.custom.is_some() => {
                let text = format!(
                    "the {what} in the data () does not match the expected {what} ({expected})"
                );
                return Err(Failure::bad_request(text));
            }
            "" => {
                fields.shift_remove(field);
                fields.shift_insert(0, field.into(), expected.into());
            }
            found if found == expected => {}
            found if kind.custom.is_some() && field == "kind" => {
                let text = format!("Invalid value: {found:?}: must be {expected}");
                let named = Kind {
                    kind: found.to_owned(),
                    ..kind.clone()
                };
                let name = fields
                    .get("metadata")
                    .and_then(|metadata| metadata["name"].as_str());
                let name = name.unwrap_or_default();
                return Err(Failure::invalid(
                    &named,
                    name,
                    vec![Cause::invalid("kind", text)],
                ));
            }
            found if kind.custom.is_none() && !is_built_in(fields, found, field) => {
                let part =
                    |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
                let (kind_found, version) = (part("kind"), part("apiVersion"));
                let kind_found = match kind_found {
                    "" => kind.kind.as_str(),
                    found => found,
                };
                let text = format!(
                    "{kind_found} in version {version:?} cannot be handled as a {}: no kind {kind_found:?} is registered for version {version:?} in scheme \"pkg/runtime/scheme.go:111\"",
                    kind.kind
                );
                return Err(Failure::bad_request(text));
            }
            found if kind.custom.is_none() && field == "kind" => {
                let text = format!(
                    "{found} in version {:?} cannot be handled as a {expected}: converting ({}.{found}) to ({}.{expected}): unknown conversion",
                    kind.version,
                    kind.version,
                    go_package(kind),
                );
                return Err(Failure::bad_request(text));
            }
            found => {
                let text = format!(
                    "the {what} in the data ({found}) does not match the expected {what} ({expected})"
                );
                return Err(Failure::bad_request(text));
            }
        }
    }
    Ok(())
}

/// Whether a kind or version of another object is one that the server has built in.
fn is_built_in(fields: &Map<String, Value>, found: &str, field: &str) -> bool {
    let part = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let version = part("apiVersion");
    let mut kinds = builtin().kinds.iter();
    field == "kind"
        && kinds
            .any(|kind| kind.kind == found && (version.is_empty() || kind.api_version() == version))
}

/// Brings an object into the form that is stored: unknown fields dropped, defaults filled in. Reports the paths that were dropped.
pub(crate) fn settle(kind: &Kind, object: &mut Value) -> Result<Vec<String>, Undecodable> {
    let mut dropped = Vec::new();
    if let (Some(_), Some(metadata), Some(type_)) = (
        &kind.custom,
        object.get_mut("metadata"),
        builtin().types.get(OBJECT_META),
    ) {
        if !metadata.is_object() && !metadata.is_null() {
            return Err(Undecodable::new(format!(
                "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
                go_type(metadata)
            )));
        }
        let place = Place {
            shown: "metadata".into(),
            ..Place::root("ObjectMeta", OBJECT_META)
        };
        settle_builtin(metadata, type_, &place, &mut dropped)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            round(object);
            dropped.extend(operator_schema::prune(&custom.schema, object));
            operator_schema::apply_defaults(&custom.schema, object);
        }
        (None, Some(name)) => {
            if let Some(type_) = builtin().types.get(name) {
                settle_builtin(object, type_, &Place::root(&kind.kind, name), &mut dropped)?;
                super::zero::fill_object(name, type_, object);
            }
            super::defaults::fill(kind, object);
        }
        (None, None) => {}
    }
    Ok(dropped)
}

/// A stored custom object as a schema has it: pruned, with defaults.
pub(crate) fn conform(custom: &Custom, object: &mut Value) {
    operator_schema::prune(&custom.schema, object);
    operator_schema::apply_defaults(&custom.schema, object);
}

/// Go writes a whole number without a fraction.
fn round(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        Value::Number(number) => {
            const EXACT: f64 = 9_007_199_254_740_992.0;
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() < EXACT) {
                *value = (whole as i64).into();
            }
        }
        _ => {}
    }
}

/// Puts back the nulls of a patched custom object, which only the decoder of whole objects drops.
pub(crate) fn keep_nulls(sent: &Value, object: &mut Value) {
    match (sent, object) {
        (Value::Object(sent), Value::Object(object)) => {
            for (name, sent) in sent.iter().filter(|(name, _)| *name != "metadata") {
                match object.get_mut(name) {
                    Some(value) => keep_nulls(sent, value),
                    None if sent.is_null() => drop(object.insert(name.clone(), Value::Null)),
                    None => {}
                }
            }
        }
        (Value::Array(sent), Value::Array(object)) if sent.len() == object.len() => {
            sent.iter()
                .zip(object)
                .for_each(|(sent, value)| keep_nulls(sent, value));
        }
        _ => {}
    }
}

/// Where a value is, as Go's decoder names it.
#[derive(Clone)]
struct Place<'a> {
    /// The struct that the value is a field of.
    owner: &'a str,
    /// Its whole name.
    type_name: &'a str,
    /// The fields down to it, without indices.
    fields: String,
    /// The same, with them.
    shown: String,
}

impl<'a> Place<'a> {
    fn root(owner: &'a str, type_name: &'a str) -> Self {
        let (fields, shown) = Default::default();
        Self {
            owner,
            type_name,
            fields,
            shown,
        }
    }

    fn field(&self, name: &str) -> Self {
        let below = |path: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self {
            fields: below(&self.fields),
            shown: below(&self.shown),
            ..*self
        }
    }

    fn item(&self, at: usize) -> Self {
        Self {
            shown: format!("{}[{at}]", self.shown),
            ..self.clone()
        }
    }
}

/// A built-in kind is a Go struct: null is absent, unknown fields are dropped, a wrong type is refused.
fn settle_builtin(
    value: &mut Value,
    schema: &Schema,
    place: &Place<'_>,
    dropped: &mut Vec<String>,
) -> Result<(), Undecodable> {
    let target = resolve(schema);
    if last_word(schema) == Some("Quantity") {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        if let Some(canonical) = quantity::canonical(&text) {
            *value = canonical.into();
        }
        return Ok(());
    }
    let type_ = target.type_.as_deref().unwrap_or_default();
    let fits = match (type_, &*value) {
        ("object", value) => value.is_object(),
        ("array", value) => value.is_array(),
        ("string", value) => value.is_string(),
        ("boolean", value) => value.is_boolean(),
        ("integer", value) => value.is_i64() || value.is_u64(),
        _ => true,
    };
    if !fits && !value.is_null() {
        let field = place.fields.rsplit('.').next().unwrap_or_default();
        let is_pointer = is_pointer(place.type_name, field);
        return Err(Undecodable::of(
            value,
            schema,
            place.owner,
            &place.fields,
            is_pointer,
        ));
    }
    match value {
        Value::Object(fields) if type_ == "object" => {
            let place = Place {
                owner: last_word(schema).unwrap_or(place.owner),
                type_name: reference(schema).unwrap_or(place.type_name),
                ..place.clone()
            };
            settle_fields(fields, target, &place, dropped)
        }
        Value::Array(items) => match &target.items {
            Some(item) => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(at, value)| settle_builtin(value, item, &place.item(at), dropped)),
            None => Ok(()),
        },
        Value::String(text) if target.format.as_deref() == Some("byte") => match bad_base64(text) {
            Some(at) => {
                let decoded = format!("illegal base64 data at input byte {at}");
                let converted = format!("error decoding from json: {decoded}");
                Err(Undecodable { decoded, converted })
            }
            None => Ok(()),
        },
        Value::String(text) => match bad_time(schema, text) {
            Some(why) => Err(Undecodable::new(why)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Where a text stops being base64.
fn bad_base64(text: &str) -> Option<usize> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let bad = text.bytes().position(|byte| !is_letter(byte));
    bad.or_else(|| (!text.len().is_multiple_of(4)).then(|| text.len() / 4 * 4))
}

fn settle_fields(
    fields: &mut Map<String, Value>,
    schema: &Schema,
    place: &Place<'_>,
    dropped: &mut Vec<String>,
) -> Result<(), Undecodable> {
    let element = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&**element),
        _ => None,
    };
    let is_open = schema.properties.is_empty() && element.is_none();
    let mut failure = None;
    fields.retain(|name, value| {
        let below = place.field(name);
        let Some(property) = schema.properties.get(name).or(element) else {
            if !is_open {
                dropped.push(below.shown);
            }
            return is_open;
        };
        if element.is_none() && value.is_null() {
            return false;
        }
        if value.is_null()
            && element.is_some_and(|it| resolve(it).type_.as_deref() == Some("string"))
        {
            *value = "".into();
        }
        // Go names the field of the struct, not the key of a map in it.
        let below = match element {
            Some(_) => Place {
                shown: below.shown,
                ..place.clone()
            },
            None => below,
        };
        if let Err(found) = settle_builtin(value, property, &below, dropped) {
            failure.get_or_insert(found);
        }
        element.is_some()
            || !omits(place.type_name, name, value)
                && (schema.required.contains(name) || !is_left_out(name, property, value))
    });
    failure.map_or(Ok(()), Err)
}

/// Whether Go leaves the value out: an empty list or map.
fn is_left_out(name: &str, schema: &Schema, value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty() && !["rules", "managedFields"].contains(&name),
        Value::Object(fields) => {
            fields.is_empty() && resolve(schema).additional_properties.is_some()
        }
        _ => false,
    }
}

/// The name of the Go package of a built-in kind's internal type.
fn go_package(kind: &Kind) -> &str {
    match kind.group.as_str() {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}
