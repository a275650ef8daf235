//! Decodes [protobuf] bodies, which Go's clients send for built-in kinds, to the equivalent JSON.
//!
//! The fields of all types are those of [`go`](crate::go).
//!
//! [protobuf]: https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::go::types;
use crate::model::builtin::builtin;
use crate::model::{Failure, Result, group_version};
use crate::request::Call;

const MEDIA: &str = "application/vnd.kubernetes.protobuf";
const MAGIC: &[u8] = b"k8s\0";

/// Replaces a protobuf body of a call with JSON.
pub(crate) fn as_json(mut call: Call) -> Result<Call> {
    // A patch has media types of its own.
    if call.content_type == MEDIA && call.method != http::Method::PATCH {
        let object = object(&call.body).ok_or_else(|| {
            Failure::bad_request("the body is no protobuf of a kind that operator-testing knows")
        })?;
        call.body = object.to_string().into();
        call.content_type = crate::request::format::JSON.to_owned();
    }
    Ok(call)
}

/// Decodes the object in an envelope, which names its kind.
fn object(body: &[u8]) -> Option<Value> {
    let (mut identity, mut raw) = ((String::new(), String::new()), &[][..]);
    each(body.strip_prefix(MAGIC)?, |number, value| {
        match number {
            1 => each(value.bytes()?, |number, value| {
                match number {
                    1 => identity.0 = value.text()?,
                    2 => identity.1 = value.text()?,
                    _ => {}
                }
                Some(())
            })?,
            2 => raw = value.bytes()?,
            _ => {}
        }
        Some(())
    })?;
    let (api_version, kind) = identity;
    let mut object = json!({"apiVersion": api_version, "kind": kind});
    let fields = message(raw, type_name(&api_version, &kind)?)?;
    object.as_object_mut()?.extend(fields);
    Some(object)
}

/// The name of the type of a kind, including the kinds of subresources and options.
fn type_name(api_version: &str, kind: &str) -> Option<&'static str> {
    let (group, version) = group_version(api_version);
    let known = builtin().kinds.iter();
    let mut known = known.filter(|known| known.group == group && known.version == version);
    match (group, kind) {
        (_, "DeleteOptions") => Some("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"),
        ("autoscaling", "Scale") => Some("io.k8s.api.autoscaling.v1.Scale"),
        ("policy", "Eviction") => Some("io.k8s.api.policy.v1.Eviction"),
        ("authentication.k8s.io", "TokenRequest") => {
            Some("io.k8s.api.authentication.v1.TokenRequest")
        }
        _ => known.find(|known| known.kind == kind)?.type_name.as_deref(),
    }
}

/// An encoded value.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    /// An integer; negative ones are in two's complement.
    fn integer(self) -> Option<i64> {
        Some(self.number()?.cast_signed())
    }

    fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Number(_) => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    fn text(self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}

/// Calls a function for each field of a message.
fn each<'a>(mut bytes: &'a [u8], mut call: impl FnMut(u64, Wire<'a>) -> Option<()>) -> Option<()> {
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let value = match tag & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => {
                let (number, rest) = bytes.split_first_chunk()?;
                bytes = rest;
                Wire::Number(u64::from_le_bytes(*number))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (value, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                Wire::Bytes(value)
            }
            _ => return None,
        };
        call(tag >> 3, value)?;
    }
    Some(())
}

/// Reads a number of variable length.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Converts the fields of a message to JSON.
fn message(bytes: &[u8], type_name: &str) -> Option<Map<String, Value>> {
    let fields = types().get(type_name)?;
    let mut object = Map::new();
    each(bytes, |number, wire| {
        // A field of a newer version is unknown, as it is in JSON.
        let Some((name, type_)) = fields.get(&number) else {
            return Some(());
        };
        // Go writes the zero values of these fields: `!` has no `omitempty`, `?` is a pointer
        let kept = type_.starts_with(['!', '?']);
        let type_ = type_.trim_start_matches(['!', '?']);
        if let Some(item) = type_.strip_prefix("[]") {
            let list = object.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut()?.push(value(wire, item)?);
        } else if let Some(item) = type_.strip_prefix("{}") {
            let (key, value) = entry(wire, item)?;
            let map = object.entry(name).or_insert_with(|| json!({}));
            map.as_object_mut()?.insert(key, value);
        } else if name.is_empty() {
            object.extend(message(wire.bytes()?, type_)?);
        } else {
            let value = value(wire, type_)?;
            if kept || !is_zero(&value) {
                object.insert(name.clone(), value);
            }
        }
        Some(())
    })?;
    Some(object)
}

/// Decodes an entry of a map.
fn entry(wire: Wire<'_>, type_: &str) -> Option<(String, Value)> {
    let (mut key, mut item) = (String::new(), None);
    each(wire.bytes()?, |number, wire| {
        match number {
            1 => key = wire.text()?,
            _ => item = Some(value(wire, type_)?),
        }
        Some(())
    })?;
    Some((key, item.or_else(|| value(Wire::Bytes(&[]), type_))?))
}

/// Decodes a value of a type in the notation of `data/wire.json`.
fn value(wire: Wire<'_>, type_: &str) -> Option<Value> {
    Some(match type_ {
        "s" => wire.text()?.into(),
        "b" => (wire.number()? != 0).into(),
        "i" => wire.integer()?.into(),
        "d" => f64::from_bits(wire.number()?).into(),
        "y" => STANDARD.encode(wire.bytes()?).into(),
        "t" => time(wire, "%Y-%m-%dT%H:%M:%SZ")?,
        "u" => time(wire, "%Y-%m-%dT%H:%M:%S%.6fZ")?,
        "q" => member(wire, 1)?
            .map_or(Some("0".to_owned()), Wire::text)?
            .into(),
        "n" => match member(wire, 1)?.and_then(Wire::number) {
            None | Some(0) => member(wire, 2)?.map_or(Some(0), Wire::integer)?.into(),
            Some(_) => member(wire, 3)?
                .map_or(Some(String::new()), Wire::text)?
                .into(),
        },
        "r" => match member(wire, 1)? {
            Some(raw) => serde_json::from_slice(raw.bytes()?).ok()?,
            None => Value::Null,
        },
        "l" => {
            let mut items = Vec::new();
            each(wire.bytes()?, |_, item| {
                items.push(item.text()?);
                Some(())
            })?;
            items.into()
        }
        name => message(wire.bytes()?, name)?.into(),
    })
}

/// A field of a message; the last one if there are several.
fn member(wire: Wire<'_>, wanted: u64) -> Option<Option<Wire<'_>>> {
    let mut found = None;
    each(wire.bytes()?, |number, value| {
        if number == wanted {
            found = Some(value);
        }
        Some(())
    })?;
    Some(found)
}

/// Decodes a time; null if it is not set.
fn time(wire: Wire<'_>, format: &str) -> Option<Value> {
    let seconds = member(wire, 1)?.map_or(Some(0), Wire::integer)?;
    let nanos = member(wire, 2)?.map_or(Some(0), Wire::integer)?;
    if (seconds, nanos) == (0, 0) {
        return Some(Value::Null);
    }
    let time = Timestamp::new(seconds, i32::try_from(nanos).ok()?).ok()?;
    Some(time.strftime(format).to_string().into())
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodes a field with a length: its tag, its length and its content.
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap_or_default();
        [&[number << 3 | 2, length], bytes].concat()
    }

    fn config_map() -> Vec<u8> {
        let label = [field(1, b"app"), field(2, b"web")].concat();
        let metadata = [
            field(1, b"settings"),
            // Go writes zero values: an empty string, and a time that is not set
            field(2, b""),
            field(8, b""),
            field(11, &label),
        ]
        .concat();
        let binary = [field(1, b"c"), field(2, &[0])].concat();
        // `immutable` is a pointer in Go, so `false` is not the same as absent
        let raw = [field(1, &metadata), field(3, &binary), vec![4 << 3, 0]].concat();
        let identity = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
        [MAGIC.to_vec(), field(1, &identity), field(2, &raw)].concat()
    }

    #[test]
    fn a_config_map_decodes_to_its_json() {
        let expected = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings", "labels": {"app": "web"}},
            "binaryData": {"c": "AA=="},
            "immutable": false,
        });
        assert_eq!(object(&config_map()), Some(expected));
    }

    #[test]
    fn a_body_that_ends_early_is_refused() {
        let body = config_map();
        for end in 0..body.len() {
            let read = object(&body[..end]);
            assert!(read.is_none_or(|object| object["immutable"].is_null()));
        }
    }

    #[test]
    fn the_types_of_all_fields_are_known() {
        const SIMPLE: &[&str] = &["s", "b", "i", "d", "y", "t", "u", "q", "n", "r", "l"];
        for (name, fields) in types() {
            for (field, type_) in fields.values() {
                let type_ = type_
                    .trim_start_matches(['!', '?'])
                    .trim_start_matches("[]")
                    .trim_start_matches("{}");
                let is_known = SIMPLE.contains(&type_) || types().contains_key(type_);
                assert!(is_known, "{name}.{field}: {type_}");
            }
        }
    }

    #[test]
    fn every_built_in_kind_that_is_written_can_be_read() {
        for kind in builtin()
            .kinds
            .iter()
            .filter(|kind| kind.verbs.iter().any(|verb| verb == "create"))
            .filter(|kind| !JSON_ALONE.contains(&kind.group.as_str()))
        {
            let name = kind.type_name.as_deref().unwrap_or_default();
            assert!(types().contains_key(name), "{name}");
        }
    }

    /// Groups whose Go clients are generated in another repository.
    const JSON_ALONE: &[&str] = &["apiextensions.k8s.io", "apiregistration.k8s.io"];
}
