//! The Cargo.toml for a copy of a project in another folder.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

/// The version of a copy. If it were that of the project, cargo would write to the same files in the shared build folder.
const VERSION: &str = "0.0.0-check";

/// The manifest for a copy outside of `root`: its own workspace and version, with the same dependencies, and without lints that would fail
/// the check. `workspace` is the manifest and the folder of the workspace from which it inherits; `None` if that lacks an inherited key.
pub fn standalone(manifest: &str, root: &str, workspace: Option<(&str, &str)>) -> Option<String> {
    let mut document: DocumentMut = manifest.parse().ok()?;
    document.remove("lints");
    anchor(document.as_table_mut(), root);
    let mut own = Table::new();
    if let Some((text, folder)) = workspace {
        let mut inherited: DocumentMut = text.parse().ok()?;
        anchor(inherited.as_table_mut(), folder);
        let mut table = inherited.remove("workspace")?;
        resolve(document.as_table_mut(), table.as_table_like_mut()?)?;
        // what only the root of a workspace can have
        if let Some(resolver) = table.get("resolver") {
            own.insert("resolver", resolver.clone());
        }
        for key in ["profile", "patch"] {
            if let Some(item) = inherited.remove(key) {
                document.insert(key, item);
            }
        }
    }
    document.insert("workspace", Item::Table(own));
    document["package"]["version"] = toml_edit::value(VERSION);
    Some(document.to_string())
}

/// Replaces what is inherited by the values of the workspace.
fn resolve(table: &mut dyn TableLike, workspace: &dyn TableLike) -> Option<()> {
    for (key, item) in table.iter_mut() {
        let key = key.get();
        let is_dependencies = key.ends_with("dependencies");
        let shared = if is_dependencies { "dependencies" } else { key };
        let Some(table) = item.as_table_like_mut() else {
            continue;
        };
        let shared = workspace.get(shared).and_then(Item::as_table_like);
        if !(is_dependencies || key == "package") {
            resolve(table, workspace)?;
            continue;
        }
        for (name, item) in table.iter_mut() {
            let is_inherited =
                |it: &dyn TableLike| it.get("workspace").and_then(Item::as_bool) == Some(true);
            let Some(own) = item.as_table_like_mut().filter(|it| is_inherited(*it)) else {
                continue;
            };
            let value = shared?.get(name.get())?.clone();
            own.remove("workspace");
            let added = std::mem::take(item);
            *item = with_added(value, &added);
        }
    }
    Some(())
}

/// An inherited dependency with what a member adds to it: features and whether it is optional.
fn with_added(value: Item, added: &Item) -> Item {
    let Some(added) = added.as_table_like().filter(|it| !it.is_empty()) else {
        return value;
    };
    let mut table = InlineTable::new();
    match value.as_table_like() {
        Some(inherited) => {
            for (key, item) in inherited.iter() {
                table.extend(item.as_value().map(|value| (key, value.clone())));
            }
        }
        None => table.extend(value.as_value().map(|version| ("version", version.clone()))),
    }
    for (key, item) in added.iter() {
        let Some(value) = item.as_value() else {
            continue;
        };
        match (
            table.get_mut(key).and_then(Value::as_array_mut),
            value.as_array(),
        ) {
            (Some(features), Some(more)) => features.extend(more.iter().cloned()),
            _ => {
                table.insert(key, value.clone());
            }
        }
    }
    toml_edit::value(table)
}

/// Makes the paths of dependencies absolute.
fn anchor(table: &mut dyn TableLike, root: &str) {
    for (key, item) in table.iter_mut() {
        let is_dependencies = key.ends_with("dependencies") || key == "patch";
        let Some(table) = item.as_table_like_mut() else {
            continue;
        };
        if is_dependencies {
            anchor_paths(table, root);
        } else {
            anchor(table, root);
        }
    }
}

fn anchor_paths(table: &mut dyn TableLike, root: &str) {
    for (key, item) in table.iter_mut() {
        if let Some(table) = item.as_table_like_mut() {
            anchor_paths(table, root);
        } else if key == "path"
            && let Some(path) = item.as_str().filter(|path| !path.starts_with('/'))
        {
            *item = toml_edit::value(format!("{root}/{path}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_anchored_and_workspace_inheritance_is_removed() {
        let manifest = "[package]\nname = \"x\"\n\n[workspace]\nmembers = [\"crates/*\"]\n\n[lints.rust]\nwarnings = \"deny\"\n\n\
                        [dependencies]\na = { path = \"crates/a\" }\nb = \"1\"\n\n[dev-dependencies.c]\npath = \"../c\"\n";
        let expected = "[package]\nname = \"x\"\nversion = \"0.0.0-check\"\n\n[workspace]\n\n[dependencies]\na = { path = \"/p/crates/a\" }\nb = \"1\"\n\n\
                        [dev-dependencies.c]\npath = \"/p/../c\"\n";
        assert_eq!(standalone(manifest, "/p", None).as_deref(), Some(expected));
    }

    #[test]
    fn what_a_member_inherits_is_resolved() {
        let workspace = "[workspace]\nresolver = \"3\"\n\n[workspace.package]\nversion = \"1.2.3\"\n\n[workspace.dependencies]\na = { path = \"a\" }\n\
                         b = \"1\"\nc = { version = \"2\", features = [\"x\"] }\n\n[profile.dev]\ndebug = false\n";
        let member = "[package]\nname = \"x\"\nversion.workspace = true\n\n[lints]\nworkspace = true\n\n\
                      [dependencies]\na.workspace = true\nb = { workspace = true, features = [\"y\"] }\n\n[dev-dependencies]\nc = { workspace = true, features = [\"z\"] }\n";
        let resolved = standalone(member, "/w/m", Some((workspace, "/w"))).unwrap();
        let expected = "[package]\nname = \"x\"\nversion = \"0.0.0-check\"\n\n[dependencies]\na = { path = \"/w/a\" }\nb = { version = \"1\", features = [\"y\"] }\n\n\
                        [dev-dependencies]\nc = { version = \"2\", features = [\"x\", \"z\"] }\n\n[profile.dev]\ndebug = false\n\n[workspace]\nresolver = \"3\"\n";
        let plain = |text: &str| {
            text.parse::<DocumentMut>()
                .unwrap()
                .to_string()
                .replace(' ', "")
        };
        assert_eq!(plain(&resolved), plain(expected), "{resolved}");
        assert_eq!(
            standalone(member, "/w/m", Some(("[workspace]\n", "/w"))),
            None
        );
    }
}
