//! The tokens of JSON pointers ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901#section-3)).

use std::borrow::Cow;

use serde_json::Value;

/// Escapes a key as a token of a pointer, without the slash before it.
///
/// ```
/// assert_eq!(operator_schema::pointer::escape("a/b~c"), "a~1b~0c");
/// ```
pub fn escape(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        key.replace('~', "~0").replace('/', "~1").into()
    } else {
        key.into()
    }
}

/// Unescapes a token of a pointer.
///
/// ```
/// assert_eq!(operator_schema::pointer::unescape("a~1b~0c"), "a/b~c");
/// ```
pub fn unescape(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        token.replace("~1", "/").replace("~0", "~").into()
    } else {
        token.into()
    }
}

/// Returns the pointer of each value that is neither an object, nor an array, nor null, with its path as people write it: `[]` stands for
/// any item of a list.
///
/// ```
/// let object = serde_json::json!({"spec": {"ports": [{"name": "http"}]}});
/// let leaves = operator_schema::pointer::leaves(&object);
/// assert_eq!(leaves, [("/spec/ports/0/name".to_owned(), "spec.ports[].name".to_owned())]);
/// ```
pub fn leaves(value: &Value) -> Vec<(String, String)> {
    let mut leaves = vec![];
    collect(value, (String::new(), String::new()), &mut leaves);
    leaves
}

fn collect(value: &Value, (pointer, path): (String, String), leaves: &mut Vec<(String, String)>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                let names = (
                    format!("{pointer}/{}", escape(key)),
                    format!("{path}{dot}{key}"),
                );
                collect(value, names, leaves);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                let names = (format!("{pointer}/{index}"), format!("{path}[]"));
                collect(value, names, leaves);
            }
        }
        Value::Null => {}
        _ => leaves.push((pointer, path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_have_escaped_pointers_and_plain_paths() {
        let value =
            serde_json::json!({"a/b": [1, [true]], "none": null, "empty": {}, "c": {"d": "x"}});
        let leaves = leaves(&value);
        let leaves: Vec<(&str, &str)> = leaves.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(
            leaves,
            [
                ("/a~1b/0", "a/b[]"),
                ("/a~1b/1/0", "a/b[][]"),
                ("/c/d", "c.d")
            ]
        );
    }

    #[test]
    fn keys_are_escaped_and_unescaped() {
        for key in ["", "a", "/", "~", "~1", "~0", "~01", "/~", "a/b~c", "~~//"] {
            let token = escape(key);
            assert!(!token.contains('/'), "{token}");
            assert_eq!(unescape(&token), key);
            let object = serde_json::json!({ key: true });
            assert!(object.pointer(&format!("/{token}")).is_some(), "{token}");
        }
    }
}
