//! A form of values for people who compare two revisions of a file: one text for one value, with a line for each part of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The value with sorted keys. `1.0` and `1` are one number. A text that is a JSON object or list is indented, so that a change in it is a
/// line, too.
///
/// ```
/// use serde_json::json;
///
/// let value = json!({"b": 1.0, "a": "{\"d\":[],\"c\":1}"});
/// let form = operator_schema::reviewable(&value);
/// assert_eq!(form.to_string(), r#"{"a":"{\n  \"c\": 1,\n  \"d\": []\n}","b":1}"#);
/// ```
pub fn reviewable(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields
                .iter()
                .map(|(name, value)| (name, reviewable(value)))
                .collect();
            let fields = fields.into_iter().map(|(name, it)| (name.clone(), it));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(reviewable).collect(),
        Value::Number(number) => {
            let whole = number.as_f64().filter(|it| it.fract() == 0.0);
            let digits = whole.map(|whole| format!("{whole:.0}"));
            let whole = digits.and_then(|digits| digits.parse::<i64>().ok());
            match whole {
                Some(whole) if number.is_f64() => whole.into(),
                _ => value.clone(),
            }
        }
        Value::String(text) => match serde_json::from_str(text) {
            Ok(json @ (Value::Object(_) | Value::Array(_))) => {
                format!("{:#}", reviewable(&json)).into()
            }
            _ => value.clone(),
        },
        Value::Null | Value::Bool(_) => value.clone(),
    }
}
