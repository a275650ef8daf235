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

/// Whether a token of the line might be such a scalar; cheap, and wrong only in one direction: a word amid others is none.
fn is_suspicious(line: &str) -> bool {
    let is_bound = |byte: &u8| {
        matches!(
            byte,
            b' ' | b'\t' | b'\r' | b',' | b'[' | b']' | b'{' | b'}' | b'"'
        )
    };
    let mut end = 0;
    while let Some(before) = line.as_bytes()[end..].iter().position(|it| !is_bound(it)) {
        let start = end + before;
        let length = line.as_bytes()[start..].iter().position(is_bound);
        end = length.map_or(line.len(), |length| start + length);
        let token = &line[start..end];
        let is_candidate = |part: &str| part.starts_with(may_begin) && differs(part);
        let is_found = is_candidate(token.trim_end_matches(':'))
            || token.contains(':') && token.split(':').any(is_candidate);
        if is_found && stands_alone(line, start, token) {
            return true;
        }
    }
    false
}

fn may_begin(c: char) -> bool {
    matches!(c, 'y' | 'Y' | 'n' | 'N' | 'o' | 'O' | '+' | '-' | '0'..='9')
}

/// Whether nothing before and after the token on the line makes it part of a longer scalar.
fn stands_alone(line: &str, at: usize, token: &str) -> bool {
    let before = line[..at].trim_end();
    let after = line[at + token.len()..].trim_start();
    let begins = before.is_empty() || before.ends_with([':', '-', '?', ',', '[', '{']);
    // without a blank no word is looked for, which would go back to the start of a long line for each of its tokens
    let has_property = || {
        let mut words = before.rsplit(char::is_whitespace);
        before.len() < at && words.next().is_some_and(|it| it.starts_with(['!', '&']))
    };
    // a colon parts it from a value, and from a key in quotes without a blank
    (begins || token.starts_with(':') || has_property())
        && (token.ends_with(':')
            || after.is_empty()
            || after.starts_with(['#', ':', ',', ']', '}']))
}

fn differs(scalar: &str) -> bool {
    is_boolean(scalar) || is_number(scalar)
}

fn is_boolean(scalar: &str) -> bool {
    matches!(
        scalar,
        "y" | "Y"
            | "n"
            | "N"
            | "on"
            | "On"
            | "ON"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
            | "yes"
            | "Yes"
            | "YES"
    )
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
    fn they_are_found_wherever_a_scalar_may_stand() {
        for text in [
            "- on",
            "[on]",
            "{on: 1}",
            "{a: on}",
            "{\"a\":on}",
            "on: 1",
            "on : 1",
            "a: on # x",
            "a:\n  on",
            "? on",
            "- - on",
            "a: !x on",
            "a: &x on",
            "[1,on ,2]",
            "[\n  on\n]",
            "a:  on\t",
            "a: 1:30",
            "- 0777:",
        ] {
            assert_eq!(ambiguous(text).count(), 1, "{text}");
        }
        for text in [
            "a: depends on it",
            "a: x\n  on\n  y",
            "a: turn it on",
            "a: \"on\"",
            "a: at 10:30",
        ] {
            assert_eq!(ambiguous(text).next(), None, "{text}");
        }
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
