//! Lets rustc find the user's code that a plan breaks, in a copy of the project: first with the old types, in which the items that change
//! are marked as deprecated, and then with the new ones.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use crate::{
    diagnostic::Failure,
    disk::{self, DiskError, Ended, Root, Scratch},
    plan::Plan,
    terminal::Terminal,
    user_code::{self, CheckResult, DeprecatedUse, Marked, Use},
    workspace::open::OpenProject,
};

const MANIFEST: &str = "Cargo.toml";

/// The uses that rustc finds. `None`, after a note, if it cannot check the project, or not before the limit.
pub fn uses(
    open: &OpenProject,
    plan: &Plan,
    marked: &BTreeMap<&str, Marked>,
    limit: Duration,
    is_users: impl Fn(&str) -> bool,
    terminal: &Terminal,
) -> Result<Option<BTreeSet<Use>>, Failure> {
    terminal.working("asking rustc which parts of your code the new types break");
    let reason = match checked(open, plan, marked, limit, is_users) {
        Ok(uses) => return Ok(Some(uses)),
        Err(Unchecked::Interrupted) => return Err(DiskError::Stopped.into()),
        Err(Unchecked::Late) => format!(
            "rustc took longer than {} s; `--check-code=SECONDS` allows more",
            limit.as_secs()
        ),
        Err(Unchecked::Broken) => {
            "cargo can't compile the project as it is, without downloads; `cargo check --all-targets` downloads what is missing, or shows the errors".into()
        }
    };
    terminal.status(&format!(
        "note: your code was searched for names alone, because {reason}"
    ));
    Ok(None)
}

/// The reason why rustc did not check the code.
enum Unchecked {
    /// The project does not compile with the old types, or cargo cannot build it.
    Broken,
    Late,
    Interrupted,
}

/// Compiles the copy with the marked old types, and then with the new ones.
fn checked(
    open: &OpenProject,
    plan: &Plan,
    marked: &BTreeMap<&str, Marked>,
    limit: Duration,
    is_users: impl Fn(&str) -> bool,
) -> Result<BTreeSet<Use>, Unchecked> {
    let copy = Copy::of(open, limit).ok_or(Unchecked::Broken)?;
    let check = || {
        let ended = copy.scratch.check();
        match ended.map_err(|_| Unchecked::Broken)? {
            Ended::Done(output) if output.is_empty() => Err(Unchecked::Broken),
            Ended::Done(output) => Ok(user_code::read_messages(&output, &is_users)),
            Ended::Late => Err(Unchecked::Late),
            Ended::Interrupted => Err(Unchecked::Interrupted),
        }
    };
    let old = marked.iter().map(|(path, it)| (*path, Some(&*it.text)));
    copy.write(old).ok_or(Unchecked::Broken)?;
    let CheckResult {
        deprecated,
        errors,
        is_library_broken,
        ..
    } = check()?;
    if is_library_broken || !errors.is_empty() {
        return Err(Unchecked::Broken);
    }
    let new = plan
        .changes
        .iter()
        .map(|change| (&*change.path, change.after.as_deref()));
    copy.write(new).ok_or(Unchecked::Broken)?;
    let new = check()?;
    // code that rustc did not check may be affected as well
    let is_hidden = |deprecated_use: &DeprecatedUse| {
        new.is_unresolved || new.is_library_broken && !deprecated_use.is_library
    };
    let uses = deprecated
        .into_iter()
        .filter(|deprecated_use| deprecated_use.is_removed || is_hidden(deprecated_use))
        .map(|deprecated_use| Use {
            message: describe(&deprecated_use.at.message),
            ..deprecated_use.at
        });
    Ok(uses.chain(new.errors).collect())
}

/// A copy of the project, which is a workspace of its own for cargo.
struct Copy {
    scratch: Scratch,
    /// The project's folder.
    root: String,
    /// The manifest and the folder of the workspace of which the project is a member.
    workspace: Option<(String, String)>,
}

impl Copy {
    /// Copies the project. `None` if a manifest cannot be read, or there is no cargo.
    fn of(open: &OpenProject, limit: Duration) -> Option<Self> {
        let root = std::path::absolute(open.root.path()).ok()?;
        let root = root.to_str()?.to_owned();
        let manifest = disk::read(&open.root, MANIFEST).ok()??;
        let workspace = match &open.config.workspace {
            None => None,
            Some(path) => {
                let folder = std::path::absolute(open.root.join(path)).ok()?;
                let text = disk::read(&Root::open(&folder).ok()?, MANIFEST).ok()??;
                Some((text, folder.to_str()?.to_owned()))
            }
        };
        let manifest = standalone(&manifest, &root, workspace.as_ref())?;
        Some(Self {
            scratch: Scratch::new(&open.root, &manifest, limit)?,
            root,
            workspace,
        })
    }

    /// Writes files of the project, or removes them.
    fn write<'a>(&self, mut files: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Option<()> {
        files.try_for_each(|(path, text)| match text {
            Some(text) if path == MANIFEST => {
                let manifest = standalone(text, &self.root, self.workspace.as_ref())?;
                self.scratch.write(path, Some(&manifest)).ok()
            }
            text => self.scratch.write(path, text).ok(),
        })
    }
}

fn standalone(manifest: &str, root: &str, workspace: Option<&(String, String)>) -> Option<String> {
    let workspace = workspace.map(|(text, folder)| (text.as_str(), folder.as_str()));
    user_code::standalone(manifest, root, workspace)
}

/// Rewrites rustc's message ``use of deprecated field `a::B::c`: removed``.
fn describe(message: &str) -> String {
    let message = message
        .strip_prefix("use of deprecated ")
        .unwrap_or(message);
    match message.rsplit_once(": ") {
        Some((what, user_code::REMOVED)) => format!("the {what} is removed"),
        Some((what, user_code::RETYPED)) => format!("the type of the {what} changes"),
        _ => message.to_owned(),
    }
}
