//! The path of a field in the schema of a version, such as `spec.pools[name].size`, and the places of an object that it matches.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

use super::place::{Step, member};

/// A part of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Field(String),
    /// Each item of a list, with the names of the list's keys, if it has keys.
    Items(Vec<String>),
    /// Each value of a map.
    Values,
}

/// A path as it is written in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    text: String,
    segments: Vec<Segment>,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Path {
    /// Reads a path; the error is what is wrong with it.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let mut segments = Vec::new();
        let mut rest = text.chars().peekable();
        loop {
            segments.push(Segment::Field(read_name(&mut rest)?));
            while let Some(open) = rest.next_if(|it| matches!(it, '[' | '{')) {
                segments.push(if open == '[' {
                    Segment::Items(read_keys(&mut rest)?)
                } else if rest.next() == Some('}') {
                    Segment::Values
                } else {
                    return Err("`{` needs a `}` right after it");
                });
            }
            match rest.next() {
                None => break,
                Some('.') => {}
                Some(_) => return Err("after `]` or `}` comes a `.` or nothing"),
            }
        }
        if matches!(&segments[0], Segment::Field(name) if is_meta(name)) {
            return Err("a conversion does not change `apiVersion`, `kind` and `metadata`");
        }
        Ok(Self {
            text: text.to_owned(),
            segments,
        })
    }

    pub fn len(&self) -> usize {
        self.segments.len()
    }

    /// The lists that the path leads through, each with the names of its keys.
    pub fn lists(&self) -> impl Iterator<Item = (&[Segment], &[String])> {
        let segments = self.segments.iter().enumerate();
        segments.filter_map(|(index, segment)| match segment {
            Segment::Items(keys) => Some((&self.segments[..index], keys.as_slice())),
            _ => None,
        })
    }

    /// The `[]` (true) and `{}` (false) of the path.
    pub fn wildcards(&self) -> impl Iterator<Item = bool> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Field(_) => None,
            Segment::Items(_) => Some(true),
            Segment::Values => Some(false),
        })
    }

    /// The field at the end of the path; `None` if the path ends with `[]` or `{}`.
    pub fn field(&self) -> Option<&str> {
        match self.segments.last() {
            Some(Segment::Field(name)) => Some(name),
            _ => None,
        }
    }

    /// The places in `value` that exist, in the order of the lists.
    pub fn places(&self, value: &Value) -> Vec<Vec<Step>> {
        places(&self.segments, value)
    }

    /// The places of the path's parent that exist.
    pub fn parents(&self, value: &Value) -> Vec<Vec<Step>> {
        places(&self.segments[..self.segments.len() - 1], value)
    }

    /// The steps that the `[]` and `{}` match, if the path leads to the place or to one above it.
    pub fn bindings(&self, place: &[Step]) -> Option<Vec<Step>> {
        (self.segments.len() <= place.len()).then_some(())?;
        bindings(&self.segments, place)
    }

    /// Whether the path leads to this place exactly.
    pub fn is_at(&self, place: &[Step]) -> bool {
        self.len() == place.len() && self.bindings(place).is_some()
    }

    /// The rest of the path below a place, if it leads through it.
    pub fn below(&self, place: &[Step]) -> Option<&[Segment]> {
        let (above, rest) = self.segments.split_at_checked(place.len())?;
        bindings(above, place)?;
        (!rest.is_empty()).then_some(rest)
    }

    /// The place to which the path leads with these steps for its `[]` and `{}`.
    pub fn bind(&self, bindings: &[Step]) -> Vec<Step> {
        let mut bindings = bindings.iter();
        let segments = self.segments.iter();
        let step = |segment: &Segment| match segment {
            Segment::Field(name) => Some(Step::Field(name.clone())),
            Segment::Items(_) | Segment::Values => bindings.next().cloned(),
        };
        segments.map_while(step).collect()
    }

    /// Whether one of the two paths leads to a place of the other or to one above it.
    pub fn overlaps(&self, other: &Self) -> bool {
        let pairs = self.segments.iter().zip(&other.segments);
        pairs.into_iter().all(|(a, b)| match (a, b) {
            (Segment::Field(a), Segment::Field(b)) => a == b,
            (Segment::Items(_), Segment::Items(_)) => true,
            (Segment::Items(_), _) | (_, Segment::Items(_)) => false,
            (Segment::Values, _) | (_, Segment::Values) => true,
        })
    }

    /// Whether the path leads to `other` or to one above it.
    pub fn covers(&self, other: &Self) -> bool {
        self.len() <= other.len() && self.overlaps(other)
    }
}

/// Whether every object has this field, with the same meaning in all versions.
pub(super) fn is_meta(field: &str) -> bool {
    matches!(field, "apiVersion" | "kind" | "metadata")
}

/// The places below `value` that exist.
pub(super) fn places(segments: &[Segment], value: &Value) -> Vec<Vec<Step>> {
    let mut open = vec![(Vec::new(), value)];
    for segment in segments {
        let mut next = Vec::new();
        for (place, value) in open {
            for step in steps(segment, value) {
                if let Some(value) = member(value, &step) {
                    let mut place: Vec<Step> = place.clone();
                    place.push(step);
                    next.push((place, value));
                }
            }
        }
        open = next;
    }
    open.into_iter().map(|(place, _)| place).collect()
}

fn steps(segment: &Segment, value: &Value) -> Vec<Step> {
    match (segment, value) {
        (Segment::Field(name), Value::Object(_)) => vec![Step::Field(name.clone())],
        (Segment::Items(_), Value::Array(items)) => (0..items.len()).map(Step::Item).collect(),
        (Segment::Values, Value::Object(map)) => map.keys().cloned().map(Step::Field).collect(),
        _ => Vec::new(),
    }
}

/// The steps that the `[]` and `{}` match, if the segments and the place agree as far as both go.
fn bindings(segments: &[Segment], place: &[Step]) -> Option<Vec<Step>> {
    let mut bindings = Vec::new();
    for (segment, step) in segments.iter().zip(place) {
        match (segment, step) {
            (Segment::Field(name), Step::Field(field)) if name == field => {}
            (Segment::Items(_), Step::Item(_)) | (Segment::Values, Step::Field(_)) => {
                bindings.push(step.clone());
            }
            _ => return None,
        }
    }
    Some(bindings)
}

/// Whether the segments lead to this place exactly.
pub(super) fn is_list_at(segments: &[Segment], place: &[Step]) -> bool {
    segments.len() == place.len() && bindings(segments, place).is_some()
}

fn read_name(rest: &mut Peekable<Chars<'_>>) -> Result<String, &'static str> {
    let mut name = String::new();
    while let Some(next) = rest.next_if(|it| !matches!(it, '.' | '[' | '{')) {
        match next {
            '\\' => name.push(rest.next().ok_or("nothing comes after the last `\\`")?),
            other => name.push(other),
        }
    }
    if name.is_empty() {
        return Err("a name is empty");
    }
    Ok(name)
}

fn read_keys(rest: &mut Peekable<Chars<'_>>) -> Result<Vec<String>, &'static str> {
    let mut keys = Vec::new();
    let mut key = String::new();
    loop {
        match rest.next() {
            Some('\\') => key.extend(rest.next()),
            Some(end @ (',' | ']')) => {
                if !key.is_empty() {
                    keys.push(std::mem::take(&mut key));
                }
                if end == ']' {
                    return Ok(keys);
                }
            }
            Some(other) => key.push(other),
            None => return Err("`[` has no `]`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::place::Shown;
    use super::*;

    #[test]
    fn a_path_finds_its_places_in_lists_and_maps() {
        let value =
            json!({"spec": {"pools": [{"a": {"x": {"size": 1}, "y": {}}}, 7, {"a": null}]}});
        let path = Path::read("spec.pools[name].a{}.size").unwrap();
        let places = path.places(&value);
        let shown: Vec<String> = places.iter().map(|it| Shown(it).to_string()).collect();
        assert_eq!(shown, ["spec.pools[0].a.x.size"]);
        let bindings = path.bindings(&places[0]).unwrap();
        assert_eq!(bindings, [Step::Item(0), Step::Field("x".into())]);
        assert_eq!(path.bind(&bindings), places[0]);
    }

    #[test]
    fn a_name_with_dots_is_escaped() {
        let path = Path::read(r"spec.a\.b\[c").unwrap();
        assert_eq!(path.segments[1], Segment::Field("a.b[c".into()));
    }

    #[test]
    fn a_wrong_path_is_an_error() {
        for wrong in [
            "",
            "spec.",
            "spec..a",
            "spec.a[",
            "spec.a{x}",
            "spec.a[]b",
            "metadata.name",
            "spec.a\\",
        ] {
            assert!(Path::read(wrong).is_err(), "{wrong}");
        }
    }
}
