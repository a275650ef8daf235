//! From a request's body to an object of its kind: type checks, pruning and defaults, as the API server's decoder does them.

use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value, json};

use super::builtin::{OBJECT_META, builtin, resolve};
use super::go::{Undecodable, bad_time, last_word, omits, reference};
use super::json::go_type;
use super::kind::{Custom, Kind, group_version};
use super::quantity;
use super::status::{Cause, Failure, Result};
use super::{defaults, metadata};

/// An object of another kind than a built-in one that is expected.
pub(crate) struct Misfit {
    kind: String,
    version: String,
    /// What the decoder says of it.
    pub why: String,
}

/// What a body is that should be of a built-in kind. What it does not say is no misfit.
pub(crate) fn misfit(kind: &Kind, object: &Value) -> Option<Misfit> {
    let part = |name: &str, expected: String| match object[name].as_str().unwrap_or_default() {
        "" => expected,
        found => found.to_owned(),
    };
    let api_version = part("apiVersion", kind.api_version());
    let found = part("kind", kind.kind.clone());
    if kind.custom.is_some() || api_version == kind.api_version() && found == kind.kind {
        return None;
    }
    let version = group_version(&api_version).1;
    let mut kinds = builtin().kinds.iter();
    let is_known = kinds.any(|it| it.kind == found && it.api_version() == api_version);
    let why = match is_known {
        true => format!(
            "converting ({version}.{found}) to ({}.{}): unknown conversion",
            go_package(kind),
            kind.kind
        ),
        false => format!(
            "no kind {found:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        ),
    };
    Some(Misfit {
        version: version.to_owned(),
        kind: found,
        why,
    })
}

/// Gives an object the name of its kind.
pub(crate) fn name(kind: &Kind, object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        for (field, value) in [
            ("kind", kind.kind.clone()),
            ("apiVersion", kind.api_version()),
        ] {
            fields.shift_remove(field);
            fields.shift_insert(0, field.into(), value.into());
        }
    }
}

/// Checks that a body is of the kind that the path says, and fills in what is absent of that.
pub(crate) fn identify(kind: &Kind, object: &mut Value) -> Result<()> {
    if !object.is_object() {
        return Err(Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string; Kind string }}",
            go_type(object)
        )));
    }
    if let Some(Misfit {
        kind: found,
        version,
        why,
    }) = misfit(kind, object)
    {
        return Err(Failure::bad_request(format!(
            "{found} in version {version:?} cannot be handled as a {}: {why}",
            kind.kind
        )));
    }
    if kind.custom.is_some() {
        return identify_custom(kind, object);
    }
    name(kind, object);
    Ok(())
}

fn identify_custom(kind: &Kind, object: &Value) -> Result<()> {
    let found = |field: &str| object[field].as_str().unwrap_or_default();
    let (version, expected) = (found("apiVersion"), kind.api_version());
    if version != expected {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    match found("kind") {
        "" => Err(Failure::bad_request("Object 'Kind' is missing in the body")),
        found if found != kind.kind => {
            let text = format!("Invalid value: {found:?}: must be {}", kind.kind);
            let named = Kind {
                kind: found.to_owned(),
                ..kind.clone()
            };
            let causes = vec![Cause::invalid("kind", text)];
            Err(Failure::invalid(&named, metadata::name(object), causes))
        }
        _ => Ok(()),
    }
}

/// What is lost of an object when it is brought into its form.
#[derive(Default)]
pub(crate) struct Settled {
    /// The paths of unknown fields.
    pub unknown: Vec<String>,
    pub lost: Lost,
    /// Whether the object is stored as JSON, with all that this can say.
    is_json: bool,
}

/// What is not stored of an object as it was sent.
#[derive(Default)]
pub(crate) struct Lost {
    /// What is validated all the same, and where it was: empty maps and lists, and whole numbers with a point.
    pub validated: Vec<(String, Value)>,
    /// Whether the real server stores more, which nobody reads: empty maps and nulls in the metadata of custom objects, bytes that are
    /// null. The next write takes it away, and so is one even if it changes nothing else.
    pub is_untidy: bool,
}

/// Brings an object into the form that is stored: unknown fields dropped, defaults filled in.
pub(crate) fn settle(kind: &Kind, object: &mut Value) -> Result<Settled, Undecodable> {
    let mut settled = Settled {
        is_json: kind.custom.is_some(),
        ..Settled::default()
    };
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
        settle_builtin(metadata, type_, &place, &mut settled)?;
    }
    match (&kind.custom, &kind.type_name) {
        (Some(custom), _) => {
            round(object, "", &mut settled.lost.validated);
            check_embedded(&custom.schema, object, "")?;
            settled
                .unknown
                .extend(operator_schema::prune(&custom.schema, object));
            operator_schema::apply_defaults(&custom.schema, object);
        }
        (None, Some(name)) => {
            if let Some(type_) = builtin().types.get(name) {
                settle_builtin(object, type_, &Place::root(&kind.kind, name), &mut settled)?;
                super::zero::fill_object(name, type_, object);
            }
            super::defaults::fill(kind, object);
        }
        (None, None) => {}
    }
    Ok(settled)
}

/// An object in another one says of what kind it is in texts.
fn check_embedded(schema: &Schema, value: &Value, path: &str) -> Result<(), Undecodable> {
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    match value {
        Value::Object(fields) => {
            for name in ["apiVersion", "kind"] {
                if schema.embedded_resource
                    && let Some(value) = fields.get(name).filter(|it| !it.is_string())
                {
                    let path = below(name);
                    let why = format!("{path}: Invalid value: {value}: must be a string");
                    return Err(Undecodable::new(why));
                }
            }
            let element = match &schema.additional_properties {
                Some(SchemaOrBool::Schema(element)) => Some(&**element),
                _ => None,
            };
            fields.iter().try_for_each(|(name, value)| {
                match schema.properties.get(name).or(element) {
                    Some(schema) => check_embedded(schema, value, &below(name)),
                    None => Ok(()),
                }
            })
        }
        Value::Array(items) => match &schema.items {
            Some(schema) => items
                .iter()
                .enumerate()
                .try_for_each(|(at, item)| check_embedded(schema, item, &format!("{path}[{at}]"))),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// A stored custom object as a schema has it: pruned, with defaults.
pub(crate) fn conform(custom: &Custom, object: &mut Value) {
    operator_schema::prune(&custom.schema, object);
    operator_schema::apply_defaults(&custom.schema, object);
}

/// Go writes a whole number without a fraction.
fn round(value: &mut Value, path: &str, lost: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            items.for_each(|(at, item)| round(item, &format!("{path}[{at}]"), lost));
        }
        Value::Object(fields) => {
            let below = |name: &str| match path {
                "" => name.to_owned(),
                path => format!("{path}.{name}"),
            };
            let fields = fields.iter_mut();
            fields.for_each(|(name, value)| round(value, &below(name), lost));
        }
        Value::Number(number) => {
            const EXACT: f64 = 9_007_199_254_740_992.0;
            let whole = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0);
            if let Some(whole) = whole.filter(|whole| whole.abs() < EXACT) {
                lost.push((path.to_owned(), value.clone()));
                *value = (whole as i64).into();
            }
        }
        _ => {}
    }
}

/// Puts back the nulls of an applied custom object, which only a decoder drops.
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
    settled: &mut Settled,
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
    if target.format.as_deref() == Some("byte")
        && let Some(items) = value.as_array()
    {
        *value = defaults::base64(&bytes(items, place)?).into();
    }
    let fits = match (type_, &*value) {
        ("object", value) => value.is_object(),
        ("array", value) => value.is_array(),
        ("string", value) => value.is_string(),
        ("boolean", value) => value.is_boolean(),
        ("integer", value) => value.is_i64() || value.is_u64(),
        _ if last_word(schema) == Some("IntOrString") => value.is_number() || value.is_string(),
        _ => true,
    };
    if !fits && !value.is_null() {
        return Err(Undecodable::of(value, schema, place.owner, &place.fields));
    }
    match value {
        Value::Object(fields) if type_ == "object" => {
            let place = Place {
                owner: last_word(schema).unwrap_or(place.owner),
                type_name: reference(schema).unwrap_or(place.type_name),
                ..place.clone()
            };
            settle_fields(fields, target, &place, settled)
        }
        Value::Array(items) => match &target.items {
            Some(item) => items.iter_mut().enumerate().try_for_each(|(at, value)| {
                zero_item(value, item);
                settle_builtin(value, item, &place.item(at), settled)
            }),
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

/// Go's bytes may be written as numbers, too.
fn bytes(items: &[Value], place: &Place<'_>) -> Result<Vec<u8>, Undecodable> {
    let byte = |item: &Value| {
        let byte = item.as_u64().and_then(|number| u8::try_from(number).ok());
        byte.ok_or_else(|| {
            let found = match item {
                Value::Number(number) => format!("number {number}"),
                other => go_type(other).to_owned(),
            };
            let Place { owner, fields, .. } = place;
            Undecodable::new(format!(
                "json: cannot unmarshal {found} into Go struct field {owner}.{fields} of type uint8"
            ))
        })
    };
    items.iter().map(byte).collect()
}

/// What Go makes of a null in a list: the zero of its items.
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
    settled: &mut Settled,
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
                settled.unknown.push(below.shown);
            }
            return is_open;
        };
        if element.is_none() && value.is_null() {
            settled.lost.is_untidy |= settled.is_json;
            return false;
        }
        if let Some(element) = element.map(resolve)
            && value.is_null()
            && element.type_.as_deref() == Some("string")
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
        if let Err(found) = settle_builtin(value, property, &below, settled) {
            failure.get_or_insert(found);
        }
        if element.is_some() {
            return true;
        }
        if schema.required.contains(name) || !is_left_out(name, property, value) {
            return !omits(place.type_name, name, value);
        }
        settled.lost.is_untidy |= settled.is_json;
        settled.lost.validated.push((below.shown, value.clone()));
        false
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
