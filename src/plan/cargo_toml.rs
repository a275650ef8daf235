//! Merges `Cargo.toml` key by key: a key that the tool wrote and the user has not changed gets the new value; everything else is kept.

use std::collections::BTreeSet;

use toml_edit::{DocumentMut, Item, TableLike};

/// Applies the changes from `base` to `theirs` to `ours`, for all keys in which `ours` still equals `base`. If both changed a key, the
/// result is an error, with conflict markers around the key.
pub fn merge(base: &str, ours: &str, theirs: &str) -> Result<String, String> {
    let lines = || diffy::merge(base, ours, theirs);
    let parse = |text: &str| text.parse::<DocumentMut>();
    let (Ok(old), Ok(present), Ok(new)) = (parse(base), parse(ours), parse(theirs)) else {
        return lines();
    };
    let merged = |side: Side| {
        let mut merged = present.clone();
        let clean = merge_tables(old.as_table(), merged.as_table_mut(), new.as_table(), side);
        (merged.to_string(), clean)
    };
    match merged(Side::Ours) {
        (text, true) => Ok(text),
        // the three texts differ only in the keys of the conflict, so that the markers surround only these
        (text, false) => {
            let (base, theirs) = (merged(Side::Base).0, merged(Side::Theirs).0);
            Err(diffy::merge(&base, &text, &theirs).unwrap_or_else(|marked| marked))
        }
    }
}

/// The side whose value is kept, if both changed a key.
#[derive(Clone, Copy)]
enum Side {
    Base,
    Ours,
    Theirs,
}

/// Merges two tables key by key. Returns whether all changes could be applied.
fn merge_tables(
    base: &dyn TableLike,
    ours: &mut dyn TableLike,
    theirs: &dyn TableLike,
    side: Side,
) -> bool {
    let mut clean = true;
    for (key, new) in theirs.iter() {
        let old = base.get(key);
        if old.is_some_and(|old| equal(old, new)) {
            continue;
        }
        let Some(present) = ours.get_mut(key) else {
            // a key that the user removed is not added again
            if old.is_none() {
                ours.insert(key, new.clone());
            }
            continue;
        };
        if equal(present, new) {
            continue;
        }
        let empty = toml_edit::Table::new();
        let before: &dyn TableLike = old.and_then(Item::as_table_like).unwrap_or(&empty);
        // even if the user changed only comments, which are kept in this way
        if let (Some(present), Some(new)) = (present.as_table_like_mut(), new.as_table_like()) {
            clean &= merge_tables(before, present, new, side);
            continue;
        }
        if let Some(old) = old
            && equal(old, present)
            && comments_within(present).is_subset(&comments_within(old))
        {
            replace(present, new);
            continue;
        }
        if key == "features" && add_features(old, present, new) {
            continue;
        }
        clean = false;
        match (side, old) {
            (Side::Ours, _) => {}
            (Side::Theirs, _) => replace(present, new),
            (Side::Base, Some(old)) => replace(present, old),
            (Side::Base, None) => {
                ours.remove(key);
            }
        }
    }
    let removed: Vec<String> = base
        .iter()
        .filter(|(key, _)| theirs.get(key).is_none())
        .filter(|(key, old)| ours.get(key).is_some_and(|present| equal(old, present)))
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in removed {
        // the user's comments would be removed with the key
        let is_free = comments(ours, &key).is_subset(&comments(base, &key));
        clean &= is_free;
        match side {
            Side::Ours if !is_free => {}
            Side::Base if !is_free => {
                if let Some(old) = base.get(&key) {
                    ours.remove(&key);
                    ours.insert(&key, old.clone());
                }
            }
            _ => {
                ours.remove(&key);
            }
        }
    }
    clean
}

/// Adds the features of a dependency that the tool added, and removes those that it removed. Their order has no meaning, so both sides may
/// have changed the list. Returns false if the lists cannot be merged.
fn add_features(old: Option<&Item>, present: &mut Item, new: &Item) -> bool {
    let names = |item: Option<&Item>| -> Vec<String> {
        item.and_then(Item::as_array)
            .into_iter()
            .flatten()
            .filter_map(|item| item.as_str())
            .map(str::to_owned)
            .collect()
    };
    let (before, after) = (names(old), names(Some(new)));
    // if there are comments among the features, the user decides
    let is_list = old.is_none_or(Item::is_array) && new.is_array();
    let is_list = is_list && comments_within(present).is_empty();
    let Some(list) = present.as_array_mut().filter(|_| is_list) else {
        return false;
    };
    list.retain(|item| {
        let name = item.as_str().unwrap_or_default().to_owned();
        !before.contains(&name) || after.contains(&name)
    });
    for name in after.iter().filter(|name| !before.contains(name)) {
        if !list.iter().any(|item| item.as_str() == Some(name)) {
            list.push(name);
        }
    }
    true
}

/// The comments inside a value, for example in an array of several lines.
fn comments_within(item: &Item) -> BTreeSet<String> {
    let mut inner = item.clone();
    if let Some(value) = inner.as_value_mut() {
        value.decor_mut().clear();
    }
    found_comments(&inner.to_string())
}

fn found_comments(text: &str) -> BTreeSet<String> {
    let comment = |line: &str| {
        line.find('#')
            .map(|start| line[start..].trim_end().to_owned())
    };
    text.lines().filter_map(comment).collect()
}

/// The lines with comments that belong to a key: before it, within its value and after it.
fn comments(table: &dyn TableLike, key: &str) -> BTreeSet<String> {
    let mut text = table
        .key(key)
        .map(|key| key.leaf_decor().clone())
        .and_then(|decor| Some(decor.prefix()?.as_str()?.to_owned()))
        .unwrap_or_default();
    if let Some(item) = table.get(key) {
        text += &match item.as_table() {
            // its heading has a decor of its own
            Some(table) => {
                table
                    .decor()
                    .prefix()
                    .and_then(|it| it.as_str())
                    .unwrap_or_default()
                    .to_owned()
                    + &item.to_string()
            }
            None => item.to_string(),
        };
    }
    found_comments(&text)
}

/// Sets a value and keeps its comments.
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

/// Whether two values are equal, regardless of their layout and comments.
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

/// The text of a value without its decor.
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
        merge(BASE, ours, theirs).ok()
    }

    #[test]
    fn a_users_dependency_is_kept_beside_a_new_one_of_ours() {
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
    fn the_users_changes_and_removals_are_kept() {
        let ours = BASE
            .replace("kube = \"5\"\n", "")
            .replace("name = \"x\"", "name = \"y\"");
        let theirs = BASE.replace("[package]", "[package]\nedition = \"2024\"");
        let expected = ours.replace("name = \"y\"\n", "name = \"y\"\nedition = \"2024\"\n");
        assert_eq!(merged(&ours, &theirs), Some(expected));
    }

    #[test]
    fn conflict_markers_surround_the_key_that_both_changed() {
        let ours = BASE.replace("kube = \"5\"", "kube = \"5.1\" # pinned");
        let theirs = BASE.replace("kube = \"5\"", "kube = \"6\"") + "tokio = \"1\"\n";
        let expected = "[package]\nname = \"x\"\n\n[dependencies]\n<<<<<<< ours\nkube = \"5.1\" # pinned\n\
                        ||||||| original\nkube = \"5\" # pinned\n=======\nkube = \"6\" # pinned\n>>>>>>> theirs\n\
                        serde = { version = \"1\", features = [\"derive\"] }\ntokio = \"1\"\n";
        assert_eq!(merge(BASE, &ours, &theirs), Err(expected.to_owned()));
    }

    #[test]
    fn a_key_that_both_added_is_a_conflict() {
        let ours = BASE.replace("[package]", "[package]\nedition = \"2021\"");
        let theirs = BASE.replace("[package]", "[package]\nedition = \"2024\"");
        let marked = merge(BASE, &ours, &theirs).unwrap_err();
        assert!(
            marked.contains("<<<<<<< ours\nedition = \"2021\"\n"),
            "{marked}"
        );
    }

    #[test]
    fn features_of_both_sides_are_joined() {
        let dependency = |features: &str| {
            BASE.replace(
                "kube = \"5\"",
                &format!("kube = {{ version = \"5\"{features} }}"),
            )
        };
        let (none, ours) = (dependency(""), dependency(", features = [\"otel\"]"));
        let theirs = dependency(", features = [\"webhook\"]");
        let joined = dependency(", features = [\"otel\", \"webhook\"]");
        assert_eq!(merge(&none, &ours, &theirs), Ok(joined.clone()));
        let other = dependency(", features = [\"cel\"]");
        let changed = dependency(", features = [\"otel\", \"cel\"]");
        assert_eq!(merge(&theirs, &joined, &other), Ok(changed));
    }

    #[test]
    fn a_users_comment_is_never_lost() {
        let ours = BASE.replace("kube =", "# pinned by hand\nkube =");
        let theirs = BASE.replace("kube = \"5\"", "kube = \"6\"");
        let expected = ours.replace("kube = \"5\"", "kube = \"6\"");
        assert_eq!(merged(&ours, &theirs), Some(expected));
        // nor with a key that is removed
        let theirs = BASE.replace("kube = \"5\"\n", "");
        let marked = merge(BASE, &ours, &theirs).unwrap_err();
        assert!(
            marked.contains("# pinned by hand\nkube = \"5\"\n"),
            "{marked}"
        );
        assert_eq!(merged(BASE, &theirs), Some(theirs.clone()));
        // nor within a value
        let ours = BASE.replace("[\"derive\"]", "[\n    \"derive\", # by hand\n]");
        let theirs = BASE.replace("[\"derive\"]", "[\"derive\", \"rc\"]");
        assert!(
            merge(BASE, &ours, &theirs)
                .unwrap_err()
                .contains("# by hand")
        );
    }
}
