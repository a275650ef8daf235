//! Splits a text into its YAML or JSON documents, each with the line on which it begins.

use serde::de::IgnoredAny;

/// The bytes of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    pub text: &'a str,
    /// The line of the whole text on which the document starts, from 1.
    pub line: usize,
    /// Whether it follows `...` and not `---`, so that kubectl ignores it.
    pub is_ignored: bool,
}

/// The documents of a YAML stream. A line that begins with `---` always ends a document
/// (<https://yaml.org/spec/1.2.2/#rule-c-directives-end>), so no parser is needed to find it. For kubectl, nothing but a comment may follow
/// on this line; if something does, the line is part of the document, which is then refused.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(values) = json_values(text) {
        return values;
    }
    let mut documents = vec![];
    let (mut start, mut start_line, mut offset, mut is_ignored) = (0, 1, 0, false);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let next = offset + line.len();
        if is_marker(line) {
            documents.push(Document {
                text: &text[start..offset],
                line: start_line,
                is_ignored,
            });
            (start, start_line, is_ignored) = (next, index + 2, line.starts_with('.'));
        }
        offset = next;
    }
    documents.push(Document {
        text: &text[start..],
        line: start_line,
        is_ignored,
    });
    documents.retain(|document| !is_blank(document.text));
    documents
}

/// The objects of a JSON text, one after the other, as kubectl reads them and `jq` writes them. `None` for a text that is not JSON.
fn json_values(text: &str) -> Option<Vec<Document<'_>>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let (mut documents, mut start, mut line) = (vec![], 0, 1);
    while let Some(value) = values.next() {
        value.ok()?;
        let after = &text[start..values.byte_offset()];
        let own = after.trim_start();
        line += lines(&after[..after.len() - own.len()]);
        documents.push(Document {
            text: own,
            line,
            is_ignored: false,
        });
        line += lines(own);
        start = values.byte_offset();
    }
    Some(documents)
}

/// The number of line breaks.
fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

fn is_marker(line: &str) -> bool {
    match line.strip_prefix("---") {
        Some(rest) => matches!(rest.trim().chars().next(), None | Some('#')),
        None => line.trim_end() == "...",
    }
}

/// Whether a text has only comments and blank lines. The line breaks of YAML 1.1 end a comment, too.
fn is_blank(text: &str) -> bool {
    text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'])
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_ends_with_any_line_break() {
        for text in ["# a\rb: 1", "# a\u{85}b: 1", "# a\u{2028}b: 1"] {
            assert_eq!(documents(text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn documents_keep_their_bytes_and_lines() {
        let text =
            "# a licence\n---\na: 1\n--- # Source: x\n# only a comment\n---\nb: |\n  -- -\nc: 2\n";
        let documents = documents(text);
        let expected = [("a: 1\n", 3), ("b: |\n  -- -\nc: 2\n", 7)];
        assert_eq!(
            documents
                .iter()
                .map(|d| (d.text, d.line))
                .collect::<Vec<_>>(),
            expected
        );
    }

    #[test]
    fn the_objects_of_a_json_text_are_documents() {
        let text = "\n{\"a\":\n1}{\"b\": \"---\\n\"}\n\n {}\n";
        let documents = documents(text);
        let found: Vec<_> = documents.iter().map(|it| (it.text, it.line)).collect();
        let expected = [("{\"a\":\n1}", 2), ("{\"b\": \"---\\n\"}", 3), ("{}", 5)];
        assert_eq!(found, expected);
        // not only JSON, so it is read as YAML
        assert_eq!(super::documents("{a: 1}\n").len(), 1);
        assert_eq!(super::documents("{}\n---\n{}\n").len(), 2);
    }

    #[test]
    fn an_empty_text_has_no_document() {
        assert_eq!(documents("\u{feff}\n# nothing\n---\n"), []);
    }
}
