//! A location in a file, with an excerpt of the text around it.

use std::ops::Range;

/// The maximum number of bytes of a line in an excerpt; a longer line is cut around the location.
const WIDTH: usize = 120;

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file as the user named it; `-` is standard input.
    pub path: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// A JSON pointer into the document; may be empty.
    pub pointer: String,
    pub excerpt: Excerpt,
}

/// The line of a location, with the lines before and after it. It is small, however large the text is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    /// The number of the first line.
    pub line: usize,
    /// The marked range, in bytes of `text`.
    pub mark: Range<usize>,
    /// Whether the start of the location's line is cut off, so that its columns are not those of the file.
    pub is_cut: bool,
}

impl Location {
    /// Creates the location of `range`, in bytes of `text`, which begins on the line `first_line` of its file.
    pub fn new(path: &str, first_line: usize, text: &str, range: Range<usize>) -> Self {
        // an unexpected end of the text is shown at its last character, not on the empty line after it
        let start = floor(text, range.start.min(text.trim_end().len()));
        let breaks = || line_breaks(text.as_bytes());
        let before = breaks()
            .take_while(|line_break| line_break.end <= start)
            .count();
        let line_start = breaks()
            .take(before)
            .last()
            .map_or(0, |line_break| line_break.end);
        let line_end = line_end(text, line_start);
        let end = floor(text, range.end).clamp(start, line_end.max(start));
        let (shown, shift) = cut(&text[line_start..line_end], start - line_start);
        let mark = start - line_start - shift.0 + shift.1;
        let mark = mark..(mark + (end - start)).min(shown.len());
        let line = first_line + before;
        let mut excerpt = Excerpt {
            text: shown,
            line,
            mark,
            is_cut: shift.0 > 0,
        };
        if let Some(last) = before.checked_sub(1) {
            let previous = breaks()
                .take(last)
                .last()
                .map_or(0, |line_break| line_break.end);
            excerpt.put_before(&text[previous..self::line_end(text, previous)]);
        }
        if let Some(next) = breaks().nth(before).map(|line_break| line_break.end) {
            let next = cut(&text[next..self::line_end(text, next)], 0).0;
            if !next.trim().is_empty() {
                excerpt.text += "\n";
                excerpt.text += &next;
            }
        }
        Self {
            path: path.to_owned(),
            line,
            column: text[line_start..start].chars().count() + 1,
            pointer: String::new(),
            excerpt,
        }
    }

    #[must_use]
    pub fn with_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

impl Excerpt {
    fn put_before(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let line = cut(line, 0).0 + "\n";
        self.mark = self.mark.start + line.len()..self.mark.end + line.len();
        self.text.insert_str(0, &line);
        self.line -= 1;
    }
}

/// The line numbers of offsets, in one pass over the text if they ascend. The text begins on the line `first`.
pub fn lines(text: &str, first: usize, offsets: impl Iterator<Item = usize>) -> Vec<usize> {
    let (mut at, mut line) = (0, first);
    let count = |offset: usize| {
        if offset < at {
            (at, line) = (0, first);
        }
        let (count, end) = line_breaks(&text.as_bytes()[at..])
            .take_while(|line_break| at + line_break.end <= offset)
            .fold((0, 0), |(count, _), line_break| (count + 1, line_break.end));
        (at, line) = (at + end, line + count);
        line
    };
    offsets.map(count).collect()
}

/// The line breaks: a line feed, a carriage return, or a pair of both.
fn line_breaks(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from
            + text[from..]
                .iter()
                .position(|b| matches!(b, b'\n' | b'\r'))?;
        let pair = text[at] == b'\r' && text.get(at + 1) == Some(&b'\n');
        from = at + 1 + usize::from(pair);
        Some(at..from)
    })
}

fn line_end(text: &str, start: usize) -> usize {
    text[start..]
        .find(['\n', '\r'])
        .map_or(text.len(), |length| start + length)
}

/// The last character boundary at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at)
        .rev()
        .find(|&it| text.is_char_boundary(it))
        .unwrap_or(0)
}

/// Cuts a line around `at`. Returns the excerpt, the number of bytes cut off at the start, and the length of the `...` in their place.
fn cut(line: &str, at: usize) -> (String, (usize, usize)) {
    let start = if at > WIDTH / 2 && line.len() > WIDTH {
        floor(line, at - WIDTH / 2)
    } else {
        0
    };
    let end = floor(line, start + WIDTH);
    let (before, after) = (
        if start > 0 { "..." } else { "" },
        if end < line.len() { "..." } else { "" },
    );
    (
        format!("{before}{}{after}", &line[start..end]),
        (start, before.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str, range: Range<usize>) -> (usize, usize, String) {
        let location = Location::new("x", 11, text, range);
        let Excerpt { text, mark, .. } = &location.excerpt;
        (
            location.line,
            location.column,
            text[mark.clone()].to_owned(),
        )
    }

    #[test]
    fn an_excerpt_has_the_neighbouring_lines() {
        let text = "a: 1\nb: 2\r\nc: 3\rd: 4\n";
        let location = Location::new("x", 1, text, 11..12);
        assert_eq!((location.line, location.column), (3, 1));
        assert_eq!(location.excerpt.text, "b: 2\nc: 3\nd: 4");
        assert_eq!(location.excerpt.line, 2);
        assert_eq!(&location.excerpt.text[location.excerpt.mark.clone()], "c");
        assert_eq!(marked(text, 3..4), (11, 4, "1".into()));
        assert_eq!(marked(text, 16..17), (14, 1, "d".into()));
        assert_eq!(marked("", 0..0), (11, 1, String::new()));
        assert_eq!(marked("a", 9..12), (11, 2, String::new()));
    }

    #[test]
    fn huge_lines_are_cut_around_the_location() {
        let text = format!(
            "{}\u{e4}KEY\u{e4}{}",
            "\u{e4}".repeat(100_000),
            "z".repeat(100_000)
        );
        let start = 200_002;
        let location = Location::new("x", 1, &text, start..start + 3);
        assert_eq!(location.column, 100_002);
        assert_eq!(&location.excerpt.text[location.excerpt.mark.clone()], "KEY");
        assert!(
            location.excerpt.text.len() < 2 * WIDTH,
            "{}",
            location.excerpt.text.len()
        );
        let all = Location::new("x", 1, &text, 0..text.len());
        assert!(all.excerpt.mark.end <= all.excerpt.text.len());
    }

    #[test]
    fn line_numbers_of_ascending_and_descending_offsets_are_found() {
        let text = "a\r\nb\n\nc";
        assert_eq!(lines(text, 3, [0, 3, 6, 4, 3].into_iter()), [3, 4, 6, 4, 4]);
    }
}
