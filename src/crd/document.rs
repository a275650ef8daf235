//! Splits a text into its YAML or JSON documents, each with the line on which it begins.

/// The bytes of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    pub text: &'a str,
    /// The line of the whole text on which the document starts, from 1.
    pub line: usize,
}

/// The documents of a YAML stream. A line that begins with `---` always ends a document
/// (<https://yaml.org/spec/1.2.2/#rule-c-directives-end>), so no parser is needed to find it.
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut documents = vec![];
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let next = offset + line.len();
        if is_marker(line) {
            documents.push(Document {
                text: &text[start..offset],
                line: start_line,
            });
            (start, start_line) = (next, index + 2);
        }
        offset = next;
    }
    documents.push(Document {
        text: &text[start..],
        line: start_line,
    });
    documents.retain(|document| !is_blank(document.text));
    documents
}

fn is_marker(line: &str) -> bool {
    let is_candidate = line.starts_with(['-', '.']);
    is_candidate && (matches!(line.trim_end(), "---" | "...") || line.starts_with("--- #"))
}

fn is_blank(text: &str) -> bool {
    text.lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
}

#[cfg(test)]
mod tests {
    use super::*;

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
