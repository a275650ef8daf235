//! The path of a field in a version: `spec.pools[].size`, with `[]` for the items of a list and `{}` for the values of a map.

use std::fmt;

use crate::evolution::Segment;

/// A path from the root of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Field(String),
    Items,
    Values,
}

impl Path {
    /// Parses a path; `None` if it has an empty field.
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = vec![];
        for part in text.split('.') {
            let end = part.find(['[', '{']).unwrap_or(part.len());
            let (name, mut marks) = part.split_at(end);
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Field(name.to_owned()));
            while !marks.is_empty() {
                let (step, rest) = match marks.split_at_checked(2)? {
                    ("[]", rest) => (Step::Items, rest),
                    ("{}", rest) => (Step::Values, rest),
                    _ => return None,
                };
                steps.push(step);
                marks = rest;
            }
        }
        Some(Self(steps))
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The path of a field below this one.
    pub fn field(&self, name: &str) -> Self {
        self.with(Step::Field(name.to_owned()))
    }

    pub fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The path of the object, item or value that has the field.
    pub fn parent(&self) -> Option<Self> {
        let (_, parent) = self.0.split_last()?;
        Some(Self(parent.to_vec()))
    }

    /// Whether the path is `other`, or leads to a part of it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.starts_with(&other.0)
    }

    /// The path with `from` at its beginning replaced by `to`.
    pub fn moved(&self, from: &Self, to: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(from.0.as_slice())?;
        Some(Self([to.0.as_slice(), rest].concat()))
    }

    /// The paths of the lists and maps whose items and values the path leads through, outermost first.
    pub fn collections(&self) -> impl Iterator<Item = Self> {
        let ends = self.0.iter().enumerate();
        let ends = ends.filter(|(_, step)| !matches!(step, Step::Field(_)));
        ends.map(|(end, _)| Self(self.0[..=end].to_vec()))
    }

    /// The name of the last field.
    pub fn name(&self) -> &str {
        let names = self.0.iter().rev().find_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Items | Step::Values => None,
        });
        names.unwrap_or_default()
    }
}

impl From<&[Segment]> for Path {
    fn from(segments: &[Segment]) -> Self {
        let step = |segment: &Segment| match segment {
            Segment::Field(name) => Step::Field(name.clone()),
            Segment::Items => Step::Items,
            Segment::Values => Step::Values,
        };
        Self(segments.iter().map(step).collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if index > 0 => write!(f, ".{name}")?,
                Step::Field(name) => f.write_str(name)?,
                Step::Items => f.write_str("[]")?,
                Step::Values => f.write_str("{}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_it_was_read() {
        for text in ["spec", "spec.pools[].size", "spec.a{}[].b", "spec.a[][]"] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        for text in ["", ".", "spec.", "spec[", "spec[]x", "spec.[]", "spec.a{]"] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
