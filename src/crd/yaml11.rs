//! Finds plain scalars that mean one thing to kubectl and the API server, which read YAML 1.1, and another to YAML 1.2.
//!
//! A bare `on` is `true` to the one and text to the other (<https://yaml.org/type/bool.html>, <https://yaml.org/type/int.html>).

use std::ops::Range;

use granit_parser::{Event, Parser, ScalarStyle};

/// A scalar of two meanings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguous {
    /// In bytes of the text that was searched.
    pub place: Range<usize>,
    pub scalar: String,
}

/// The ambiguous scalars of `text`, in order. What can't be parsed is left to the reader to report.
pub fn ambiguous(text: &str) -> impl Iterator<Item = Ambiguous> {
    let text = if text.lines().any(is_suspicious) {
        text
    } else {
        ""
    };
    Parser::new_from_str(text)
        .map_while(Result::ok)
        .filter_map(|(event, span)| match event {
            Event::Scalar(scalar, ScalarStyle::Plain, ..) if differs(&scalar) => Some(Ambiguous {
                place: span.byte_range().unwrap_or_default(),
                scalar: scalar.to_string(),
            }),
            _ => None,
        })
}

/// Whether a token of the line might be such a scalar; cheap, and wrong only in one direction.
fn is_suspicious(line: &str) -> bool {
    line.split([' ', ',', '[', ']', '{', '}', ':', '\t', '\r'])
        .any(differs)
        || line.split_whitespace().any(differs)
}

fn differs(scalar: &str) -> bool {
    is_boolean(scalar) || is_number(scalar)
}

fn is_boolean(scalar: &str) -> bool {
    const WORDS: [&str; 6] = ["y", "n", "on", "no", "off", "yes"];
    scalar.len() <= 3
        && WORDS.iter().any(|word| {
            let capital = word[..1].to_uppercase() + &word[1..];
            scalar == *word || scalar == word.to_uppercase() || scalar == capital
        })
}

/// Octal with a bare zero, digits parted by `_`, and base 60.
fn is_number(scalar: &str) -> bool {
    let digits = scalar.strip_prefix(['+', '-']).unwrap_or(scalar);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let octal = digits.len() > 1
        && digits.starts_with('0')
        && digits
            .bytes()
            .all(|b| (b'0'..=b'7').contains(&b) || b == b'_');
    let parted = digits.contains('_')
        && digits
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'_' || b == b'.');
    let mut parts = digits.split(':');
    let sexagesimal = parts.next().is_some_and(|first| {
        !first.is_empty() && !first.starts_with('0') && first.bytes().all(|b| b.is_ascii_digit())
    }) && digits.contains(':')
        && parts.all(|part| {
            (1..=2).contains(&part.len()) && part.parse::<u8>().is_ok_and(|part| part < 60)
        });
    octal || parted || sexagesimal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_words_of_two_meanings_are_found() {
        let text =
            "a: on\nb: 'on'\nc: [No, 1]\ny: x\nd: |\n  yes\n  no: 1\ne: 0777\nf: 1_000\ng: 1:30\n";
        let line = |at: usize| text[..at].matches('\n').count() + 1;
        let found: Vec<_> = ambiguous(text)
            .map(|a| (line(a.place.start), a.scalar))
            .collect();
        let expected = [
            (1, "on"),
            (3, "No"),
            (4, "y"),
            (8, "0777"),
            (9, "1_000"),
            (10, "1:30"),
        ];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn what_both_read_alike_is_left_alone() {
        assert_eq!(
            ambiguous("a: true\nb: 0\nc: 10.5\nd: online\ne: 0.5\nf: none\ng: v1:2\nh: 08\n")
                .next(),
            None
        );
    }
}
