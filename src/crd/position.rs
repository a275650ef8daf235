//! The line of a JSON pointer in a YAML text. Positions are looked up again only when there is something to report.

use std::collections::HashMap;

use granit_parser::{Event, Parser};

/// The line, from 1, on which the value at `pointer` (RFC 6901) stands, or that of its nearest parent. Aliases are not followed.
pub fn line_of(text: &str, pointer: &str) -> usize {
    let wanted: Vec<String> = pointer
        .split('/')
        .skip(1)
        .map(|token| token.replace("~1", "/").replace("~0", "~"))
        .collect();
    let mut best = (0, 1);
    let mut open: Vec<Container> = vec![];
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        let line = span.start.line();
        match event {
            Event::Scalar(scalar, ..) if open.last().is_some_and(Container::awaits_key) => {
                let container = open.last_mut().expect("just seen");
                container.key = Some(scalar.to_string());
                if on_path(&open, &wanted) && open.len() > best.0 {
                    best = (open.len(), line);
                }
                if open.len() == wanted.len() && best.0 == wanted.len() {
                    return best.1;
                }
            }
            Event::Scalar(..) | Event::Alias(..) => {
                item(&mut open, &wanted, line, &mut best);
                value_ends(&mut open);
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                item(&mut open, &wanted, line, &mut best);
                open.push(match event {
                    Event::MappingStart(..) => Container {
                        key: None,
                        index: None,
                    },
                    _ => Container {
                        key: None,
                        index: Some(0),
                    },
                });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                value_ends(&mut open);
            }
            _ => {}
        }
    }
    best.1
}

/// The lines, from 1, of the items of the outermost list and of lists in it, by their pointers: `/0`, `/items/3`, `/items/3/items/0`.
pub fn item_lines(text: &str) -> HashMap<String, usize> {
    let mut lines = HashMap::new();
    // for each open collection: its pointer, if it is such a list or leads to one, and where in it we are
    let mut open: Vec<(Option<String>, Container)> = vec![];
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        match event {
            Event::Scalar(scalar, ..) if open.last().is_some_and(|(_, at)| at.awaits_key()) => {
                open.last_mut().expect("just seen").1.key = Some(scalar.to_string());
            }
            Event::Scalar(..) | Event::Alias(..) => {
                if let Some((_, at)) = open.last_mut() {
                    at.ends();
                }
            }
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let pointer = match open.last() {
                    None => Some(String::new()),
                    Some((
                        Some(pointer),
                        Container {
                            index: Some(index), ..
                        },
                    )) => {
                        let pointer = format!("{pointer}/{index}");
                        lines.insert(pointer.clone(), span.start.line());
                        Some(pointer)
                    }
                    Some((Some(pointer), at)) if at.key.as_deref() == Some("items") => {
                        Some(format!("{pointer}/items"))
                    }
                    Some(_) => None,
                };
                let index = matches!(event, Event::SequenceStart(..)).then_some(0);
                open.push((pointer, Container { key: None, index }));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                open.pop();
                if let Some((_, at)) = open.last_mut() {
                    at.ends();
                }
            }
            _ => {}
        }
    }
    lines
}

/// The line, from 1, on which a mapping has `key` for the second time.
pub fn line_of_second(text: &str, key: &str) -> Option<usize> {
    // for each open collection: whether it is a mapping, whether a key comes next, whether it has had this one
    let mut open: Vec<(bool, bool, bool)> = vec![];
    for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
        match event {
            Event::Scalar(scalar, ..) => {
                if let Some((true, awaits_key @ true, had)) = open.last_mut() {
                    if scalar == key && std::mem::replace(had, true) {
                        return Some(span.start.line());
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

struct Container {
    /// Of the mapping's value that comes next.
    key: Option<String>,
    /// Of the sequence's item that comes next.
    index: Option<usize>,
}

impl Container {
    fn awaits_key(&self) -> bool {
        self.index.is_none() && self.key.is_none()
    }

    /// A value of it ends.
    fn ends(&mut self) {
        self.key = None;
        self.index = self.index.map(|index| index + 1);
    }

    fn is_at(&self, token: &str) -> bool {
        match (&self.key, self.index) {
            (Some(key), _) => key == token,
            (None, Some(index)) => index.to_string() == token,
            (None, None) => false,
        }
    }
}

fn on_path(open: &[Container], wanted: &[String]) -> bool {
    open.len() <= wanted.len() && open.iter().zip(wanted).all(|(at, token)| at.is_at(token))
}

/// Notes the line of a sequence's item that lies on the path.
fn item(open: &mut [Container], wanted: &[String], line: usize, best: &mut (usize, usize)) {
    let in_sequence = open.last().is_some_and(|at| at.index.is_some());
    if in_sequence && on_path(open, wanted) && open.len() > best.0 {
        *best = (open.len(), line);
    }
}

fn value_ends(open: &mut [Container]) {
    if let Some(container) = open.last_mut() {
        container.ends();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_lists_have_their_lines() {
        let text =
            "kind: List\nitems:\n- a: [{b: 1}]\n- items:\n  - items: {}\n  - c\nother:\n- d: 1\n";
        let mut lines: Vec<_> = item_lines(text).into_iter().collect();
        lines.sort();
        let expected = [("/items/0", 3), ("/items/1", 4), ("/items/1/items/0", 5)];
        assert_eq!(
            lines,
            expected.map(|(pointer, line)| (pointer.to_owned(), line))
        );
    }

    #[test]
    fn a_second_key_is_found_in_its_own_mapping() {
        let text = "a:\n  k: {k: [k, k]}\n  b: k\nk: k\nc:\n- x: 1\n- x: 2\n  k: 1\n  y: [{z: 1}]\n  k: 2\n";
        assert_eq!(line_of_second(text, "k"), Some(10));
        assert_eq!(line_of_second(text, "x"), None);
    }

    #[test]
    fn a_pointer_finds_its_line_or_that_of_its_nearest_parent() {
        let text = "a:\n  b:\n  - x: 1\n  - x: 2\n    y/z: 3\nc: {d: 4}\n";
        for (pointer, line) in [
            ("/a", 1),
            ("/a/b/1/x", 4),
            ("/a/b/1/y~1z", 5),
            ("/c/d", 6),
            ("/a/b/1/none", 4),
            ("", 1),
        ] {
            assert_eq!(line_of(text, pointer), line, "{pointer}");
        }
    }
}
