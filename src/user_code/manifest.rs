//! The Cargo.toml for a copy of a project in another folder.

use toml_edit::{DocumentMut, Item, Table, TableLike};

/// The manifest for a copy outside of `root`: its own workspace, with the same dependencies, and without lints that would fail the check.
/// Returns `None` if the manifest inherits keys from an enclosing workspace.
pub fn standalone(manifest: &str, root: &str) -> Option<String> {
    let mut document: DocumentMut = manifest.parse().ok()?;
    if inherits(document.as_table()) {
        return None;
    }
    document.insert("workspace", Item::Table(Table::new()));
    document.remove("lints");
    anchor(document.as_table_mut(), root);
    Some(document.to_string())
}

fn inherits(table: &dyn TableLike) -> bool {
    table.iter().any(|(key, item)| {
        key == "workspace" && item.as_bool() == Some(true)
            || item.as_table_like().is_some_and(inherits)
    })
}

/// Makes the paths of dependencies absolute.
fn anchor(table: &mut dyn TableLike, root: &str) {
    for (key, item) in table.iter_mut() {
        let is_dependencies = key.ends_with("dependencies") || key == "patch";
        let Some(table) = item.as_table_like_mut() else {
            continue;
        };
        if is_dependencies {
            paths(table, root);
        } else {
            anchor(table, root);
        }
    }
}

fn paths(table: &mut dyn TableLike, root: &str) {
    for (key, item) in table.iter_mut() {
        if let Some(table) = item.as_table_like_mut() {
            paths(table, root);
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
        let expected = "[package]\nname = \"x\"\n\n[workspace]\n\n[dependencies]\na = { path = \"/p/crates/a\" }\nb = \"1\"\n\n\
                        [dev-dependencies.c]\npath = \"/p/../c\"\n";
        assert_eq!(standalone(manifest, "/p").as_deref(), Some(expected));
        assert_eq!(
            standalone("[package]\nname = \"x\"\nversion.workspace = true\n", "/p"),
            None
        );
    }
}
