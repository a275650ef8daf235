//! A project as a member of a cargo workspace: what it inherits from the workspace's Cargo.toml
//! (<https://doc.rust-lang.org/cargo/reference/workspaces.html>). Text in, text out. No I/O.

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

/// Keys of `[workspace.package]` that a project sets itself: generated code is in this edition, and the runtime needs this version of Rust.
const OWN: [&str; 2] = ["edition", "rust-version"];

/// Whether a Cargo.toml is the root of a workspace that can have a member at `path`, relative to it.
pub fn is_workspace_of(manifest: &str, path: &str) -> bool {
    let Ok(manifest) = manifest.parse::<DocumentMut>() else {
        return false;
    };
    let Some(workspace) = manifest.get("workspace").and_then(Item::as_table_like) else {
        return false;
    };
    let excluded = workspace.get("exclude").and_then(Item::as_array);
    let excluded = excluded.into_iter().flatten().filter_map(Value::as_str);
    let is_in = |folder: &str| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    !{ excluded }.any(is_in)
}

/// The manifest of a new member, with the keys of `[workspace.package]` and `[workspace.lints]` inherited, as `cargo new` writes it.
pub fn inherited(member: &str, workspace: &str) -> String {
    let (Ok(mut member), Ok(workspace)) = (
        member.parse::<DocumentMut>(),
        workspace.parse::<DocumentMut>(),
    ) else {
        return member.to_owned();
    };
    let of_workspace = |key: &str| workspace.get("workspace")?.get(key)?.as_table_like();
    let inherited = || {
        let mut table = InlineTable::new();
        table.insert("workspace", true.into());
        table.set_dotted(true);
        value(table)
    };
    for (key, _) in of_workspace("package")
        .into_iter()
        .flat_map(TableLike::iter)
        .filter(|(key, _)| !OWN.contains(key))
    {
        member["package"][key] = inherited();
    }
    if of_workspace("lints").is_some() {
        let mut lints = Table::new();
        lints.insert("workspace", value(true));
        lints.set_position(member["package"].as_table().and_then(Table::position));
        member.insert("lints", Item::Table(lints));
    }
    member.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_inherits_what_the_workspace_has() {
        let workspace = "[workspace.package]\nedition = \"2021\"\nrust-version = \"1.70\"\nlicense = \"MIT\"\nversion = \"3.0.0\"\n\n\
                         [workspace.lints.rust]\nunsafe_code = \"forbid\"\n";
        let member = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nkube = \"5\"\n";
        let expected = "[package]\nname = \"x\"\nversion.workspace = true\nedition = \"2024\"\nlicense.workspace = true\n\n\
                        [lints]\nworkspace = true\n\n[dependencies]\nkube = \"5\"\n";
        assert_eq!(inherited(member, workspace), expected);
        assert_eq!(inherited(member, "[workspace]\n"), member);
    }

    #[test]
    fn a_package_is_no_workspace_and_excluded_folders_are_not_in_one() {
        let workspace = "[workspace]\nexclude = [\"fuzz\", \"tools/\"]\n";
        assert!(is_workspace_of(workspace, "operators/x"));
        assert!(is_workspace_of(workspace, "fuzzy"));
        assert!(!is_workspace_of(workspace, "fuzz/x"));
        assert!(!is_workspace_of(workspace, "tools/x"));
        assert!(!is_workspace_of("[package]\nname = \"x\"\n", "x"));
        assert!(!is_workspace_of("[workspace", "x"));
    }
}
