//! Formats the changes, notes and conflicts of a plan.

use std::collections::HashSet;

use crate::{
    diagnostic::Code,
    plan::{Action, Cause, Change, Conflict, Note, Plan},
};

/// The command that updates a stale project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FixCommand {
    Regenerate,
    /// The same command, with the same arguments.
    SameCommand,
    /// The same `types` command, also after it has written files: without a project, `regenerate` cannot resolve conflicts.
    Types,
}

impl FixCommand {
    /// The command to suggest after this one has written its files.
    pub fn after(self) -> Self {
        match self {
            Self::Types => self,
            Self::Regenerate | Self::SameCommand => Self::Regenerate,
        }
    }

    /// Formats the command with an option such as `--reset`.
    pub fn with(self, option: &str) -> String {
        match self {
            Self::Regenerate => format!("`cargo operator regenerate {option}`"),
            Self::SameCommand | Self::Types => format!("the same command with `{option}`"),
        }
    }
}

/// A line for each changed file, except for bookkeeping. For a check, the stale files.
pub fn list(plan: &Plan, check: bool) -> String {
    let mut lines = String::new();
    let is_listed = |change: &&Change| check || !change.is_bookkeeping();
    for change in plan.changes.iter().filter(is_listed) {
        let action = match change.action {
            Action::Create => "create",
            Action::Update => "update",
            Action::Merge => " merge",
            Action::Remove => "remove",
        };
        lines += &if check {
            format!(
                "stale {}: {} {}\n",
                part(&change.path),
                action.trim(),
                change.path
            )
        } else {
            format!("{action} {}\n", change.path)
        };
    }
    lines
}

/// The part of the project that a file belongs to.
pub fn part(path: &str) -> &'static str {
    match path.split_once('/') {
        Some(("src", rest)) if rest.starts_with("api/") => "types",
        Some(("src", _)) => "code",
        Some(("tests", _)) => "tests",
        Some(("manifests" | "charts" | "bundle" | "catalog" | "crds", _)) => "manifests",
        Some((".operator", _)) => "record",
        _ if path == "operator.lock" => "record",
        _ if path == "operator.toml" => "state",
        _ => "file",
    }
}

pub fn note_kind(note: &Note) -> &'static str {
    match note {
        Note::Orphan(_) => "orphan",
        Note::Removed(_) => "removed",
        Note::Adopted(_) => "adopted",
        Note::GeneratedChanged(_) => "behind",
        Note::Marked(_) => "marked",
        Note::Present(_) => "present",
        Note::Used(_) => "kept",
    }
}

/// If a folder has at least this number of equal notes, one line is printed for all of them.
const MANY: usize = 4;

/// A line for each note, and one line for many equal notes in a folder.
pub fn notes(notes: &[&Note], fix: FixCommand) -> String {
    let group = |note: &Note| {
        let path = note.path();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let top: Vec<&str> = folder.split('/').take(2).collect();
        (std::mem::discriminant(note), top.join("/"))
    };
    let group_size = |note: &Note| {
        notes
            .iter()
            .filter(|other| group(other) == group(note))
            .count()
    };
    let mut listed = HashSet::new();
    let mut lines = String::new();
    for note in notes {
        let (kind, folder) = group(note);
        match group_size(note) {
            count if count < MANY || folder.is_empty() => {
                let path = note.path();
                lines += &format!("note: {path} {}\n", note_text(note, path, fix));
            }
            count if listed.insert((kind, folder.clone())) => {
                let which = format!("each of {count} files in {folder}/");
                lines += &format!("note: {which} {}\n", note_text(note, "PATH", fix));
            }
            _ => {}
        }
    }
    lines
}

fn note_text(note: &Note, path: &str, fix: FixCommand) -> String {
    let reset = |what: &str| format!("{} {what}", fix.with(&format!("--reset {path}")));
    match note {
        Note::Orphan(_) => "is kept, because it is yours, but generated code no longer uses it: move what you need elsewhere, then delete it".into(),
        Note::Removed(_) => format!("was deleted and is not generated again; {}", reset("restores it")),
        Note::Adopted(_) => format!(
            "is now yours and no longer updated; {}",
            reset("gives it back")
        ),
        Note::GeneratedChanged(_) => format!(
            "is yours, and the generated version has changed since; {}",
            fix.with(&format!("--diff --reset {path}")) + " shows the difference"
        ),
        Note::Marked(_) => "now has conflict markers: resolve them".into(),
        Note::Used(_) => format!(
            "exists and is kept: it is used as it is; to get the generated one, move it elsewhere and run {}",
            fix.with(&format!("--reset {path}"))
        ),
        Note::Present(_) => format!(
            "existed before cargo-operator generated it, and is not changed; {}",
            fix.with(&format!("--diff --reset {path}")) + " shows what would be generated"
        ),
    }
}

pub fn conflict_code(cause: Cause) -> Code {
    match cause {
        Cause::Edited | Cause::Unneeded => Code::EditedFile,
        Cause::Both | Cause::Baseless | Cause::Unresolved => Code::MergeConflict,
    }
}

pub fn conflict(conflict: &Conflict, fix: FixCommand) -> String {
    let Conflict { path, cause, diff } = conflict;
    let adopt = fix.with(&format!("--adopt {path}"));
    let reset = fix.with(&format!("--reset {path}"));
    let (what, help) = match cause {
        Cause::Edited if path.starts_with(".operator/") => (
            "is the tool's record of what it generated, but it was edited",
            format!("{reset} restores it"),
        ),
        Cause::Edited => (
            "is generated by cargo-operator, but it was edited",
            format!("{adopt} makes it yours permanently, {reset} discards the edit"),
        ),
        Cause::Unneeded => (
            "was edited, and cargo-operator no longer generates it",
            format!("{adopt} keeps it as yours, {reset} deletes it"),
        ),
        Cause::Both => (
            "was changed in the same place by you and by the template",
            merge_options(path, fix),
        ),
        Cause::Baseless => (
            "differs from what would be generated, and the last generated version is unknown",
            format!(
                "restore operator.lock and .operator/ from version control, or {}",
                merge_options(path, fix)
            ),
        ),
        Cause::Unresolved => (
            "still has the conflict markers of a merge",
            format!("resolve them, or use {reset} to take the generated version"),
        ),
    };
    let diff = if *cause == Cause::Unresolved {
        ""
    } else {
        diff
    };
    let code = conflict_code(*cause).as_str();
    format!("conflict[{code}]: {path} {what}; nothing was written\n  help: {help}\n{diff}")
}

/// Describes the options of the user if two versions can't be merged.
fn merge_options(path: &str, fix: FixCommand) -> String {
    format!(
        "{} writes both versions to the file, `--adopt {path}` keeps yours permanently, `--reset {path}` takes the template's",
        fix.with("--write-conflicts")
    )
}
