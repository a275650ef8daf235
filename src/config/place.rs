//! Places in `operator.toml`, as paths of keys and positions in lists.

use std::ops::Range;

use toml_edit::{Document, Item};

/// The place of a value: `kind[1].webhooks[0].timeout`. Empty for the whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<Step>);

/// A key of a table, or the position in a list, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Item(usize),
}

impl From<&str> for Step {
    fn from(key: &str) -> Self {
        Self::Key(key.to_owned())
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Item(index)
    }
}

impl Place {
    pub fn of(key: &str) -> Self {
        Self::default().then(key)
    }

    /// The place of an entry inside of this one.
    #[must_use]
    pub fn then(mut self, step: impl Into<Step>) -> Self {
        self.0.push(step.into());
        self
    }

    /// The range in bytes of the value in the text, or of the nearest value around it; `None` if not even the first key is there.
    pub fn range(&self, text: &str) -> Option<Range<usize>> {
        let document = Document::parse(text).ok()?;
        let mut found: Option<&Item> = None;
        for step in &self.0 {
            let around = found.unwrap_or(document.as_item());
            let entry = match step {
                Step::Key(key) => around.get(key),
                Step::Item(index) => around.get(index),
            };
            match entry {
                Some(entry) => found = Some(entry),
                None => break,
            }
        }
        found?.span()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_found_or_the_nearest_one_around_it() {
        let text = "name = \"a\"\n[[kind]]\nkind = \"A\"\n[[kind]]\nkind = \"B\"\nrules = [{ verbs = [\"get\"] }]\n";
        let kind = |index: usize| Place::of("kind").then(index);
        let rule = kind(1).then("rules").then(0);
        for (place, expected) in [
            (Place::of("name"), Some("\"a\"")),
            (kind(1).then("kind"), Some("\"B\"")),
            (rule.clone().then("verbs").then(0), Some("\"get\"")),
            (rule.clone().then("verbs").then(1), Some("[\"get\"]")),
            (rule.then("resources"), Some("{ verbs = [\"get\"] }")),
            (kind(0).then("rules").then(3), Some("[[kind]]")),
            (Place::of("image"), None),
            (Place::default(), None),
        ] {
            let range = place.range(text);
            assert_eq!(range.map(|it| &text[it]), expected, "{place:?}");
        }
    }
}
