//! The path of a field in a version: `spec.pools[].size`, with `[]` for the items of a list, `[name]` for those of a list whose items have
//! keys, and `{}` for the values of a map. A `.`, `[`, `{` or `\` in a name is escaped with `\`.

use std::fmt;

use operator_schema::{Schema, SchemaOrBool};

/// A path from the root of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Field(String),
    /// The items of a list, with the fields that identify an item.
    Items(Vec<String>),
    Values,
}

impl Step {
    /// The items of the list that the schema describes.
    pub fn items(schema: &Schema) -> Self {
        match schema.list_type.as_deref() {
            Some("map") => Self::Items(schema.list_map_keys.clone()),
            _ => Self::Items(vec![]),
        }
    }

    pub fn is_field(&self) -> bool {
        matches!(self, Self::Field(_))
    }
}

impl Path {
    /// Parses a path; `None` if it has an empty field or an open bracket.
    pub fn parse(text: &str) -> Option<Self> {
        let mut steps = vec![];
        let mut rest = text;
        loop {
            let (name, after) = field(rest);
            if name.is_empty() {
                return None;
            }
            steps.push(Step::Field(name));
            rest = after;
            loop {
                if let Some(after) = rest.strip_prefix("{}") {
                    steps.push(Step::Values);
                    rest = after;
                } else if let Some(after) = rest.strip_prefix('[') {
                    let (keys, after) = after.split_once(']')?;
                    let keys = keys.split(',').filter(|key| !key.is_empty());
                    steps.push(Step::Items(keys.map(str::to_owned).collect()));
                    rest = after;
                } else {
                    break;
                }
            }
            match rest.strip_prefix('.') {
                Some(after) => rest = after,
                None if rest.is_empty() => return Some(Self(steps)),
                None => return None,
            }
        }
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

    /// The paths of the items and values that the path leads through, outermost first.
    pub fn collections(&self) -> Vec<Self> {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, step)| !step.is_field())
            .map(|(end, _)| Self(self.0[..=end].to_vec()))
            .collect()
    }

    /// The name of the last field.
    pub fn name(&self) -> &str {
        let names = self.0.iter().rev().find_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Items(_) | Step::Values => None,
        });
        names.unwrap_or_default()
    }

    /// The names of the fields on the path.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Items(_) | Step::Values => None,
        })
    }

    /// The schema that the path leads to, and the path with the keys of its lists.
    pub fn resolve<'a>(&self, root: &'a Schema) -> Option<(&'a Schema, Self)> {
        let mut schema = root;
        let mut path = Self::default();
        for step in &self.0 {
            let step = match step {
                Step::Items(_) => Step::items(schema),
                step => step.clone(),
            };
            schema = child(schema, &step)?;
            path = path.with(step);
        }
        Some((schema, path))
    }

    /// The JSON pointer from the root of the schema to the schema of the field.
    pub fn pointer(&self) -> String {
        let steps = self.0.iter().map(|step| match step {
            Step::Field(name) => format!("/properties/{}", operator_schema::pointer::escape(name)),
            Step::Items(_) => "/items".into(),
            Step::Values => "/additionalProperties".into(),
        });
        steps.collect()
    }
}

fn child<'a>(schema: &'a Schema, step: &Step) -> Option<&'a Schema> {
    match step {
        Step::Field(name) => schema.properties.get(name),
        Step::Items(_) => schema.items.as_deref(),
        Step::Values => match &schema.additional_properties {
            Some(SchemaOrBool::Schema(values)) => Some(values),
            _ => None,
        },
    }
}

/// Splits a text into the name at its beginning, without escapes, and the rest.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' | '{' => return (name, &text[at..]),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            other => name.push(other),
        }
    }
    (name, "")
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) => {
                    if index > 0 {
                        f.write_str(".")?;
                    }
                    for character in name.chars() {
                        if matches!(character, '.' | '[' | '{' | '\\') {
                            f.write_str("\\")?;
                        }
                        write!(f, "{character}")?;
                    }
                }
                Step::Items(keys) => write!(f, "[{}]", keys.join(","))?,
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
        for text in [
            "spec",
            "spec.pools[].size",
            "spec.a{}[].b",
            "spec.a[][]",
            "spec.ports[port,protocol].x",
            r"spec.ca\.crt.a\{\\b",
        ] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Path::parse(r"spec.ca\.crt").unwrap().name(), "ca.crt");
        for text in ["", ".", "spec.", "spec[", "spec[]x", "spec.[]", "spec.a{]"] {
            assert_eq!(Path::parse(text), None, "{text}");
        }
    }
}
