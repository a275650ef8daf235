//! Builds schemas from bytes: nested, with all keywords of a CRD, in odd combinations, and sometimes with invalid ones.

use arbitrary::{Arbitrary, Result, Unstructured};
use operator_schema::{Schema, sample};
use serde_json::{Map, Value, json};

/// The maximum depth of a schema.
const DEPTH: usize = 5;

const NAMES: [&str; 40] = [
    "a",
    "b",
    "name",
    "type",
    "self",
    "Self",
    "crate",
    "_",
    "__",
    "",
    "a-b",
    "a_b",
    "a.b",
    "aB",
    "AB",
    "Ab",
    "0",
    "9a",
    "$ref",
    "~/",
    "é",
    "名前",
    "ß",
    "ǅ",
    "\u{200b}",
    "\"",
    "\\",
    "\n",
    "match",
    "spec",
    "status",
    "metadata",
    "kind",
    "apiVersion",
    "Option",
    "default",
    "x-y_z.w/v",
    "+",
    "-",
    "conditions",
];

const WORDS: [&str; 31] = [
    "",
    "a",
    "A",
    "b",
    "On",
    "on",
    "-",
    "+",
    "=",
    "!=",
    "1",
    "1Gi",
    "v1",
    "Self",
    "self",
    "_",
    "é",
    "\u{0}",
    "\r\n",
    "*/",
    "\"#",
    "{x}",
    "None",
    "Unknown",
    "2026-01-01T00:00:00Z",
    "\\",
    "\\'",
    "\u{202e}x\u{202c}",
    "\u{2067}",
    "a b",
    "null",
];

const FORMATS: [&str; 16] = [
    "int32",
    "int64",
    "float",
    "double",
    "byte",
    "date",
    "date-time",
    "duration",
    "uuid",
    "ipv4",
    "cidr",
    "quantity",
    "int-or-string",
    "hostname",
    "password",
    "odd",
];

const PATTERNS: [&str; 14] = [
    "^a+$",
    "^[a-z]([-a-z0-9]*[a-z0-9])?$",
    "(",
    "[",
    "a{2,1}",
    "(?=a)b",
    "\\d{3}",
    "^$",
    "",
    "^\\p{L}+$",
    "(?i)on|off",
    "x*",
    "\\",
    "a{1000}",
];

const RULES: [&str; 22] = [
    "true",
    "false",
    "self",
    "self == oldSelf",
    "has(self.a)",
    "!has(self.a) || self.a != ''",
    "self.a == 1",
    "size(self) < 5",
    "self.all(x, x > 0)",
    "self.exists(x, x == 'a')",
    "self.name.matches('^a')",
    "self.matches('(')",
    "quantity(self).isGreaterThan(quantity('1'))",
    "oldSelf.hasValue() || true",
    "self.startsWith(",
    "1 / 0 == 1",
    "self.metadata.name == 'a'",
    "[1, 2].map(x, x * 9223372036854775807)[1] > 0",
    "self.__dollar__ref == ''",
    "url(self).getHost() == ''",
    "duration(self) > duration('1s')",
    "'%d'.format([self]) == '1'",
];

/// The root of a version.
pub fn root(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = object(bytes, DEPTH)?;
    for name in ["spec", "status"] {
        if !one_in(bytes, 3)? {
            schema["properties"][name] = if one_in(bytes, 5)? {
                node(bytes, DEPTH - 1)?
            } else {
                object(bytes, DEPTH - 1)?
            };
        }
    }
    add_keywords(bytes, &mut schema, DEPTH)?;
    Ok(schema)
}

fn node(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let last = if depth == 0 { 7 } else { 14 };
    let mut schema = match bytes.int_in_range(0..=last)? {
        0 => json!({"type": "string"}),
        1 => json!({"type": "string", "enum": words(bytes)?}),
        2 => text(bytes)?,
        3 | 4 => number(bytes)?,
        5 => json!({"type": "boolean"}),
        6 => json!({"x-kubernetes-preserve-unknown-fields": true}),
        7 => json!({}),
        8 | 9 => object(bytes, depth)?,
        10 => json!({"type": "object", "additionalProperties": node(bytes, depth - 1)?}),
        11 => list(bytes, depth)?,
        12 => int_or_string(bytes)?,
        13 => {
            let mut schema = object(bytes, depth)?;
            schema["x-kubernetes-embedded-resource"] = json!(true);
            schema
        }
        _ => condition(bytes)?,
    };
    add_keywords(bytes, &mut schema, depth)?;
    Ok(schema)
}

fn object(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let (mut properties, mut required) = (Map::new(), vec![]);
    for _ in 0..bytes.int_in_range(0..=4)? {
        let name = name(bytes)?;
        if one_in(bytes, 3)? {
            required.push(name.clone());
        }
        properties.insert(name, node(bytes, depth.saturating_sub(1))?);
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if one_in(bytes, 6)? {
        schema["x-kubernetes-preserve-unknown-fields"] = json!(true);
    }
    Ok(schema)
}

fn list(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let mut schema = json!({"type": "array", "items": node(bytes, depth - 1)?});
    match bytes.int_in_range(0..=5)? {
        0 => schema["x-kubernetes-list-type"] = json!("set"),
        1 => {
            schema["x-kubernetes-list-type"] = json!("map");
            schema["x-kubernetes-list-map-keys"] = json!([name(bytes)?]);
        }
        2 => schema["minItems"] = bytes.int_in_range(-1..=3)?.into(),
        3 => schema["maxItems"] = bytes.int_in_range(-1..=3)?.into(),
        4 => schema["uniqueItems"] = json!(true),
        _ => {}
    }
    Ok(schema)
}

fn text(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = json!({"type": "string"});
    if bytes.arbitrary()? {
        schema["pattern"] = (*bytes.choose(&PATTERNS)?).into();
    }
    if bytes.arbitrary()? {
        schema["format"] = (*bytes.choose(&FORMATS)?).into();
    }
    for bound in ["minLength", "maxLength"] {
        if one_in(bytes, 3)? {
            schema[bound] = bytes.int_in_range(-1..=9)?.into();
        }
    }
    Ok(schema)
}

fn number(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = json!({"type": bytes.choose(&["integer", "number"])?});
    if bytes.arbitrary()? {
        schema["format"] = (*bytes.choose(&FORMATS)?).into();
    }
    for bound in ["minimum", "maximum", "multipleOf"] {
        if one_in(bytes, 3)? {
            schema[bound] = quantity(bytes)?;
        }
    }
    for exclusive in ["exclusiveMinimum", "exclusiveMaximum"] {
        if one_in(bytes, 6)? {
            schema[exclusive] = json!(true);
        }
    }
    Ok(schema)
}

fn int_or_string(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = json!({"x-kubernetes-int-or-string": true});
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    match bytes.int_in_range(0..=2)? {
        0 => {}
        1 => schema["anyOf"] = either,
        _ => schema["allOf"] = json!([{"anyOf": either}, {"pattern": bytes.choose(&PATTERNS)?}]),
    }
    Ok(schema)
}

/// The schema of `metav1.Condition`, sometimes with another field.
fn condition(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut schema = json!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": {"type": "string", "format": "date-time"},
            "message": {"type": "string", "maxLength": 32768},
            "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
            "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
            "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
            "type": {"type": "string", "maxLength": 316},
        },
    });
    if bytes.arbitrary()? {
        schema["properties"][name(bytes)?] = node(bytes, 0)?;
    }
    Ok(schema)
}

/// Adds keywords that any schema may have.
fn add_keywords(bytes: &mut Unstructured<'_>, schema: &mut Value, depth: usize) -> Result<()> {
    if one_in(bytes, 5)? {
        schema["description"] = string(bytes)?.into();
    }
    if one_in(bytes, 6)? {
        schema["nullable"] = json!(true);
    }
    if one_in(bytes, 6)? {
        schema["x-kubernetes-validations"] = rules(bytes)?;
    }
    if one_in(bytes, 6)? {
        union(bytes, schema, depth)?;
    }
    if one_in(bytes, 12)? {
        schema["enum"] = Value::from_iter(vec![value(bytes, 1)?, value(bytes, 1)?]);
    }
    if one_in(bytes, 12)? {
        let junk = [
            "type",
            "format",
            "x-kubernetes-list-type",
            "x-kubernetes-map-type",
            "items",
            "additionalProperties",
            "$ref",
            "title",
            "not",
            "externalDocs",
        ];
        schema[*bytes.choose(&junk)?] = value(bytes, 2)?;
    }
    if one_in(bytes, 4)? {
        let valid = serde_json::from_value::<Schema>(schema.clone())
            .ok()
            .and_then(|schema| sample(&schema).ok());
        schema["default"] = match valid {
            Some(valid) if !one_in(bytes, 4)? => valid,
            _ => value(bytes, 2)?,
        };
    }
    Ok(())
}

fn rules(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let mut rules = vec![];
    for _ in 0..bytes.int_in_range(1..=2)? {
        let rule = if one_in(bytes, 10)? {
            String::arbitrary(bytes)?
        } else {
            (*bytes.choose(&RULES)?).to_owned()
        };
        let mut rule = json!({"rule": rule});
        match bytes.int_in_range(0..=4)? {
            0 => rule["message"] = string(bytes)?.into(),
            1 => rule["messageExpression"] = (*bytes.choose(&RULES)?).into(),
            2 => rule["optionalOldSelf"] = json!(true),
            3 => rule["fieldPath"] = format!(".{}", name(bytes)?).into(),
            _ => {}
        }
        rules.push(rule);
    }
    Ok(rules.into())
}

fn union(bytes: &mut Unstructured<'_>, schema: &mut Value, depth: usize) -> Result<()> {
    let keyword = *bytes.choose(&["oneOf", "anyOf", "allOf", "not"])?;
    let branch = |bytes: &mut Unstructured<'_>| -> Result<Value> {
        let name = name(bytes)?;
        Ok(match bytes.int_in_range(0..=4)? {
            0 => json!({"required": [name]}),
            1 => json!({"properties": {name: {"enum": words(bytes)?}}}),
            2 => json!({"not": {"required": [name]}}),
            3 if depth > 0 => node(bytes, depth - 1)?,
            _ => json!({"type": bytes.choose(&["string", "integer", "object"])?}),
        })
    };
    schema[keyword] = if keyword == "not" {
        branch(bytes)?
    } else {
        Value::from_iter(vec![branch(bytes)?, branch(bytes)?])
    };
    Ok(())
}

/// Any JSON.
pub fn value(bytes: &mut Unstructured<'_>, depth: usize) -> Result<Value> {
    let last = if depth == 0 { 4 } else { 6 };
    Ok(match bytes.int_in_range(0..=last)? {
        0 => Value::Null,
        1 => bool::arbitrary(bytes)?.into(),
        2 => quantity(bytes)?,
        3 | 4 => string(bytes)?.into(),
        5 => {
            let count = bytes.int_in_range(0..=3)?;
            (0..count)
                .map(|_| value(bytes, depth - 1))
                .collect::<Result<Value>>()?
        }
        _ => {
            let mut map = Map::new();
            for _ in 0..bytes.int_in_range(0..=3)? {
                map.insert(name(bytes)?, value(bytes, depth - 1)?);
            }
            map.into()
        }
    })
}

fn quantity(bytes: &mut Unstructured<'_>) -> Result<Value> {
    Ok(match bytes.int_in_range(0..=4)? {
        0 => bytes.int_in_range(-3..=20)?.into(),
        1 => i64::arbitrary(bytes)?.into(),
        2 => (*bytes.choose(&[i64::MIN, i64::MAX, i64::from(i32::MAX) + 1])?).into(),
        3 => json!(bytes.choose(&[0.1, -0.0, 1e20, 1e308, 5e-324, 9007199254740993.0])?),
        _ => json!(f64::arbitrary(bytes)?),
    })
}

fn words(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let count = bytes.int_in_range(0..=4)?;
    (0..count).map(|_| string(bytes).map(Value::from)).collect()
}

fn name(bytes: &mut Unstructured<'_>) -> Result<String> {
    Ok(if one_in(bytes, 20)? {
        String::arbitrary(bytes)?
    } else {
        (*bytes.choose(&NAMES)?).to_owned()
    })
}

fn string(bytes: &mut Unstructured<'_>) -> Result<String> {
    Ok(if one_in(bytes, 6)? {
        String::arbitrary(bytes)?
    } else {
        (*bytes.choose(&WORDS)?).to_owned()
    })
}

/// True once in about `many` calls; never after the bytes have run out.
fn one_in(bytes: &mut Unstructured<'_>, many: u8) -> Result<bool> {
    Ok(bytes.int_in_range(1..=many)? == many)
}
