//! The order of modules in the 2024 style: numbers in names are compared by value.
//!
//! <https://doc.rust-lang.org/style-guide/#sorting>

use std::cmp::Ordering;

/// Compares two identifiers in lower case.
pub fn version_order(a: &str, b: &str) -> Ordering {
    chunks(a).cmp(chunks(b)).then_with(|| a.cmp(b))
}

/// A part of an identifier that is compared as a whole.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Chunk<'a> {
    Underscore,
    /// The number of digits without leading zeros, and these digits.
    Number(usize, &'a str),
    Letters(&'a str),
}

/// Splits an identifier into single underscores, numbers and other characters.
fn chunks(mut name: &str) -> impl Iterator<Item = Chunk<'_>> {
    std::iter::from_fn(move || {
        let first = name.bytes().next()?;
        let is_same = |byte: u8| match first {
            b'_' => false,
            _ => byte != b'_' && byte.is_ascii_digit() == first.is_ascii_digit(),
        };
        let length = 1 + name
            .bytes()
            .skip(1)
            .take_while(|byte| is_same(*byte))
            .count();
        let (chunk, rest) = name.split_at(length);
        name = rest;
        let digits = chunk.trim_start_matches('0');
        Some(match first {
            b'_' => Chunk::Underscore,
            b'0'..=b'9' => Chunk::Number(digits.len(), digits),
            _ => Chunk::Letters(chunk),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value() {
        let mut names = ["v10", "v2", "v1beta1", "v1", "v1alpha1", "v_", "va", "v"];
        names.sort_by(|a, b| version_order(a, b));
        assert_eq!(
            names,
            ["v", "v_", "v1", "v1alpha1", "v1beta1", "v2", "v10", "va"]
        );
    }
}
