//! The JSONPaths of columns. [Kubernetes' own](https://kubernetes.io/docs/reference/kubectl/jsonpath/) name members as they are and escape
//! dots, `.metadata.labels.example\.com/team-name`; [RFC 9535](https://www.rfc-editor.org/rfc/rfc9535)'s quote them.

use std::iter::Peekable;
use std::str::Chars;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::Value;

/// A parsed path; an invalid one finds nothing.
#[derive(Clone, Debug)]
pub(crate) struct Path(Option<JpQuery>);

impl Path {
    pub fn read(text: &str) -> Self {
        Self(parse_json_path(&standard(text)).ok())
    }

    /// The first value at the path.
    pub fn find<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let found = js_path_process(self.0.as_ref()?, object).ok()?;
        Some(found.into_iter().next()?.val())
    }
}

/// Converts the path to the syntax of RFC 9535.
fn standard(text: &str) -> String {
    let mut path = "$".to_owned();
    let mut rest = text.chars().peekable();
    while let Some(start) = rest.next() {
        match start {
            '.' if rest.peek() == Some(&'.') => {
                rest.next();
                path += "..";
                path += &member(&name(&mut rest, |c| matches!(c, '.' | '[')));
            }
            '.' => path += &member(&name(&mut rest, |c| matches!(c, '.' | '['))),
            '[' => path += &bracket(&mut rest),
            // not a valid path: the parser refuses it, and it finds nothing
            other => path.push(other),
        }
    }
    path
}

/// Converts the text in brackets: a quoted name, or an index, slice or filter, whose syntax is the same in RFC 9535.
fn bracket(rest: &mut Peekable<Chars<'_>>) -> String {
    if let Some(quote @ ('\'' | '"')) = rest.peek().copied() {
        rest.next();
        let name = name(rest, |c| c == quote);
        // skip the closing quote and bracket
        rest.next();
        rest.next();
        return member(&name);
    }
    let mut text = "[".to_owned();
    let mut quote = None;
    for c in rest.by_ref() {
        text.push(c);
        match (quote, c) {
            (None, ']') => break,
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    text
}

/// Reads a name, without its escapes.
fn name(rest: &mut Peekable<Chars<'_>>, ends: impl Fn(char) -> bool) -> String {
    let mut name = String::new();
    while let Some(c) = rest.next_if(|c| !ends(*c)) {
        name.push(match c {
            '\\' => rest.next().unwrap_or(c),
            c => c,
        });
    }
    name
}

/// A name as a segment of RFC 9535; nothing for the empty name.
fn member(name: &str) -> String {
    match name {
        "" => String::new(),
        "*" => "[*]".to_owned(),
        name => format!("['{}']", name.replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_of_real_crds_find_their_values() {
        let object = json!({
            "metadata": {"labels": {"example.com/team-name": "blue"}},
            "spec": {"jobs": [{"command": "run"}], "my-field": {"*": "star"}},
            "status": {
                "conditions": [{"type": "Other"}, {"type": "Ready", "status": "True"}],
                "addresses": [{"value": "a"}, {"value": "b"}],
            },
        });
        for (path, expected) in [
            (r".metadata.labels.example\.com/team-name", json!("blue")),
            (r".metadata.labels.example\.com\/team-name", json!("blue")),
            (r".metadata.labels['example\.com/team-name']", json!("blue")),
            (
                r#".status.conditions[?(@.type=="Ready")].status"#,
                json!("True"),
            ),
            (
                ".status.conditions[?(@.type == 'Ready')].status",
                json!("True"),
            ),
            (".status.addresses[*].value", json!("a")),
            (".status.addresses[-1].value", json!("b")),
            (".status.addresses[1:2].value", json!("b")),
            (".spec.jobs[0].command", json!("run")),
            (".spec.my-field", json!({"*": "star"})),
            ("..command", json!("run")),
        ] {
            assert_eq!(Path::read(path).find(&object), Some(&expected), "{path}");
        }
        for path in [
            ".spec.absent.deep",
            ".status.addresses[7].value",
            "nonsense",
            ".a[",
        ] {
            assert_eq!(Path::read(path).find(&object), None, "{path}");
        }
    }
}
