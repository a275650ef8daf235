//! The identity of an item in a list, by which it is found again after other items were added, removed or moved.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::canonical::{canonical, hash};

/// What identifies an item of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Identity {
    /// The values of its keys, in a list of type `map`.
    Keys(BTreeMap<String, Value>),
    /// The hash of the item as the other version has it.
    Hash(String),
    /// The hash, and how many equal items come before it.
    Repeated(String, usize),
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(keys) => {
                for (index, (key, value)) in keys.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma}{key}={value}")?;
                }
                Ok(())
            }
            Self::Hash(hash) => write!(f, "#{hash}"),
            Self::Repeated(hash, before) => write!(f, "#{hash}+{before}"),
        }
    }
}

/// The identities of the items of a list, which are all different.
///
/// If an item lacks a key, or two items have the same keys, all items are identified by hashes.
pub(super) fn identities(items: &[Value], keys: &[String]) -> Vec<Identity> {
    by_keys(items, keys).unwrap_or_else(|| by_hash(items))
}

fn by_keys(items: &[Value], keys: &[String]) -> Option<Vec<Identity>> {
    if keys.is_empty() {
        return None;
    }
    let mut seen = std::collections::BTreeSet::new();
    let mut identities = Vec::with_capacity(items.len());
    for item in items {
        let values: BTreeMap<String, Value> = keys
            .iter()
            .map(|key| Some((key.clone(), canonical(item.get(key)?))))
            .collect::<Option<_>>()?;
        let text = serde_json::to_string(&values).ok()?;
        seen.insert(text).then_some(())?;
        identities.push(Identity::Keys(values));
    }
    Some(identities)
}

fn by_hash(items: &[Value]) -> Vec<Identity> {
    let mut seen = BTreeMap::new();
    let identity = |item| {
        let hash = hash(item);
        let before = seen.entry(hash.clone()).or_insert(0_usize);
        *before += 1;
        match *before {
            1 => Identity::Hash(hash),
            count => Identity::Repeated(hash, count - 1),
        }
    };
    items.iter().map(identity).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_items_have_distinct_identities() {
        let keys = ["name".to_owned()];
        let named = identities(
            json!([{"name": "a"}, {"name": "b"}]).as_array().unwrap(),
            &keys,
        );
        assert_eq!(named[1].to_string(), r#"name="b""#);
        let equal = identities(
            json!([{"name": "a"}, {"name": "a"}]).as_array().unwrap(),
            &keys,
        );
        assert!(matches!(
            equal[..],
            [Identity::Hash(_), Identity::Repeated(_, 1)]
        ));
    }
}
