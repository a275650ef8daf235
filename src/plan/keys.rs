//! Merges `Cargo.toml` key by key: a key that we own and the user left alone follows our text, everything else is the user's.

use toml_edit::{DocumentMut, Item, TableLike};

use super::make::Merged;

/// The file that is merged so.
pub const PATH: &str = "Cargo.toml";

/// Carries into `ours` what changed from `base` to `theirs`, wherever `ours` still has what `base` had.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Merged {
    let parse = |text: &str| text.parse::<DocumentMut>();
    let (Ok(base), Ok(mut merged), Ok(theirs)) = (parse(base), parse(ours), parse(theirs)) else {
        return Merged::Kept;
    };
    let clean = tables(base.as_table(), merged.as_table_mut(), theirs.as_table());
    if clean {
        Merged::Clean(merged.to_string())
    } else {
        Merged::Partly(merged.to_string())
    }
}

/// Whether all changes of ours could be carried over.
fn tables(base: &dyn TableLike, ours: &mut dyn TableLike, theirs: &dyn TableLike) -> bool {
    let mut clean = true;
    for (key, new) in theirs.iter() {
        let old = base.get(key);
        if old.is_some_and(|old| equal(old, new)) {
            continue;
        }
        let Some(present) = ours.get_mut(key) else {
            // what the user removed stays away
            if old.is_none() {
                ours.insert(key, new.clone());
            }
            continue;
        };
        if equal(present, new) {
            continue;
        }
        if old.is_some_and(|old| equal(old, present)) {
            replace(present, new);
            continue;
        }
        let empty = toml_edit::Table::new();
        let old: &dyn TableLike = old.and_then(Item::as_table_like).unwrap_or(&empty);
        match (present.as_table_like_mut(), new.as_table_like()) {
            (Some(present), Some(new)) => clean &= tables(old, present, new),
            _ => clean = false,
        }
    }
    let gone: Vec<String> = base
        .iter()
        .filter(|(key, _)| theirs.get(key).is_none())
        .filter(|(key, old)| ours.get(key).is_some_and(|present| equal(old, present)))
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in gone {
        ours.remove(&key);
    }
    clean
}

/// Sets a value and keeps the comments around it.
fn replace(present: &mut Item, new: &Item) {
    match (present.as_value_mut(), new.as_value()) {
        (Some(present), Some(new)) => {
            let decor = present.decor().clone();
            *present = new.clone();
            *present.decor_mut() = decor;
        }
        _ => *present = new.clone(),
    }
}

/// Equal in what they say, whatever their layout and comments.
fn equal(a: &Item, b: &Item) -> bool {
    match (a.as_table_like(), b.as_table_like()) {
        (Some(a), Some(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, item)| b.get(key).is_some_and(|other| equal(item, other)))
        }
        (None, None) => match (a.as_value(), b.as_value()) {
            (Some(a), Some(b)) => plain(a) == plain(b),
            _ => a.to_string().trim() == b.to_string().trim(),
        },
        _ => false,
    }
}

/// A value's text without its decor.
fn plain(value: &toml_edit::Value) -> String {
    match value {
        toml_edit::Value::Array(array) => array.iter().map(|item| plain(item) + ",").collect(),
        value => {
            let mut value = value.clone();
            value.decor_mut().clear();
            value.to_string()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "[package]\nname = \"x\"\n\n[dependencies]\nkube = \"5\"\nserde = { version = \"1\", features = [\"derive\"] }\n";

    fn merged(ours: &str, theirs: &str) -> Option<String> {
        match merge(BASE, ours, theirs) {
            Merged::Clean(text) => Some(text),
            Merged::Partly(_) | Merged::Kept => None,
        }
    }

    #[test]
    fn a_dependency_of_the_user_stays_beside_a_new_one_of_ours() {
        let ours = BASE.replace(
            "kube = \"5\"\n",
            "kube = \"5\"\nreqwest = \"1\" # for the bucket\n",
        );
        let theirs = BASE.replace("kube = \"5\"", "kube = \"6\"") + "tokio = \"1\"\n";
        let expected = "[package]\nname = \"x\"\n\n[dependencies]\nkube = \"6\"\nreqwest = \"1\" # for the bucket\n\
                        serde = { version = \"1\", features = [\"derive\"] }\ntokio = \"1\"\n";
        assert_eq!(merged(&ours, &theirs).as_deref(), Some(expected));
    }

    #[test]
    fn what_the_user_changed_or_removed_stays_so() {
        let ours = BASE
            .replace("kube = \"5\"\n", "")
            .replace("name = \"x\"", "name = \"y\"");
        let theirs = BASE.replace("[package]", "[package]\nedition = \"2024\"");
        let expected = ours.replace("name = \"y\"\n", "name = \"y\"\nedition = \"2024\"\n");
        assert_eq!(merged(&ours, &theirs), Some(expected));
    }

    #[test]
    fn the_same_key_changed_by_both_is_kept() {
        assert_eq!(
            merged(
                &BASE.replace("\"5\"", "\"5.1\""),
                &BASE.replace("\"5\"", "\"6\"")
            ),
            None
        );
    }
}
