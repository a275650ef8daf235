//! Splits a text into its YAML or JSON documents, each with the line on which it begins.

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
/// (<https://yaml.org/spec/1.2.2/#rule-c-directives-end>), so no parser is needed to find it. For kubectl, nothing but a comment may follow on
/// this line; if something does, the line is part of the document, which is then refused.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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

fn is_marker(line: &str) -> bool {
    match line.strip_prefix("---") {
        Some(rest) => matches!(rest.trim().chars().next(), None | Some('#')),
        None => line.trim_end() == "...",
    }
}

/// Whether a text has nothing but comments, also where a line ends as in YAML 1.1.
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
    fn an_empty_text_has_no_document() {
        assert_eq!(documents("\u{feff}\n# nothing\n---\n"), []);
    }
}
