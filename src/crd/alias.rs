//! Resolves the aliases of a YAML document, with a limit on the copied size, because aliases of aliases multiply.

use std::{collections::HashMap, ops::Range};

use serde_json::Value;

use super::problem::{Fault, MOST_BYTES, MOST_LEVELS};

/// The values with anchors, by the numbers that the parser gives to the anchors. A collection is added when it ends.
#[derive(Default)]
pub struct Anchors {
    kept: HashMap<usize, Anchor>,
    /// The number of bytes that anchors and aliases have copied.
    copied: usize,
}

/// The value of an anchor.
pub struct Anchor {
    pub value: Value,
    /// The number of its node in the table of positions.
    pub node: usize,
    /// The text of a scalar, for use as a key.
    pub key: Option<String>,
    levels: usize,
    bytes: usize,
}

/// Why [`is_name`] refuses a name.
pub const NO_NAME: &str =
    "kubectl reads only letters, digits, `-` and `_` in the name of an anchor";

/// Whether kubectl accepts the name of an anchor.
pub fn is_name(name: &str) -> bool {
    let is_read = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    !name.is_empty() && name.bytes().all(is_read)
}

/// The name of the anchor before a node at an offset, if nothing but a tag is between them.
pub fn anchor_before(text: &str, at: usize) -> Option<&str> {
    let mut words = text.get(..at)?.split_ascii_whitespace().rev();
    let (_, name) = words.find(|it| !it.starts_with('!'))?.split_once('&')?;
    Some(name)
}

impl Anchors {
    /// Keeps a copy of a value for later aliases.
    pub fn keep(
        &mut self,
        anchor: usize,
        node: usize,
        value: &Value,
        key: Option<String>,
        place: &Range<usize>,
    ) -> Result<(), Fault> {
        let (levels, bytes) = measure(value);
        count_copied(&mut self.copied, bytes, place)?;
        let kept = Anchor {
            value: value.clone(),
            node,
            key,
            levels,
            bytes,
        };
        self.kept.insert(anchor, kept);
        Ok(())
    }

    /// Returns a copy of the value for an alias that is nested in `levels` collections.
    pub fn find(
        &mut self,
        anchor: usize,
        levels: usize,
        place: &Range<usize>,
    ) -> Result<&Anchor, Fault> {
        let anchor = self.kept.get(&anchor);
        // an alias within its own collection has no value yet: it would nest without end
        let anchor = anchor
            .filter(|anchor| levels + anchor.levels <= MOST_LEVELS)
            .ok_or_else(|| Fault::too_deep(place.clone()))?;
        count_copied(&mut self.copied, anchor.bytes, place)?;
        Ok(anchor)
    }
}

/// Adds to the number of copied bytes, and fails if they exceed the limit.
fn count_copied(copied: &mut usize, bytes: usize, place: &Range<usize>) -> Result<(), Fault> {
    *copied += bytes;
    if *copied > MOST_BYTES {
        let message = "repetition limit exceeded: the content of the aliases is too large";
        return Err(Fault::syntax(place.clone(), message));
    }
    Ok(())
}

/// The number of levels of a value, and the approximate memory that it takes, in bytes.
fn measure(value: &Value) -> (usize, usize) {
    const NODE: usize = size_of::<Value>();
    let both = |(levels, bytes): (usize, usize), (level, more): (usize, usize)| {
        (levels.max(level + 1), bytes + more)
    };
    match value {
        Value::String(text) => (0, NODE + text.len()),
        Value::Array(items) => items.iter().map(measure).fold((1, NODE), both),
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                let (levels, bytes) = measure(value);
                (levels, NODE + key.len() + bytes)
            };
            entries.iter().map(entry).fold((1, NODE), both)
        }
        _ => (0, NODE),
    }
}
