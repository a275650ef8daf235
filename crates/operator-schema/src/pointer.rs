//! The tokens of JSON pointers ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901#section-3)).

use std::borrow::Cow;

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

#[cfg(test)]
mod tests {
    use super::*;

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
