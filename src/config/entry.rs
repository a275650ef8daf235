//! An entry of a list that is written as a name or as a table: `"v1/Pod"` is `{ kind = "v1/Pod" }`. Deserialized by hand, because the errors
//! of an untagged enum do not name the wrong key or value.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        self, DeserializeOwned, MapAccess, Visitor,
        value::{MapAccessDeserializer, MapDeserializer},
    },
};

/// What is read from a table, of which one key is enough.
pub trait Entry: DeserializeOwned {
    /// The key whose value is the name.
    const KEY: &'static str;
    /// Both forms, with examples.
    const EXPECTED: &'static str;
}

/// Reads a list of entries.
pub fn list<'de, T: Entry, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let entries = Vec::<Written<T>>::deserialize(deserializer)?;
    Ok(entries.into_iter().map(|Written(entry)| entry).collect())
}

struct Written<T>(T);

impl<'de, T: Entry> Deserialize<'de> for Written<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = deserializer.deserialize_any(EntryVisitor(PhantomData));
        entry.map(Self)
    }
}

struct EntryVisitor<T>(PhantomData<T>);

impl<'de, T: Entry> Visitor<'de> for EntryVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<T, E> {
        T::deserialize(MapDeserializer::new([(T::KEY, name)].into_iter()))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<T, M::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
