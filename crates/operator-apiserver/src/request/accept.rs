//! Parses the header [`Accept`] as the API server does.
//!
//! [`Accept`]: https://www.rfc-editor.org/rfc/rfc9110#name-accept

/// A media range, such as `application/json;as=Table;g=meta.k8s.io;v=v1`.
pub(crate) struct Range<'a> {
    pub media: &'a str,
    params: Vec<(&'a str, &'a str)>,
}

/// The ranges of a header, in the order in which they are tried.
pub(crate) fn ranges(header: &str) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = header
        .split(',')
        .map(str::trim)
        .filter(|range| range.contains('/') || range.starts_with('*'))
        .map(Range::read)
        .collect();
    // The comparison is not a total order, so the sorting algorithm matters: Go uses insertion sort.
    for end in 1..ranges.len() {
        let mut at = end;
        while at > 0 && ranges[at].is_before(&ranges[at - 1]) {
            ranges.swap(at, at - 1);
            at -= 1;
        }
    }
    ranges
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().unwrap_or_default();
        let params = parts.filter_map(|part| part.split_once('='));
        Self {
            media,
            params: params.filter(|(_, value)| !value.contains('=')).collect(),
        }
    }

    /// The value of a parameter; the last one if there are several.
    pub fn param(&self, name: &str) -> Option<&'a str> {
        self.params
            .iter()
            .rev()
            .find_map(|(key, value)| (*key == name).then_some(*value))
    }

    fn weight(&self) -> f32 {
        self.param("q")
            .map_or(1.0, |q| q.parse().unwrap_or_default())
    }

    /// Compares ranges: first by weight, then ranges without a wildcard before others.
    fn is_before(&self, other: &Self) -> bool {
        let type_ = |range: &Self| range.media.starts_with('*');
        let subtype = |range: &Self| range.media.ends_with('*');
        self.weight() > other.weight()
            || !type_(self) && type_(other)
            || !subtype(self) && subtype(other)
    }

    pub fn takes_json(&self) -> bool {
        matches!(
            self.media,
            "application/json" | "application/*" | "*/*" | "*"
        )
    }

    /// The kind, group and version into which objects must be converted.
    pub fn wanted(&self) -> Option<[&'a str; 3]> {
        let wanted = ["as", "g", "v"].map(|name| self.param(name));
        let is_given = wanted.iter().any(Option::is_some);
        is_given.then(|| wanted.map(Option::unwrap_or_default))
    }

    /// Whether the server supports the version and stream parameters of the range.
    pub fn is_served(&self) -> bool {
        let is = |name: &str, known: &str| {
            let given = self.param(name).unwrap_or_default();
            given.is_empty() || given == known
        };
        is("sv", "v1") && is("stream", "watch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_tried_in_the_order_of_the_real_server() {
        let sorted = ranges("*/*, a/b;q=0.1, , c/d;v=1 , text/*;q=0.5,e/f");
        let media: Vec<&str> = sorted.iter().map(|range| range.media).collect();
        assert_eq!(media, ["c/d", "e/f", "text/*", "a/b", "*/*"]);
        assert_eq!(sorted[0].wanted(), Some(["", "", "1"]));
        assert_eq!(sorted[1].wanted(), None);
    }

    #[test]
    fn an_invalid_weight_is_zero() {
        let sorted = ranges("a/b;q=x, c/d;q=0.1;q=0.2, e/f;q=1=2");
        let media: Vec<&str> = sorted.iter().map(|range| range.media).collect();
        assert_eq!(media, ["e/f", "c/d", "a/b"]);
    }
}
