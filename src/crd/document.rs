//! Splits a text into its YAML or JSON documents, each with the line on which it begins.

use granit_parser::{Event, Parser};

use super::problem::MOST_LEVELS;

/// A document's own bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    pub text: &'a str,
    /// Of the document's first line in the whole text, from 1.
    pub line: usize,
}

/// The documents of a YAML stream. A line that begins with `---` always ends a document
/// (<https://yaml.org/spec/1.2.2/#rule-c-directives-end>), so no parser is needed to find it.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = vec![];
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let next = offset + line.len();
        if is_marker(line) {
            found.push(Document {
                text: &text[start..offset],
                line: start_line,
            });
            (start, start_line) = (next, index + 2);
        }
        offset = next;
    }
    found.push(Document {
        text: &text[start..],
        line: start_line,
    });
    found.retain(|document| !is_blank(document.text));
    found
}

fn is_marker(line: &str) -> bool {
    let line = line.trim_end();
    line == "---" || line == "..." || line.starts_with("--- #")
}

fn is_blank(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

/// Where a text has more levels than can be read, if its brackets make that likely. The reader finds it too, but takes time that
/// grows with the square of the depth.
pub fn too_deep(text: &str) -> Option<usize> {
    // brackets within scalars count as well here, and are seldom so many
    let opening = text.bytes().filter(|byte| matches!(byte, b'[' | b'{'));
    if opening.count() <= 8 * MOST_LEVELS {
        return None;
    }
    let (mut depth, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        most = most.max(depth);
    }
    if most <= 8 * MOST_LEVELS {
        return None;
    }
    let mut depth = 0;
    for event in Parser::new_from_str(text) {
        match event {
            Ok((Event::MappingStart(..) | Event::SequenceStart(..), span)) => {
                depth += 1;
                if depth > MOST_LEVELS {
                    return span.start.byte_offset();
                }
            }
            Ok((Event::MappingEnd | Event::SequenceEnd, _)) => depth -= 1,
            Ok(_) => {}
            Err(error) => return error.marker().byte_offset(),
        }
    }
    None
}

/// What is to blame for an error without a place: a character that YAML does not have, or an alias, as they can multiply.
pub fn suspect(text: &str) -> usize {
    let is_printable = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..);
    let alias = || {
        let mut events = Parser::new_from_str(text).map_while(Result::ok);
        events.find_map(|(event, span)| match event {
            Event::Alias(..) => span.start.byte_offset(),
            _ => None,
        })
    };
    text.find(|c| !is_printable(c)).or_else(alias).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_found_before_it_takes_time() {
        for text in [
            "[".repeat(300_000),
            "{a: ".repeat(300_000),
            "{\"a\":".repeat(300_000),
        ] {
            let unit = text.len() / 300_000;
            let place = too_deep(&text).expect("it is deep");
            // the parser looks ahead, and has a bound of its own
            assert!((0..8).contains(&(place / unit / MOST_LEVELS)), "{place}");
        }
        let fine = format!("a: '{}'\nb: [[]]\n", "[".repeat(10_000));
        assert_eq!(too_deep(&fine), None);
    }

    #[test]
    fn what_has_no_place_is_blamed_on_characters_and_aliases() {
        assert_eq!(suspect("a: 1\nb: \u{0}\n"), 8);
        assert_eq!(suspect("a: &x 1\nb: *x\n"), 11);
    }

    #[test]
    fn documents_keep_their_bytes_and_lines() {
        let text =
            "# a licence\n---\na: 1\n--- # Source: x\n# only a comment\n---\nb: |\n  -- -\nc: 2\n";
        let found = documents(text);
        let expected = [("a: 1\n", 3), ("b: |\n  -- -\nc: 2\n", 7)];
        assert_eq!(
            found.iter().map(|d| (d.text, d.line)).collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn an_empty_text_has_no_document() {
        assert_eq!(documents("\u{feff}\n# nothing\n---\n"), []);
    }
}
