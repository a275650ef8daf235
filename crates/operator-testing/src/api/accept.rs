//! The header [`Accept`], with the weights of its ranges.
//!
//! [`Accept`]: https://www.rfc-editor.org/rfc/rfc9110#name-accept

/// A range of media types, such as `application/json;as=Table;g=meta.k8s.io;v=v1`.
pub(crate) struct Range<'a> {
    pub media: &'a str,
    params: Vec<(&'a str, &'a str)>,
}

/// The ranges of a header: first what weighs most, then what has no star.
pub(crate) fn ranges(header: &str) -> Vec<Range<'_>> {
    let given = header.split(',').map(str::trim);
    let mut ranges: Vec<Range<'_>> = given
        .filter(|range| !range.is_empty())
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            Range {
                media: parts.next().unwrap_or_default(),
                params: parts.filter_map(|part| part.split_once('=')).collect(),
            }
        })
        .collect();
    let weight = |range: &Range<'_>| range.param("q").and_then(|q| q.parse::<f32>().ok());
    ranges.sort_by(|a, b| {
        let (one, other) = (weight(a).unwrap_or(1.0), weight(b).unwrap_or(1.0));
        let by_star = a
            .media
            .matches('*')
            .count()
            .cmp(&b.media.matches('*').count());
        other.total_cmp(&one).then(by_star)
    });
    ranges
}

impl Range<'_> {
    pub fn param(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        params.find_map(|(key, value)| (*key == name).then_some(*value))
    }

    pub fn takes_json(&self) -> bool {
        matches!(self.media, "application/json" | "application/*" | "*/*")
    }

    /// What objects are to be turned into: a kind, its group and its version.
    pub fn wanted(&self) -> Option<[&str; 3]> {
        let wanted = ["as", "g", "v"].map(|name| self.param(name));
        let is_given = wanted.iter().any(Option::is_some);
        is_given.then(|| wanted.map(Option::unwrap_or_default))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weighs_most_is_first_and_a_star_is_last() {
        let sorted = ranges("*/*, a/b;q=0.1, , c/d;v=1 , text/*;q=0.5,e/f");
        let media: Vec<&str> = sorted.iter().map(|range| range.media).collect();
        assert_eq!(media, ["c/d", "e/f", "*/*", "text/*", "a/b"]);
        assert_eq!(sorted[0].wanted(), Some(["", "", "1"]));
        assert_eq!(sorted[1].wanted(), None);
    }
}
