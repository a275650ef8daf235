//! Candidates for strings: readable ones first, then ones that are generated from the patterns.

use crate::{Schema, pattern};
use regex_syntax::hir::{Class, Hir, HirKind, Look};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

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

/// How many alternatives of a pattern are tried for each number of repetitions.
const ALTERNATIVES: usize = 12;

/// The approximate maximum length of a candidate, unless its pattern demands more.
const LONGEST: usize = 4096;

/// The approximate maximum length of any candidate.
const MOST: usize = 1 << 16;

pub(super) fn candidates(facets: &[&Schema], name: &str) -> Vec<String> {
    let mut candidates = Vec::new();
    let lower = name.to_lowercase();
    if name == "namespace" {
        candidates.push("default".to_owned());
    } else if ["schedule", "cron", "crontab", "cronexpression"]
        .iter()
        .any(|end| lower.ends_with(end))
    {
        // an operator may pass it to a CronJob, whose schedule the API server validates
        candidates.push("0 0 * * *".to_owned());
    }
    candidates.extend(READABLE.map(str::to_owned));
    let least = super::most_of(facets, |facet| facet.min_length);
    let patterns = facets.iter().filter_map(|facet| facet.pattern.as_deref());
    for pattern in patterns {
        candidates.extend(matching(pattern, least).iter().cloned());
    }
    candidates.push("example".chars().cycle().take(least).collect());
    candidates.push(String::new());
    candidates.extend((2..10).map(numbered));
    candidates.dedup();
    candidates
}

/// Texts that are likely to match a pattern, with other alternatives and more repetitions. They are cached for the last patterns.
pub(crate) fn matching(pattern: &str, least: usize) -> Rc<[String]> {
    const REMEMBERED: usize = 64;
    type Known = HashMap<(String, usize), Rc<[String]>>;
    thread_local! {
        static KNOWN: RefCell<Known> = RefCell::default();
    }
    let key = (pattern.to_owned(), least);
    if let Some(known) = KNOWN.with_borrow(|known| known.get(&key).cloned()) {
        return known;
    }
    let texts: Rc<[String]> = written(pattern, least).into();
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(key, texts.clone());
    });
    texts
}

/// The texts of [`matching`], without the cache.
fn written(pattern: &str, least: usize) -> Vec<String> {
    let Some(hir) = pattern::translated(pattern)
        .ok()
        .and_then(|it| regex_syntax::parse(&it).ok())
    else {
        return Vec::new();
    };
    let compiled = pattern::compiled(pattern).ok();
    let shortest = hir.properties().minimum_len().unwrap_or(0);
    let mut texts = Vec::new();
    for more in [0, 1, 2, 4, least] {
        for alternative in 0..ALTERNATIVES {
            let mut writer = Writer {
                text: String::new(),
                more,
                alternative,
                longest: shortest.clamp(LONGEST, MOST),
                end: None,
                is_sure: true,
            };
            writer.write(&hir);
            let is_match = writer.is_sure && writer.end.is_none_or(|end| end == writer.text.len());
            if let Some(compiled) = compiled.as_ref().filter(|_| is_match) {
                compiled.matched_by(&writer.text);
            }
            texts.push(writer.text);
        }
    }
    texts.dedup();
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

/// A text of the same format: with another number at its end, or another name in it.
pub(super) fn another(text: &str, n: usize) -> Option<String> {
    let Some(last) = text.rfind(|c: char| c.is_ascii_digit()) else {
        let name = numbered(n + 1);
        return text
            .contains("example")
            .then(|| text.replacen("example", &name, 1));
    };
    let head = text[..=last].trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = &text[head.len()..=last];
    let number = digits
        .parse::<u64>()
        .ok()?
        .checked_add(n.try_into().ok()?)?;
    let (width, tail) = (digits.len(), &text[last + 1..]);
    Some(format!("{head}{number:0width$}{tail}"))
}

/// Writes a text that is likely to match a regular expression.
struct Writer {
    text: String,
    /// The number of repetitions beyond the minimum.
    more: usize,
    /// The index of the alternative that is taken, modulo their number.
    alternative: usize,
    /// The approximate maximum length.
    longest: usize,
    /// Where the text must end.
    end: Option<usize>,
    /// Whether the text matches, if it ends there.
    is_sure: bool,
}

impl Writer {
    fn write(&mut self, hir: &Hir) {
        if self.text.len() > self.longest {
            self.is_sure = false;
            return;
        }
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Look(Look::Start) if self.text.is_empty() => {}
            HirKind::Look(Look::End) => {
                self.end.get_or_insert(self.text.len());
            }
            HirKind::Look(_) => self.is_sure = false,
            HirKind::Literal(literal) => self.text.push_str(&String::from_utf8_lossy(&literal.0)),
            HirKind::Class(class) => match member(class) {
                Some(member) => self.text.push(member),
                None => self.is_sure = false,
            },
            HirKind::Repetition(repetition) => {
                let least = repetition.min as usize;
                let most = repetition.max.map_or(usize::MAX, |max| max as usize);
                let count = (least + self.more).min(most);
                self.is_sure &= count <= self.longest;
                for _ in 0..count.min(self.longest) {
                    self.write(&repetition.sub);
                }
            }
            HirKind::Capture(capture) => self.write(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part)),
            HirKind::Alternation(parts) => self.write(&parts[self.alternative % parts.len()]),
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
    ('a'..='z')
        .chain('A'..='Z')
        .chain('0'..='9')
        .chain('!'..='~')
        .into_iter()
        .find(|c| holds(c))
        .or_else(|| ranges.first().map(|(start, _)| *start))
}
