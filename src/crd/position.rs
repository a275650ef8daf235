//! The places of JSON pointers in a YAML or JSON text. Positions are looked up again only when there is something to report.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use granit_parser::{Event, Parser};

/// For each pointer (RFC 6901) the bytes of what stands there, or of its nearest parent: a key with its scalar, a key alone where a
/// collection follows, and the beginning of an item. The text is parsed once for all; aliases are not followed.
pub fn places(text: &str, pointers: &[impl AsRef<str>]) -> Vec<Range<usize>> {
    let mut wanted: HashMap<&str, Option<Range<usize>>> = HashMap::new();
    for pointer in pointers.iter().map(AsRef::as_ref) {
        wanted.extend(parents(pointer).map(|parent| (parent, None)));
    }
    let mut left = wanted.len();
    let mut open: Vec<Container> = vec![];
    // of the value that comes next, and whether it is wanted
    let mut pointer = String::new();
    // the place that the next scalar makes longer, if it follows on the same line
    let mut unfinished: Option<String> = None;
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        let bytes = span.byte_range().unwrap_or_default();
        let is_value = matches!(
            event,
            Event::Scalar(..)
                | Event::Alias(..)
                | Event::MappingStart(..)
                | Event::SequenceStart(..)
        );
        if !is_value {
            if matches!(event, Event::MappingEnd | Event::SequenceEnd) {
                open.pop();
                value_ends(&mut open, &mut pointer);
            }
            continue;
        }
        let is_scalar = matches!(event, Event::Scalar(..) | Event::Alias(..));
        if let Some(place) = unfinished.take()
            && is_scalar
            && let Some(Some(range)) = wanted.get_mut(place.as_str())
            && is_one_line(text, range.start..bytes.end)
        {
            range.end = bytes.end;
        }
        if left == 0 {
            break;
        }
        if let Some(container) = open.last_mut() {
            let is_key = container.index.is_none() && !container.has_key;
            if is_key || container.index.is_some() {
                let token: Cow<'_, str> = match (&event, container.index) {
                    (_, Some(index)) => index.to_string().into(),
                    (Event::Scalar(key, ..), None) if key.contains(['~', '/']) => {
                        key.replace('~', "~0").replace('/', "~1").into()
                    }
                    (Event::Scalar(key, ..), None) => key.as_ref().into(),
                    _ => "".into(),
                };
                pointer.truncate(container.length);
                pointer.push('/');
                pointer.push_str(&token);
                container.has_key = is_key;
                if let Some(place @ None) = wanted.get_mut(pointer.as_str()) {
                    *place = Some(bytes.clone());
                    left -= 1;
                    unfinished = Some(pointer.clone()).filter(|_| is_key || !is_scalar);
                }
                if is_key && is_scalar {
                    continue;
                }
            }
        }
        if is_scalar {
            value_ends(&mut open, &mut pointer);
        } else {
            open.push(Container {
                length: pointer.len(),
                has_key: false,
                index: matches!(event, Event::SequenceStart(..)).then_some(0),
            });
        }
    }
    let place = |pointer| parents(pointer).find_map(|parent| wanted[parent].clone());
    pointers
        .iter()
        .map(|pointer| place(pointer.as_ref()).unwrap_or_else(|| beginning(text)))
        .collect()
}

/// A pointer and those above it, but for the root's.
fn parents(pointer: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(pointer), |pointer| {
        pointer.rfind('/').map(|end| &pointer[..end])
    })
    .filter(|pointer| !pointer.is_empty())
}

/// The keyword of a schema to which a pointer from the schema's root leads.
pub fn keyword(pointer: &str) -> &str {
    let mut tokens = pointer.split('/').skip(1);
    let mut keyword = "";
    while let Some(token) = tokens.next() {
        keyword = token;
        if token == "properties" {
            tokens.next();
        }
    }
    keyword
}

/// The first word of a text.
fn beginning(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    let length = text[start..].find([' ', '\n', '\r']);
    start..length.map_or(text.len(), |length| start + length)
}

fn is_one_line(text: &str, range: Range<usize>) -> bool {
    text.get(range)
        .is_some_and(|text| !text.contains(['\n', '\r']))
}

/// The bytes of `key` where a mapping has it for the second time.
pub fn second(text: &str, key: &str) -> Option<Range<usize>> {
    // for each open collection: whether it is a mapping, whether a key comes next, whether it has had this one
    let mut open: Vec<(bool, bool, bool)> = vec![];
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        match event {
            Event::Scalar(scalar, ..) => {
                if let Some((true, awaits_key @ true, had)) = open.last_mut() {
                    if scalar == key && std::mem::replace(had, true) {
                        return span.byte_range();
                    }
                    *awaits_key = false;
                    continue;
                }
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_mapping = matches!(event, Event::MappingStart(..));
                open.push((is_mapping, is_mapping, false));
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
            }
            Event::Alias(..) => {}
            _ => continue,
        }
        // a value ends
        if let Some((is_mapping, awaits_key, _)) = open.last_mut() {
            *awaits_key = *is_mapping;
        }
    }
    None
}

/// An open collection.
struct Container {
    /// Of its own pointer.
    length: usize,
    /// Whether a mapping's value comes next.
    has_key: bool,
    /// Of the sequence's item that comes next.
    index: Option<usize>,
}

fn value_ends(open: &mut [Container], pointer: &mut String) {
    if let Some(container) = open.last_mut() {
        container.has_key = false;
        container.index = container.index.map(|index| index + 1);
        pointer.truncate(container.length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_key_is_found_in_its_own_mapping() {
        let text = "a:\n  k: {k: [k, k]}\n  b: k\nk: k\nc:\n- x: 1\n- x: 2\n  k: 1\n  y: [{z: 1}]\n  k: 2\n";
        assert_eq!(second(text, "k"), text.rfind('k').map(|at| at..at + 1));
        assert_eq!(second(text, "x"), None);
    }

    #[test]
    fn a_pointer_finds_its_place_or_that_of_its_nearest_parent() {
        let yaml = "a:\n  b:\n  - x: 1\n  - x: 2\n    y/z: 3\n  '~': &k [\u{e4}, q]\nc: {d: 4, e: *k}\nf: |\n  text\n";
        let json = "{\"a\": {\"b\": [{\"x\": 1},\n{\"x\": 2, \"y/z\":\n3}], \"c\": [[], [5]]}}";
        let cases: [(&str, &[(&str, &str)]); 2] = [
            (
                yaml,
                &[
                    ("/a", "a"),
                    ("/a/b/1/x", "x: 2"),
                    ("/a/b/1", "x"),
                    ("/a/b/1/y~1z", "y/z: 3"),
                    ("/a/~0/1", "q"),
                    ("/a/~0/0", "\u{e4}"),
                    ("/c/d", "d: 4"),
                    ("/c/e", "e: *k"),
                    ("/a/b/1/none/at/all", "x"),
                    ("/f", "f"),
                    ("/g", "a:"),
                    ("", "a:"),
                ],
            ),
            (
                json,
                &[
                    ("/a/b/1/x", "\"x\": 2"),
                    ("/a/b/1/y~1z", "\"y/z\""),
                    ("/a/c/1/0", "5"),
                    ("/a/c", "\"c\""),
                ],
            ),
        ];
        for (text, cases) in cases {
            let pointers: Vec<&str> = cases.iter().map(|(pointer, _)| *pointer).collect();
            let found = places(text, &pointers);
            for ((pointer, expected), range) in cases.iter().zip(found) {
                assert_eq!(&text[range], *expected, "{pointer}");
            }
        }
    }
}
