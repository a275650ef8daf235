//! Duplicate fields in a JSON body: the last one counts, and the client gets a warning.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

/// The paths of duplicate fields, in the order of the body.
pub(crate) fn duplicates(body: &[u8]) -> Vec<String> {
    let found = RefCell::default();
    let walk = Walk {
        path: String::new(),
        found: &found,
    };
    // invalid JSON is rejected when the body is parsed
    let _whole = walk.deserialize(&mut serde_json::Deserializer::from_slice(body));
    found.into_inner()
}

/// Visits a JSON value and collects the paths of its duplicate fields.
struct Walk<'a> {
    path: String,
    found: &'a RefCell<Vec<String>>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, input: D) -> Result<(), D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let path = match self.path.as_str() {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            if !seen.insert(name) {
                self.found.borrow_mut().push(path.clone());
            }
            let found = self.found;
            map.next_value_seed(Walk { path, found })?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut at = 0;
        let found = self.found;
        while items
            .next_element_seed(Walk {
                path: format!("{}[{at}]", self.path),
                found,
            })?
            .is_some()
        {
            at += 1;
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}
