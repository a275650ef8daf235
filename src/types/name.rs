//! Names of types, fields and variants, from paths in the schema and wire names. The same path always has the same name.

use crate::rust::is_keyword;

/// Splits a wire name into words: `podCIDRs` into `pod` and `CIDRs`; `x-forwarded_for` into `x`, `forwarded` and `for`.
fn words(name: &str) -> Vec<&str> {
    let mut words = vec![];
    for part in name
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
    {
        let mut start = 0;
        let mut before: Option<char> = None;
        for (at, c) in part.char_indices() {
            let starts = |before: char| {
                let mut rest = part[at..].chars().skip(1);
                let after = rest.next();
                // the last capital of a run begins a word, but not in a plural such as `URLs`
                let plural = after == Some('s') && rest.next().is_none_or(char::is_uppercase);
                !before.is_uppercase() || after.is_some_and(char::is_lowercase) && !plural
            };
            if c.is_uppercase() && before.is_some_and(starts) {
                words.push(&part[start..at]);
                start = at;
            }
            before = Some(c);
        }
        words.push(&part[start..]);
    }
    words
}

/// Converts a wire name to CamelCase: `podCIDRs` to `PodCIDRs`. Capitals inside a word are kept.
pub fn pascal(name: &str) -> String {
    let mut pascal = String::with_capacity(name.len());
    for word in words(name) {
        let mut chars = word.chars();
        pascal.extend(chars.next().into_iter().flat_map(char::to_uppercase));
        pascal += chars.as_str();
    }
    if pascal.is_ascii() {
        return pascal;
    }
    pascal
        .chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                symbols(c.encode_utf8(&mut [0; 4]))
            }
        })
        .collect()
}

/// The Rust field for a wire name; a keyword gets a trailing `_`.
pub fn field(name: &str) -> String {
    let ident = words(name).join("_").to_lowercase();
    let ident = if ident.is_empty() {
        symbols(name).to_lowercase()
    } else {
        ident
    };
    let ident = if ident.starts_with(|c: char| c.is_numeric()) {
        format!("n{ident}")
    } else {
        ident
    };
    let ident = if ident.is_empty() {
        "empty".to_owned()
    } else {
        ascii(ident)
    };
    if is_keyword(&ident) {
        ident + "_"
    } else {
        ident
    }
}

/// The Rust variant for a value of an enum.
pub fn variant(value: &str) -> String {
    if value.is_empty() {
        return "Empty".into();
    }
    let leading: String = value.chars().take_while(|c| !c.is_alphanumeric()).collect();
    let leading = if leading.is_empty() || matches!(leading.as_str(), "_" | "/" | ".") {
        String::new()
    } else {
        symbols(&leading)
    };
    let name = ascii(leading + &pascal(&without_screaming(value)));
    let name = if name.is_empty() {
        symbols(value)
    } else {
        name
    };
    let name = if name.starts_with(|c: char| c.is_numeric()) {
        format!("N{name}")
    } else {
        name
    };
    if is_keyword(&name) { name + "_" } else { name }
}

/// Converts `FROM_PORT` to `from_port`, because its capitals do not separate words. A single word such as `GET` is kept.
fn without_screaming(value: &str) -> String {
    let is_screaming =
        value.contains(['_', '-', ' ', '.']) && !value.contains(|c: char| c.is_lowercase());
    if is_screaming {
        value.to_lowercase()
    } else {
        value.to_owned()
    }
}

/// Replaces punctuation characters with words, and other characters with their code points.
fn symbols(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '=' => "Equal".to_owned(),
            '!' => "Not".into(),
            '<' => "Less".into(),
            '>' => "Greater".into(),
            '*' => "Star".into(),
            '+' => "Plus".into(),
            '-' => "Minus".into(),
            '~' => "Tilde".into(),
            '$' => "Dollar".into(),
            '%' => "Percent".into(),
            '.' => "Dot".into(),
            '_' => "Underscore".into(),
            '/' => "Slash".into(),
            ':' => "Colon".into(),
            ' ' => "Space".into(),
            '&' => "And".into(),
            '|' => "Or".into(),
            c => format!("U{:X}", c as u32),
        })
        .collect()
}

/// Writes non-ASCII characters as their code points, so that no lint about identifiers applies.
fn ascii(name: String) -> String {
    if name.is_ascii() {
        return name;
    }
    name.chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                format!("u{:x}", c as u32)
            }
        })
        .collect()
}

/// Spells out a wire name, with each capital and punctuation character as a word, for a name whose plain form is already in use.
pub fn spelled(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![];
    if name.starts_with(char::is_uppercase) {
        words.push("upper".into());
    }
    let mut is_open = false;
    for c in name.chars() {
        let goes_on = is_open && !c.is_ascii_uppercase();
        if !c.is_ascii_alphanumeric() {
            words.push(symbols(&c.to_string()).to_lowercase());
            is_open = false;
        } else if let Some(word) = words.last_mut().filter(|_| goes_on) {
            word.push(c);
        } else {
            words.push(c.to_ascii_lowercase().to_string());
            is_open = true;
        }
    }
    words
}

/// Like [`spelled`], in CamelCase for the name of a type.
pub fn pascal_spelled(name: &str) -> String {
    spelled(name).iter().map(|word| pascal(word)).collect()
}

/// Names of the prelude, and names that a module, a controller or a test imports. A kind with such a name gets a different type name.
const IMPORTED: [&str; 58] = [
    "Action",
    "Api",
    "Arc",
    "BTreeMap",
    "Box",
    "Capabilities",
    "Clone",
    "Condition",
    "ConfigMap",
    "Container",
    "Context",
    "CustomResource",
    "CustomResourceDefinition",
    "Debug",
    "Default",
    "DeleteParams",
    "Deployment",
    "DeploymentSpec",
    "Deserialize",
    "Eq",
    "Err",
    "EventType",
    "From",
    "Future",
    "IntOrString",
    "Into",
    "Iterator",
    "JsonSchema",
    "LabelSelector",
    "None",
    "ObjectMeta",
    "Ok",
    "Operator",
    "Option",
    "PartialEq",
    "Patch",
    "PatchParams",
    "PodSecurityContext",
    "PodSpec",
    "PodTemplateSpec",
    "PostParams",
    "Quantity",
    "Reconciler",
    "ResourceExt",
    "Result",
    "Root",
    "SeccompProfile",
    "SecurityContext",
    "Send",
    "Serialize",
    "Server",
    "Settings",
    "Setup",
    "Some",
    "String",
    "Sync",
    "ToString",
    "Vec",
];

/// The reserved names.
pub fn imported() -> impl Iterator<Item = &'static str> {
    IMPORTED.into_iter()
}

/// The Rust type of a kind.
pub fn root(kind: &str) -> String {
    let name = pascal(kind);
    if IMPORTED.contains(&name.as_str()) || is_keyword(&name) {
        name + "Object"
    } else {
        name
    }
}

/// The name that serde's `rename_all = "camelCase"` gives to a field.
pub fn camel(ident: &str) -> String {
    let mut camel = String::new();
    let mut capital = false;
    for c in ident.chars() {
        if c == '_' {
            capital = true;
        } else if capital {
            camel.push(c.to_ascii_uppercase());
            capital = false;
        } else {
            camel.push(c);
        }
    }
    let mut chars = camel.chars();
    chars
        .next()
        .map(|first| first.to_ascii_lowercase().to_string() + chars.as_str())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_names_become_fields() {
        for (wire, ident) in [
            ("clusterIP", "cluster_ip"),
            ("podCIDRs", "pod_cidrs"),
            ("serverURLsFrom", "server_urls_from"),
            ("type", "type_"),
            ("$ref", "ref_"),
            ("x-forwarded-for", "x_forwarded_for"),
            ("3scale", "n3scale"),
            ("HTTPRoute", "http_route"),
            ("-", "minus"),
            ("self", "self_"),
            ("a.b/c", "a_b_c"),
            ("größe", "gruf6udfe"),
            ("s3", "s3"),
            ("isCA", "is_ca"),
            ("", "empty"),
        ] {
            assert_eq!(field(wire), ident, "{wire}");
        }
    }

    #[test]
    fn values_become_variants() {
        for (value, ident) in [
            ("", "Empty"),
            ("!=", "NotEqual"),
            ("=~", "EqualTilde"),
            ("10s", "N10s"),
            ("Self", "Self_"),
            ("IfNotPresent", "IfNotPresent"),
            ("read-write", "ReadWrite"),
            ("TLSv1.2", "TLSv12"),
            ("*", "Star"),
            ("_all", "All"),
            ("FROM_REQUEST_PORT", "FromRequestPort"),
            ("GET", "GET"),
            ("-1", "Minus1"),
            ("_", "Underscore"),
            (".", "Dot"),
            ("ﷺ", "UFDFA"),
        ] {
            assert_eq!(variant(value), ident, "{value}");
        }
    }

    #[test]
    fn kinds_with_names_of_imports_get_another_name() {
        assert_eq!(
            (root("Option").as_str(), root("Widget").as_str()),
            ("OptionObject", "Widget")
        );
    }
}
