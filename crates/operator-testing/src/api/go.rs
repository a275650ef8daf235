//! What Go's types make of JSON: which zero values they leave out, and in what words they refuse a value of another type.
//!
//! The fields of all types are data, `data/wire.json`, that `tests/control-plane/wire` takes from Kubernetes' own types.

use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

use operator_schema::{Schema, SchemaOrBool};
use serde_json::Value;

use crate::api::builtin::resolve;
use crate::api::json::go_type;
use crate::api::time;

/// The fields of a type by number: the name in JSON, and the type as `tests/control-plane/wire` explains it.
pub(crate) type Fields = BTreeMap<u64, (String, String)>;

pub(crate) fn types() -> &'static HashMap<String, Fields> {
    static TYPES: OnceLock<HashMap<String, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        serde_json::from_str(include_str!("../../data/wire.json"))
            .expect("the recorded data has this form, which the tests of protobuf see")
    })
}

/// The type of a field, as the data explains it.
fn field_type(owner: &str, field: &str) -> Option<&'static str> {
    let fields = types().get(owner)?.values();
    let mut fields = fields.filter(|(name, _)| name == field);
    fields.next().map(|(_, type_)| type_.as_str())
}

/// A field of a struct as the decoder names it: after the struct within the other that it is of.
pub(crate) fn in_struct(owner: &str, field: &str) -> String {
    fn find(owner: &str, field: &str) -> Option<String> {
        let fields = types().get(owner)?;
        if fields.values().any(|(name, _)| name == field) {
            return Some(field.to_owned());
        }
        let mut within = fields.values().filter(|(name, _)| name.is_empty());
        within.find_map(|(_, type_)| {
            let name = type_.rsplit('.').next()?;
            Some(format!("{name}.{}", find(type_, field)?))
        })
    }
    find(owner, field).unwrap_or_else(|| field.to_owned())
}

/// Whether the value is a zero that Go leaves out of a struct.
pub(crate) fn omits(owner: &str, field: &str, value: &Value) -> bool {
    let is_zero = match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    };
    is_zero && matches!(field_type(owner, field), Some("s" | "b" | "i"))
}

/// A value that is not of its Go type.
pub(crate) struct Undecodable {
    /// What the decoder of JSON says of it.
    pub decoded: String,
    /// What a strategic merge patch and an apply say, which convert values.
    pub converted: String,
}

impl Undecodable {
    /// Both say the same.
    pub fn new(why: String) -> Self {
        Self {
            converted: why.clone(),
            decoded: why,
        }
    }

    /// A value that stands at `field` of the struct `owner`, where the schema wants another type.
    pub fn of(value: &Value, schema: &Schema, owner: &str, field: &str) -> Self {
        let decoded = format!(
            "json: cannot unmarshal {} into Go struct field {owner}.{field} of type {}",
            match resolve(schema).type_.as_deref() {
                Some("integer") => told(value),
                _ => go_type(value).to_owned(),
            },
            name(schema)
        );
        let target = resolve(schema);
        // These read themselves, as what they are in JSON.
        let own = match last_word(schema) {
            Some("Time" | "MicroTime") => Some("string"),
            Some("IntOrString") => Some("int32"),
            _ => None,
        };
        if let Some(own) = own {
            let found = go_type(value);
            let converted = format!("json: cannot unmarshal {found} into Go value of type {own}");
            return Self { decoded, converted };
        }
        let (kind, sort) = sort_of(value);
        let converted = match target.type_.as_deref() {
            Some("object") if target.additional_properties.is_some() => {
                format!("cannot restore map from {kind}")
            }
            Some("object") => format!("cannot restore struct from: {kind}"),
            Some("array") => format!("cannot restore slice from {kind}"),
            // Bytes are a text in JSON alone.
            Some("string") if target.format.as_deref() == Some("byte") => {
                format!("cannot restore slice from {kind}")
            }
            // Go converts numbers to each other and to texts, though not here.
            Some("integer" | "number" | "string") if is_convertible(value, target) => {
                format!("cannot convert {sort} to {}", name(schema))
            }
            _ => format!("unrecognized type: {}", name(schema)),
        };
        Self { decoded, converted }
    }
}

/// A JSON value that is no whole number of its type, in the words of the decoder.
pub(crate) fn told(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("number {number}"),
        other => go_type(other).to_owned(),
    }
}

/// The kind and the type of the Go value that holds some JSON.
fn sort_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("invalid", "nil"),
        Value::Bool(_) => ("bool", "bool"),
        Value::Number(number) if number.is_f64() => ("float64", "float64"),
        Value::Number(_) => ("int64", "int64"),
        Value::String(_) => ("string", "string"),
        Value::Array(_) => ("slice", "[]interface {}"),
        Value::Object(_) => ("map", "map[string]interface {}"),
    }
}

/// The type of the Go value that holds some JSON.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        value => sort_of(value).1,
    }
}

fn is_convertible(value: &Value, target: &Schema) -> bool {
    let is_text = target.type_.as_deref() == Some("string");
    value.is_number() && !(is_text && value.is_f64())
}

/// The whole name of a built-in type.
pub(crate) fn reference(schema: &Schema) -> Option<&str> {
    schema.unknown.get("$ref")?.as_str()
}

/// The last word of a built-in type's name.
pub(crate) fn last_word(schema: &Schema) -> Option<&str> {
    reference(schema)?.rsplit('.').next()
}

/// The name of a Go type.
fn name(schema: &Schema) -> String {
    let target = resolve(schema);
    match (target.type_.as_deref(), last_word(schema)) {
        (Some("object"), Some(name)) => format!("v1.{name}"),
        (Some("object"), None) => match &target.additional_properties {
            Some(SchemaOrBool::Schema(element)) => format!("map[string]{}", name(element)),
            _ => "map[string]interface {}".to_owned(),
        },
        (Some("array"), _) => {
            let item = target.items.as_deref().map(name);
            format!("[]{}", item.unwrap_or_default())
        }
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("integer"), _) if target.format.as_deref() == Some("int64") => "int64".to_owned(),
        (Some("integer"), _) => "int32".to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, Some("IntOrString")) => "int32".to_owned(),
        (None, _) => String::new(),
    }
}

/// How exact a time is, where Go has one.
pub(crate) fn time_form(schema: &Schema) -> Option<time::Form> {
    match last_word(schema)? {
        "Time" => Some(time::Form::Seconds),
        "MicroTime" => Some(time::Form::Micros),
        _ => None,
    }
}

/// A floating point number as Go prints it: with an exponent from a million on.
pub(crate) fn float(float: f64) -> String {
    match float.abs() {
        least if least != 0.0 && !(1e-4..1e6).contains(&least) => with_exponent(float),
        _ => float.to_string(),
    }
}

/// A floating point number in Go's JSON.
pub(crate) fn float_in_json(float: f64) -> String {
    match float.abs() {
        least if least != 0.0 && !(1e-6..1e21).contains(&least) => with_exponent(float),
        _ => float.to_string(),
    }
}

/// With an exponent of two digits or more.
fn with_exponent(float: f64) -> String {
    let text = format!("{float:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

/// A text in the JSON of managed fields, which escapes what HTML would read.
pub(crate) fn text_in_json(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                quoted += &format!("\\u{:04x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A value as Go prints it.
pub(crate) fn printed(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", printed(value)))
                .collect();
            fields.sort();
            format!("map[{}]", fields.join(" "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(printed).collect();
            format!("[{}]", items.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(float) => self::float(float),
            None => number.to_string(),
        },
        Value::Bool(value) => value.to_string(),
    }
}

/// A number without a sign, or what is wrong with it.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(number) if is_number => Ok(number),
        _ => Err(unparsed("ParseUint", text, is_number)),
    }
}

/// A number, or what is wrong with it.
pub(crate) fn parse_int(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .map_err(|_| unparsed("ParseInt", text, is_number))
}

fn unparsed(function: &str, text: &str, is_number: bool) -> String {
    let why = match is_number {
        true => "value out of range",
        false => "invalid syntax",
    };
    format!("strconv.{function}: parsing {}: {why}", quoted(text))
}

/// A text in quotes as Go has it.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\x07' => quoted += "\\a",
            '\x08' => quoted += "\\b",
            '\x0c' => quoted += "\\f",
            '\n' => quoted += "\\n",
            '\r' => quoted += "\\r",
            '\t' => quoted += "\\t",
            '\x0b' => quoted += "\\v",
            _ if is_printed(letter) => quoted.push(letter),
            '\0'..'\x7f' | '\x7f' => quoted += &format!("\\x{:02x}", u32::from(letter)),
            '\u{10000}'.. => quoted += &format!("\\U{:08x}", u32::from(letter)),
            _ => quoted += &format!("\\u{:04x}", u32::from(letter)),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a letter shows in print.
pub(crate) fn is_printed(letter: char) -> bool {
    // Rust shows what it cannot print as a number, and what is put on a letter only where there is none.
    let shown = format!("a{letter}").escape_debug().to_string();
    !letter.is_control() && (letter == ' ' || !shown.starts_with("a\\u"))
}

/// A value as it stands in Go's source.
pub(crate) fn in_source(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", in_source(value)))
                .collect();
            fields.sort();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(in_source).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        other => other.to_string(),
    }
}
