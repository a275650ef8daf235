//! Finds the positions of JSON pointers in a YAML or JSON text, with a table of the text's nodes.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use granit_parser::{Event, Parser, Span};
use operator_schema::pointer;

/// The nodes of a document in the order of the text: each collection before its content, each key before its value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions(Vec<Node>);

/// Offsets and counts have 32 bits to save memory; nodes after 4 GiB get the position 4 GiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    start: u32,
    /// For a flow collection, the end of its opening bracket.
    end: u32,
    shape: Shape,
}

/// The shape of a node. A collection has the number of all nodes inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Scalar,
    /// The anchored node.
    Alias(u32),
    Sequence(u32),
    Mapping(u32),
}

/// The direct children of a collection, by the numbers of their nodes.
enum Children<'t> {
    Items(Vec<usize>),
    /// The key and the value of each entry, by the text of the key.
    Entries(HashMap<Cow<'t, str>, (usize, usize)>),
}

impl Positions {
    /// The positions in a text that another reader has read, as far as the YAML parser can read it.
    pub fn of(text: &str) -> Self {
        let mut positions = Self::default();
        let mut open = vec![];
        for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
            match event {
                // JSON has no aliases
                Event::Scalar(..) | Event::Alias(..) => drop(positions.scalar(&range(&span))),
                Event::SequenceStart(..) => open.push(positions.begin(&range(&span), false)),
                Event::MappingStart(..) => open.push(positions.begin(&range(&span), true)),
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop().into_iter().for_each(|node| positions.end(node));
                }
                _ => {}
            }
        }
        open.into_iter().for_each(|node| positions.end(node));
        positions
    }

    /// Adds a scalar, and returns the number of its node.
    pub fn scalar(&mut self, place: &Range<usize>) -> usize {
        self.0.push(Node::new(place, Shape::Scalar));
        self.0.len() - 1
    }

    /// Adds an alias of the node `anchored`.
    pub fn alias(&mut self, place: &Range<usize>, anchored: usize) {
        self.0.push(Node::new(place, Shape::Alias(small(anchored))));
    }

    /// Begins a collection; the result must be passed to `end`.
    pub fn begin(&mut self, place: &Range<usize>, is_mapping: bool) -> usize {
        let shape = if is_mapping {
            Shape::Mapping(0)
        } else {
            Shape::Sequence(0)
        };
        self.0.push(Node::new(place, shape));
        self.0.len() - 1
    }

    /// Ends a collection, which contains all nodes since its beginning.
    pub fn end(&mut self, node: usize) {
        let count = small(self.0.len() - node - 1);
        if let Shape::Sequence(within) | Shape::Mapping(within) = &mut self.0[node].shape {
            *within = count;
        }
    }

    /// The offset of a node.
    pub fn start(&self, node: usize) -> usize {
        self.0[node].start as usize
    }

    /// Releases unused memory.
    pub fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// For each JSON pointer (RFC 6901), the range of its node in `text`, or of the nearest parent that exists: a key with its scalar, only
    /// the key of a collection, or the start of an item.
    pub fn places(&self, text: &str, pointers: &[impl AsRef<str>]) -> Vec<Range<usize>> {
        // the children of a collection are collected once, even if many pointers lead through it
        let mut known = HashMap::new();
        let mut place = |pointer: &str| {
            let (mut node, mut place) = (0, None);
            for token in pointer.split('/').skip(1) {
                let within = known
                    .entry(node)
                    .or_insert_with(|| self.children(text, node));
                let child = match within {
                    Children::Items(items) => {
                        let item = token.parse().ok();
                        let item = item.and_then(|item: usize| items.get(item).copied());
                        item.map(|item| (item, self.item(text, item)))
                    }
                    Children::Entries(entries) => {
                        let key = pointer::unescape(token);
                        entries
                            .get(&*key)
                            .copied()
                            .map(|(name, value)| (value, self.field(text, name, value)))
                    }
                };
                let Some((next, range)) = child else {
                    break;
                };
                (node, place) = (next, Some(range));
            }
            place.unwrap_or_else(|| beginning(text))
        };
        pointers
            .iter()
            .map(|pointer| place(pointer.as_ref()))
            .collect()
    }

    /// The direct children of a collection, including the entries that `<<` merges into it.
    fn children<'t>(&self, text: &'t str, node: usize) -> Children<'t> {
        let node = self.anchored(node);
        let mut within = self.within(node);
        let shape = self.0.get(node).map(|node| node.shape);
        if !matches!(shape, Some(Shape::Mapping(_))) {
            return Children::Items(within.collect());
        }
        let (mut entries, mut merged) = (HashMap::new(), vec![]);
        while let (Some(name), Some(value)) = (within.next(), within.next()) {
            match self.key(text, name) {
                Some(key) if key == "<<" && text.get(self.0[name].range()) == Some("<<") => {
                    merged.push(self.children(text, value));
                }
                Some(key) => drop(entries.insert(key, (name, value))),
                None => {}
            }
        }
        while let Some(source) = merged.pop() {
            match source {
                Children::Items(items) => {
                    merged.extend(items.iter().rev().map(|&item| self.children(text, item)));
                }
                Children::Entries(mut more) => {
                    more.extend(entries);
                    entries = more;
                }
            }
        }
        Children::Entries(entries)
    }

    /// The node that an alias refers to; any other node is returned as it is.
    fn anchored(&self, node: usize) -> usize {
        match self.0.get(node).map(|node| node.shape) {
            Some(Shape::Alias(anchored)) => anchored as usize,
            _ => node,
        }
    }

    /// The nodes directly inside of a collection: of a mapping, each key and its value.
    fn within(&self, node: usize) -> impl Iterator<Item = usize> {
        let end = self.behind(node);
        let first = Some(node + 1);
        std::iter::successors(first, |&node| Some(self.behind(node)))
            .take_while(move |&node| node < end)
    }

    /// The next node after this one and its content.
    fn behind(&self, node: usize) -> usize {
        let within = match self.0.get(node).map(|node| node.shape) {
            Some(Shape::Sequence(within) | Shape::Mapping(within)) => within as usize,
            Some(Shape::Scalar | Shape::Alias(_)) | None => 0,
        };
        node + 1 + within
    }

    /// The text of a key.
    fn key<'t>(&self, text: &'t str, node: usize) -> Option<Cow<'t, str>> {
        let node = self.0[self.anchored(node)];
        let written = text.get(node.range())?;
        let is_bare =
            !written.starts_with(['"', '\'', '|', '>']) && !written.contains(['\n', '\r']);
        match node.shape {
            Shape::Scalar if is_bare => Some(written.into()),
            Shape::Scalar => scalar(written),
            Shape::Sequence(_) | Shape::Mapping(_) | Shape::Alias(_) => None,
        }
    }

    fn field(&self, text: &str, name: usize, value: usize) -> Range<usize> {
        self.with_scalar(text, self.0[name].range(), value)
    }

    fn item(&self, text: &str, item: usize) -> Range<usize> {
        let range = self.0[item].range();
        if self.behind(item) > item + 1 {
            self.with_scalar(text, range, item + 1)
        } else {
            range
        }
    }

    /// Extends a range by the scalar after it, if that is on the same line.
    fn with_scalar(&self, text: &str, range: Range<usize>, node: usize) -> Range<usize> {
        let node = self.0[node];
        let longer = range.start..node.range().end;
        let is_one_line = || {
            let text = text.get(longer.clone());
            text.is_some_and(|text| !text.contains(['\n', '\r']))
        };
        if matches!(node.shape, Shape::Scalar | Shape::Alias(_)) && is_one_line() {
            longer
        } else {
            range
        }
    }
}

impl Node {
    fn new(place: &Range<usize>, shape: Shape) -> Self {
        Self {
            start: small(place.start),
            end: small(place.end),
            shape,
        }
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The byte range of an event.
pub fn range(span: &Span) -> Range<usize> {
    span.byte_range().unwrap_or_default()
}

/// The text of a scalar in quotes or on several lines.
fn scalar(written: &str) -> Option<Cow<'_, str>> {
    Parser::new_from_str(written)
        .map_while(Result::ok)
        .find_map(|(event, _)| match event {
            Event::Scalar(text, ..) => Some(text),
            _ => None,
        })
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
pub fn beginning(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    let length = text[start..].find([' ', '\n', '\r']);
    start..length.map_or(text.len(), |length| start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_resolves_to_its_position_or_its_nearest_parent_s() {
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
            let ranges = Positions::of(text).places(text, &pointers);
            for ((pointer, expected), range) in cases.iter().zip(ranges) {
                assert_eq!(&text[range], *expected, "{pointer}");
            }
        }
    }
}
