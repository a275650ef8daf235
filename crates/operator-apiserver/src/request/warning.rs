//! The [warnings] of a response: each once, and cut if all of them are too long for headers.
//!
//! [warnings]: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/filters/warning.go

use std::borrow::Cow;

/// The maximum number of characters of all warnings. If there are more, each warning is cut.
const LIMIT: usize = 4 * 1024;

/// The number of characters of a warning that was cut.
const CUT: usize = 256;

/// The values of the headers `Warning` for these texts.
pub(crate) fn headers(texts: &[String]) -> Vec<String> {
    let whole = shown(texts, Into::into);
    let sum = |shown: &[Cow<'_, str>]| shown.iter().map(|text| text.chars().count()).sum::<usize>();
    let shown = if sum(&whole) > LIMIT {
        let mut cut = shown(texts, |text| text.chars().take(CUT).collect());
        while sum(&cut[..cut.len() - 1]) >= LIMIT {
            cut.pop();
        }
        cut
    } else {
        whole
    };
    shown.iter().map(|text| header(text)).collect()
}

/// The texts that are valid in a header, after `cut`.
fn shown<'a>(texts: &'a [String], cut: impl Fn(&'a str) -> Cow<'a, str>) -> Vec<Cow<'a, str>> {
    let is_shown = |text: &&String| !text.is_empty() && !text.chars().any(char::is_control);
    texts
        .iter()
        .filter(is_shown)
        .map(|text| cut(text))
        .collect()
}

fn header(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("299 - \"{quoted}\"")
}
