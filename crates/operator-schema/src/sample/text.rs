//! Candidates for strings: readable ones first, then ones that are generated from the patterns.

use crate::{Schema, pattern};
use regex_syntax::hir::{Class, Hir, HirKind};

/// Values that a reader would expect; the first valid one is used.
const READABLE: [&str; 46] = [
    "example",
    "Example",
    "EXAMPLE",
    "a",
    "A",
    "1",
    "0",
    "10s",
    "1h",
    "1h0m0s",
    "PT1H",
    "1d",
    "1Gi",
    "100m",
    "1GB",
    "50%",
    "v1",
    "1.0",
    "1.0.0",
    "v1.0.0",
    "true",
    "example.com",
    "www.example.com",
    "example.com/example",
    "example/example",
    "default/example",
    "https://example.com",
    "/example",
    "/",
    "s3://example",
    "example@example.com",
    "example:1.0",
    "10.0.0.1",
    "10.0.0.1:80",
    "10.0.0.0/8",
    "fd00::1",
    "2024-01-01T00:00:00Z",
    "2024-01-01",
    "00:00",
    "* * * * *",
    "01:23:45:67:89:ab",
    "123e4567-e89b-42d3-a456-426614174000",
    "arn:aws:iam::123456789012:role/example",
    "123456789012",
    "ZXhhbXBsZQ==",
    "#ffffff",
];

/// How often a pattern is tried with other alternatives and more repetitions.
const ALTERNATIVES: usize = 12;

/// The approximate maximum length of a candidate.
const LONGEST: usize = 4096;

pub(super) fn candidates(facets: &[&Schema], name: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let lower = name.to_lowercase();
    if name == "namespace" {
        candidates.push("default".to_owned());
    } else if ["schedule", "cron", "crontab", "cronexpression"]
        .iter()
        .any(|end| lower.ends_with(end))
    {
        // the kinds of Kubernetes that take it check it
        candidates.push("0 0 * * *".to_owned());
    }
    candidates.extend(READABLE.map(str::to_owned));
    let least = super::most_of(facets, |facet| facet.min_length);
    let patterns = facets.iter().filter_map(|facet| facet.pattern.as_deref());
    candidates.extend(patterns.flat_map(|it| matching(it, least)));
    candidates.push("example".chars().cycle().take(least).collect());
    candidates.push(String::new());
    candidates.extend((2..10).map(numbered));
    candidates.dedup();
    candidates
}

/// Texts that are likely to match a pattern, with other alternatives and more repetitions.
pub(crate) fn matching(pattern: &str, least: usize) -> Vec<String> {
    let translated = pattern::translated(pattern).ok();
    let Some(hir) = translated.and_then(|it| regex_syntax::parse(&it).ok()) else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for more in [0, 1, 2, 4, least] {
        for alternative in 0..ALTERNATIVES {
            let mut text = String::new();
            write(&hir, more, alternative, &mut text);
            texts.push(text);
        }
    }
    texts
}

/// `example`, `example-2`, `example-3` and so on.
pub(super) fn numbered(n: usize) -> String {
    if n < 2 {
        ["example", "example-1"][n].to_owned()
    } else {
        format!("example-{n}")
    }
}

/// Writes a text that matches the expression, ignoring look-around.
fn write(hir: &Hir, more: usize, alternative: usize, out: &mut String) {
    if out.len() > LONGEST {
        return;
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(&String::from_utf8_lossy(&literal.0)),
        HirKind::Class(class) => out.extend(member(class)),
        HirKind::Repetition(repetition) => {
            let least = repetition.min as usize;
            let most = repetition.max.map_or(usize::MAX, |max| max as usize);
            for _ in 0..(least + more).min(most).min(LONGEST) {
                write(&repetition.sub, more, alternative, out);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, alternative, out),
        HirKind::Concat(parts) => parts
            .iter()
            .for_each(|part| write(part, more, alternative, out)),
        HirKind::Alternation(parts) => {
            write(&parts[alternative % parts.len()], more, alternative, out)
        }
    }
}

/// A letter or digit of the class, or another character if it has none.
fn member(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class
            .iter()
            .map(|range| (range.start(), range.end()))
            .collect(),
        Class::Bytes(class) => class
            .iter()
            .map(|range| (range.start().into(), range.end().into()))
            .collect(),
    };
    let holds = |c: &char| ranges.iter().any(|(start, end)| (start..=end).contains(&c));
    let readable = ('a'..='z')
        .chain('A'..='Z')
        .chain('0'..='9')
        .chain('!'..='~');
    readable
        .into_iter()
        .find(|c| holds(c))
        .or_else(|| ranges.first().map(|(start, _)| *start))
}
