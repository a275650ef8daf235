//! Writes values as YAML for people who compare two revisions of a file: one text for one value, with a line for each part of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The YAML of a value, with sorted keys. A text that is a JSON object or list is indented, so that a change in it is a line, too.
pub fn yaml(value: &Value) -> String {
    lines(&sorted(value)).join("\n") + "\n"
}

/// The value with sorted keys, also in the JSON of its texts. `1.0` and `1` are one number.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> = fields
                .iter()
                .map(|(name, value)| (name, sorted(value)))
                .collect();
            let fields = fields.into_iter().map(|(name, it)| (name.clone(), it));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
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
                format!("{:#}", sorted(&json)).into()
            }
            _ => value.clone(),
        },
        Value::Null | Value::Bool(_) => value.clone(),
    }
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let fields = fields.iter().flat_map(|(name, value)| {
                let (name, mut below) = (scalar(name), lines(value));
                match value {
                    Value::Object(fields) if !fields.is_empty() => {
                        below.iter_mut().for_each(|line| indent(line, "  "));
                        below.insert(0, format!("{name}:"));
                    }
                    Value::Array(items) if !items.is_empty() => {
                        below.insert(0, format!("{name}:"));
                    }
                    _ => below[0] = format!("{name}: {}", below[0]),
                }
                below
            });
            fields.collect()
        }
        Value::Array(items) if !items.is_empty() => {
            let items = items.iter().flat_map(|item| {
                let mut item = lines(item);
                for (index, line) in item.iter_mut().enumerate() {
                    indent(line, if index == 0 { "- " } else { "  " });
                }
                item
            });
            items.collect()
        }
        Value::String(text) if text.contains('\n') && is_block(text) => {
            let (text, head) = match text.strip_suffix('\n') {
                Some(text) => (text, "|"),
                None => (text.as_str(), "|-"),
            };
            let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
            lines.iter_mut().for_each(|line| indent(line, "  "));
            lines.insert(0, head.to_owned());
            lines
        }
        Value::String(text) => vec![scalar(text)],
        value => vec![value.to_string()],
    }
}

/// An empty line stays empty.
fn indent(line: &mut String, prefix: &str) {
    if !line.is_empty() {
        line.insert_str(0, prefix);
    }
}

/// Whether a text keeps its characters in a block: its first line has no indentation, and its end is not empty.
fn is_block(text: &str) -> bool {
    let is_printed =
        |char: char| char == '\n' || !char.is_control() && !char.is_whitespace() || char == ' ';
    let is_odd = |char: char| matches!(char, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !text.starts_with([' ', '\n'])
        && !text.ends_with("\n\n")
        && text.chars().all(|char| is_printed(char) && !is_odd(char))
}

/// A text on one line: bare if no reader takes it for another type, else as in JSON.
fn scalar(text: &str) -> String {
    const OTHER_TYPES: [&str; 11] = [
        "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan",
    ];
    let is_word = |char: char| char.is_ascii_alphanumeric() || "-_./:".contains(char);
    let is_bare = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && !text.ends_with(':')
        && text.chars().all(is_word)
        && !OTHER_TYPES.contains(&text.to_ascii_lowercase().as_str());
    if is_bare {
        text.to_owned()
    } else {
        Value::from(text).to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_the_value_is_a_line() {
        let value = json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "data": {"a.json": "{\"b\": [1.0, 1.5], \"a\": {}}", "script": "a\n\n  b\n", "on": "off", "url": "https://a:80/b"},
            "items": [{"b": 2, "a": [[], {}]}, "x\ny", [1, null]],
        });
        let expected = r#"apiVersion: v1
data:
  a.json: |-
    {
      "a": {},
      "b": [
        1,
        1.5
      ]
    }
  "on": "off"
  script: |
    a

      b
  url: https://a:80/b
items:
- a:
  - []
  - {}
  b: 2
- |-
    x
    y
- - 1
  - null
kind: ConfigMap
"#;
        assert_eq!(yaml(&value), expected);
    }

    fn values() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~\n]{0,8}",
            "\\PC{0,4}",
            "(yes|1e3|~|a: b|- a|#|\t|0x1|\n\n)"
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            // no JSON, whose layout changes
            text.prop_map(|text| Value::from(text.replace(['[', '{'], "(")))
        ];
        leaf.prop_recursive(3, 16, 4, |value| {
            prop_oneof![
                prop::collection::vec(value.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ -z]{0,4}", value), 0..4)
                    .prop_map(|fields| fields.into_iter().collect::<Map<_, _>>().into()),
            ]
        })
    }

    proptest! {
        #[test]
        fn another_reader_reads_the_same_value(value in values()) {
            let text = yaml(&value);
            let read: Value = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            prop_assert_eq!(read, value, "{}", text);
        }
    }
}
