//! Formats a description as a doc comment: wrapped, and with text escaped that rustdoc or clippy would report as broken markup. Lists, code
//! spans and fenced blocks are kept, and addresses become links.
//!
//! If possible, the comment keeps the line feeds, so that `crd()` can read the description back from it.

use std::{borrow::Cow, cell::OnceCell};

use crate::diagnostic::is_unprintable;

/// The maximum width of a line of a doc comment.
const WIDTH: usize = 100;

/// A description, and the lines of its comment, which are computed on first use.
#[derive(Clone, Debug)]
pub struct Doc {
    pub description: String,
    indent: usize,
    lines: OnceCell<Vec<String>>,
}

impl Doc {
    /// Creates the comment for an indent.
    pub fn new(indent: usize, description: impl Into<String>) -> Self {
        Self {
            description: description.into(),
            indent,
            lines: OnceCell::new(),
        }
    }

    /// `/// description`, with a line feed after each line and without the indent.
    pub fn comment(&self) -> String {
        let mut comment = String::new();
        let mut put = |line: &str| {
            comment += "/// ";
            comment += line;
            comment.truncate(comment.trim_end().len());
            comment.push('\n');
        };
        if self.is_comment() {
            self.description.split('\n').for_each(put);
        } else {
            self.lines().iter().for_each(|line| put(line));
        }
        comment
    }

    /// Whether the comment contains the whole description.
    pub fn readable(&self) -> Readable {
        if self.is_comment() {
            return Readable::AsIs;
        }
        let lines: Vec<&str> = self.lines().iter().map(|line| line.trim_end()).collect();
        let doc = lines.join("\n");
        let is_bare = doc.is_empty() || doc.starts_with('#') || doc.trim_ascii() != doc;
        if is_bare || unwrapped(&doc) != self.description {
            Readable::No
        } else if doc == self.description {
            Readable::AsIs
        } else {
            Readable::Unwrapped
        }
    }

    fn is_comment(&self) -> bool {
        is_comment(&self.description, self.width())
    }

    fn lines(&self) -> &[String] {
        let lay_out = || lines(&self.description, self.width());
        self.lines.get_or_init(lay_out)
    }

    fn width(&self) -> usize {
        WIDTH - self.indent - "/// ".len()
    }
}

/// The source of the function that reads a description back, which generated modules contain too.
pub const UNWRAPPED: &str = include_str!("unwrapped.rs");

include!("unwrapped.rs");

/// How a description is read back from its doc comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readable {
    /// By schemars alone.
    AsIs,
    /// With [`unwrapped`].
    Unwrapped,
    No,
}

/// Whether unwrapping does not change a text.
pub fn is_plain(description: &str) -> bool {
    unwrapped(description) == description
}

/// Whether each line of a description is a line of its comment: it is short, and has only letters and punctuation without markup.
fn is_comment(description: &str, width: usize) -> bool {
    let is_text = |byte: u8| {
        (b' '..=b'~').contains(&byte)
            && !matches!(
                byte,
                b'`' | b'[' | b']' | b'<' | b'>' | b'\\' | b'*' | b'|' | b'~'
            )
    };
    let is_line = |line: &str| {
        line.is_empty()
            || line.starts_with(|c: char| c.is_ascii_alphabetic())
                && !line.ends_with(' ')
                && line.len() < width
                && line.bytes().all(is_text)
                && !line.contains("://")
    };
    !description.is_empty()
        && !description.starts_with('\n')
        && !description.ends_with('\n')
        && description.split('\n').all(is_line)
}

/// The lines without `/// `, wrapped at word boundaries to `width`.
fn lines(description: &str, width: usize) -> Vec<String> {
    let kept = kept(description, width);
    kept.unwrap_or_else(|| laid_out(description, width))
}

/// Keeps the lines of a description that has no lists and blocks. A line that is too long continues on lines that begin with a space.
fn kept(description: &str, width: usize) -> Option<Vec<String>> {
    let description = description.trim();
    if description.is_empty() {
        return Some(vec![]);
    }
    let mut lines = vec![];
    let source: Vec<&str> = description.split('\n').collect();
    for line in &source {
        let is_text = line.trim() == *line
            && marker(line).is_none()
            && !line.contains("```")
            && !line.contains(is_unprintable);
        if !is_text {
            return None;
        }
        let first = lines.len();
        wrap(line, width - 1, &mut lines);
        lines
            .iter_mut()
            .skip(first + 1)
            .for_each(|line| line.insert(0, ' '));
    }
    (unwrapped(&lines.join("\n")) == description).then_some(lines)
}

/// Splits a description into paragraphs, lists and blocks, regardless of the line feeds in them.
fn laid_out(description: &str, width: usize) -> Vec<String> {
    let source: Vec<String> = description.lines().map(plain).collect();
    let mut lines = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let line = source[at].trim();
        if let Some(length) = fenced(&source[at..]) {
            lines.push("```text".to_owned());
            lines.extend(
                source[at + 1..at + length - 1]
                    .iter()
                    .map(|l| l.trim_end().to_owned()),
            );
            lines.push("```".to_owned());
            at += length;
        } else if line.is_empty() {
            if lines.last().is_some_and(|last: &String| !last.is_empty()) {
                lines.push(String::new());
            }
            at += 1;
        } else {
            let first = at;
            at += 1;
            // consecutive lines without a marker are one paragraph or list item
            while at < source.len()
                && !source[at].trim().is_empty()
                && marker(source[at].trim()).is_none()
                && fenced(&source[at..]).is_none()
            {
                at += 1;
            }
            let text = source[first..at]
                .iter()
                .map(|l| l.trim())
                .collect::<Vec<_>>()
                .join(" ");
            wrap(&text, width, &mut lines);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Replaces unprintable characters with spaces.
fn plain(line: &str) -> String {
    line.replace(is_unprintable, " ")
}

/// The number of lines of a closed fenced block that begins here.
fn fenced(source: &[String]) -> Option<usize> {
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    let first = source.first()?;
    // a span on one line, as in "``` code ```", is not a block
    if !is_fence(first) || first.trim_start()[3..].contains('`') {
        return None;
    }
    let length = source
        .iter()
        .skip(1)
        .position(|line| line.trim() == "```")?;
    Some(length + 2)
}

/// The length of the marker of a list item, with the space after it.
fn marker(line: &str) -> Option<usize> {
    let (head, rest) = line.split_once(' ')?;
    let number = head.strip_suffix(['.', ')']).is_some_and(|digits| {
        (1..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let is_marker = (["-", "*", "+"].contains(&head) || number) && !rest.trim().is_empty();
    is_marker.then_some(head.len() + 1)
}

/// Wraps a paragraph or list item. Further lines of an item are indented, so that they belong to it.
fn wrap(text: &str, width: usize, lines: &mut Vec<String>) {
    let indent = marker(text).unwrap_or(0);
    let (mark, text) = text.split_at(indent);
    // in Markdown, a numbered list that does not begin with 1 cannot interrupt a paragraph, so a blank line precedes every list
    if indent > 0
        && lines
            .last()
            .is_some_and(|last| !last.is_empty() && !is_item(last))
    {
        lines.push(String::new());
    }
    let mut line = mark.trim_end().to_owned();
    let mut length = None;
    for token in tokens(text) {
        let token = escaped(&token);
        let longer = length.map(|length: usize| length + 1 + token.chars().count());
        if longer.is_some_and(|longer| longer <= width) {
            line.push(' ');
            line.push_str(&token);
            length = longer;
            continue;
        }
        if length.is_some() {
            lines.push(std::mem::take(&mut line));
            line = " ".repeat(indent);
        } else if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&unmarked(&token));
        length = Some(line.chars().count());
    }
    lines.push(line);
}

/// Whether a line belongs to a list.
fn is_item(line: &str) -> bool {
    marker(line).is_some() || line.starts_with("  ")
}

/// Splits a text at single spaces. A code span stays together if all backticks are balanced, and so do words with several spaces between
/// them: their spaces are kept.
fn tokens(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let balanced = text.matches('`').count().is_multiple_of(2) && !text.contains("``");
    let mut in_code = false;
    let mut before = None;
    // no byte of a multi-byte character equals a space or a backtick
    let ends = text.bytes().enumerate().filter(move |(at, byte)| {
        in_code ^= balanced && *byte == b'`';
        let is_end = *byte == b' '
            && !in_code
            && before != Some(b' ')
            && text.as_bytes().get(at + 1) != Some(&b' ');
        before = (!is_end).then_some(*byte);
        is_end
    });
    let mut start = 0;
    ends.map(|(at, _)| at)
        .chain([text.len()])
        .map(move |end| &text[std::mem::replace(&mut start, end + 1)..end])
        .filter(|token| !token.is_empty())
        .map(move |token| {
            if balanced {
                Cow::Borrowed(token)
            } else {
                Cow::Owned(token.replace('`', "\\`"))
            }
        })
}

/// Escapes brackets and angle brackets outside of code spans; an address becomes a link.
fn escaped(token: &str) -> Cow<'_, str> {
    let is_special = |byte: u8| byte == b':' || is_markup(byte.into());
    if !token.bytes().any(is_special) {
        return token.into();
    }
    let mut out = String::with_capacity(token.len());
    let mut in_code = false;
    let mut rest = token;
    while let Some(c) = rest.chars().next() {
        if c == '\\' && rest.starts_with("\\`") {
            out.push_str("\\`");
            rest = &rest[2..];
            continue;
        }
        if c == '`' {
            in_code = !in_code;
        }
        if !in_code && (rest.starts_with("http://") || rest.starts_with("https://")) {
            let length = address(rest);
            let url = &rest[..length];
            if url.ends_with("//") {
                out.push_str(url);
            } else {
                out.push_str(&format!("<{url}>"));
            }
            rest = &rest[length..];
            continue;
        }
        if !in_code && is_markup(c) {
            out.push('\\');
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out.into()
}

fn is_markup(c: char) -> bool {
    matches!(c, '[' | ']' | '<' | '>' | '\\' | '*' | '|' | '~')
}

/// The length of the address at the start of the text, without trailing punctuation.
fn address(text: &str) -> usize {
    let end = text
        .find(|c: char| c.is_whitespace() || "<>[]()`\"'{}|\\^*".contains(c) || !c.is_ascii())
        .unwrap_or(text.len());
    text[..end]
        .trim_end_matches(['.', ',', ':', ';', '!', '?'])
        .len()
}

/// Escapes a word at the start of a line that would begin a heading, a list, a quote or a rule.
fn unmarked(token: &str) -> Cow<'_, str> {
    let is_number = token.strip_suffix(['.', ')']).is_some_and(|digits| {
        !digits.is_empty() && digits.len() < 10 && digits.bytes().all(|b| b.is_ascii_digit())
    });
    if is_number {
        let (digits, dot) = token.split_at(token.len() - 1);
        return format!("{digits}\\{dot}").into();
    }
    let rule = token.len() >= 2 && token.bytes().all(|b| matches!(b, b'-' | b'=' | b'_'));
    let heading = token.starts_with('#');
    if ["-", "+", "="].contains(&token) || rule || heading {
        return format!("\\{token}").into();
    }
    token.into()
}

#[cfg(test)]
mod tests;
