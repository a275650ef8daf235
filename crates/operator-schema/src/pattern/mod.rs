//! Converts patterns from Go's regular expression syntax to that of the `regex` crate.
//!
//! The two differ in subtle ways: in Go, classes such as `\d` are ASCII, `[` and `&&` are literals within brackets, and `{` is a literal
//! unless a count follows. So a pattern is parsed as Go does, and rewritten. What Go rejects (look-around, back-references) is an error
//! here as well. Groups do not capture, because only the match matters.
//!
//! <https://pkg.go.dev/regexp/syntax>

mod translate;

pub(crate) use translate::translated;

use regex::{Regex, RegexBuilder};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Why a pattern is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("missing closing ]: `{0}`")]
    OpenClass(String),
    #[error("invalid character class range: `{0}`")]
    Range(String),
    #[error("invalid escape sequence: `{0}`")]
    Escape(String),
    #[error("invalid or unsupported Perl syntax: `{0}`")]
    Group(String),
    #[error("invalid nested repetition operator: `{0}`")]
    NestedRepeat(char),
    #[error("invalid repeat count: `{0}`")]
    Count(String),
    #[error("{0}")]
    Refused(String),
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// The minimum length of a text that matches, in bytes.
    shortest: usize,
    /// The results for a long pattern. They are cached, because the time of a match grows with the product of both lengths.
    tried: Mutex<HashMap<String, bool>>,
    is_long: bool,
}

impl Pattern {
    /// Whether a part of the text matches.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        if text.len() < self.shortest {
            return false;
        }
        if !self.is_long {
            return self.regex.is_match(text);
        }
        if let Some(is_match) = lock(&self.tried).get(text) {
            return *is_match;
        }
        let is_match = self.regex.is_match(text);
        self.remember(text, is_match);
        is_match
    }

    /// Records that a text matches, because it was generated from the pattern.
    pub(crate) fn matched_by(&self, text: &str) {
        if self.is_long {
            self.remember(text, true);
        }
    }

    fn remember(&self, text: &str, is_match: bool) {
        const REMEMBERED: usize = 512;
        let mut tried = lock(&self.tried);
        if tried.len() >= REMEMBERED {
            tried.clear();
        }
        tried.insert(text.to_owned(), is_match);
    }
}

/// Compiles a pattern. The result is cached, because the same few patterns are used again and again.
///
/// The `Regex` is shared, because a clone begins with an empty match cache, which costs more than most matches.
pub(crate) fn compiled(pattern: &str) -> Result<Arc<Pattern>, PatternError> {
    const REMEMBERED: usize = 1024;
    type Known = HashMap<String, Result<Arc<Pattern>, PatternError>>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

    if let Some(known) = lock(&KNOWN).get(pattern) {
        return known.clone();
    }
    let regex = compile(pattern).map(Arc::new);
    let mut known = lock(&KNOWN);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(pattern.to_owned(), regex.clone());
    regex
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn compile(pattern: &str) -> Result<Pattern, PatternError> {
    /// The length of a long pattern.
    const LONG: usize = 256;
    // the last line has the reason; those before it repeat the pattern
    let refused = |error: regex::Error| {
        let message = error.to_string();
        let why = message.lines().last().unwrap_or_default();
        PatternError::Refused(why.trim_start_matches("error: ").to_owned())
    };
    let translated = translated(pattern)?;
    let mut builder = RegexBuilder::new(&translated);
    let regex = builder.size_limit(1 << 26).build().map_err(refused)?;
    let parsed = regex_syntax::parse(&translated).ok();
    let shortest = parsed.and_then(|it| it.properties().minimum_len());
    Ok(Pattern {
        regex,
        shortest: shortest.unwrap_or(0),
        tried: Mutex::default(),
        is_long: pattern.len() > LONG,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_go() {
        let cases = [
            (r"^\d+$", "12", "\u{661}"),
            (r"^\w$", "_", "\u{e9}"),
            (r"^\s$", "\t", "\u{b}"),
            (r"^[^\s]$", "\u{b}", " "),
            (r"^[\W]$", "\u{e9}", "a"),
            (r"^[a[&&]+$", "[a&", "b"),
            (r"^[]a]$", "]", "b"),
            (r"^[+--]$", ",", "."),
            (r"^a{,2}$", "a{,2}", "aa"),
            (r"^\Qa.b\E$", "a.b", "axb"),
            (r"^\x41\101$", "AA", "A"),
            (r"\bfoo\b", "a foo", "foos"),
            (r"^(?P<n>a)(?<m>b)$", "ab", "ba"),
            (r"(?i)^K$", "\u{212a}", "x"),
            (r"^\p{^Lu}\pL$", "aA", "AA"),
            (r"^\<\-\>$", "<->", "->"),
            (r"^[[:alpha:]_-]+$", "a_-", "1"),
            ("^\u{e9}.$", "\u{e9}\u{1F600}", "\u{e9}\n"),
        ];
        for (pattern, good, bad) in cases {
            let regex = compiled(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert!(regex.is_match(good), "{pattern} matches {good}");
            assert!(!regex.is_match(bad), "{pattern} does not match {bad}");
        }
    }

    #[test]
    fn a_pattern_is_compiled_once() {
        let once = || compiled("^once$").expect("it is a pattern");
        assert!(Arc::ptr_eq(&once(), &once()));
    }

    #[test]
    fn patterns_that_go_rejects_are_invalid() {
        for pattern in [
            "(?=a)", r"(a)\1", "a**", "[a", "[z-a]", "(", "*", r"\8", "a{1001}", r"\u0041",
            "(?x)a", "a{2,1}",
        ] {
            assert!(compiled(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn an_error_does_not_repeat_the_pattern() {
        for pattern in [
            "(".repeat(5_000) + "a" + &")".repeat(5_000),
            "(((a{1000}){1000}){1000})".into(),
        ] {
            let message = compiled(&pattern).expect_err("it is too much").to_string();
            assert!(message.len() < 100 && !message.contains('\n'), "{message}");
        }
    }
}
