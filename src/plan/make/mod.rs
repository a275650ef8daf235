//! Decides the action for each file, by its owner.

use super::lock::{Entry, Lock, Owner};
use super::{
    change::{Action, Cause, Change, Conflict, Note, Plan, diff, with_line_endings_of},
    merge::{Merge, same},
    resolve::Resolution,
    tree::{BASE, File, LOCK, Ours, Tree},
};
use crate::config::is_marked;

/// Compares the last generated files (`lock`, and the bases among `ours`), the files on disk, and the newly generated files.
///
/// With `only`, files for which it returns false stay as they are, as do their entries in the lock.
pub fn plan(
    lock: &Lock,
    ours: &Ours,
    theirs: Tree,
    only: impl Fn(&str) -> bool,
    resolution: &Resolution,
) -> Plan {
    // Invariant: a file that was deleted while it was not generated is as unknown as a new one.
    let is_known = |path: &str, entry: &Entry| !entry.orphaned || ours.get(path).is_some();
    let mut known = lock.clone();
    known.files.retain(|path, entry| is_known(path, entry));
    let mut planner = Planner {
        lock: &known,
        ours,
        resolution,
        plan: Plan::default(),
        new_lock: lock.clone(),
        bases: vec![],
    };
    let mut removed: Vec<_> = lock.files.iter().collect();
    removed.retain(|(path, _)| only(path) && !theirs.0.contains_key(*path));
    for (path, file) in theirs.0.into_iter().filter(|(path, _)| only(path)) {
        planner.plan_file(&path, file);
    }
    for (path, entry) in removed {
        planner.no_longer_generated(path, entry);
    }
    planner.finish()
}

/// The folder of the tool's own records, which cannot be adopted.
const RECORDS: &str = ".operator/";

struct Planner<'a> {
    lock: &'a Lock,
    ours: &'a Ours,
    resolution: &'a Resolution,
    plan: Plan,
    new_lock: Lock,
    bases: Vec<Change>,
}

impl Planner<'_> {
    /// Plans a generated file, by its owner and the user's decisions.
    fn plan_file(&mut self, path: &str, file: File) {
        let File {
            owner,
            text: theirs,
            is_skeleton,
        } = file;
        let is_there = self.ours.get(path).is_some();
        let is_adopted = owner != Owner::User
            && !path.starts_with(RECORDS)
            && (self.lock.files.get(path)).is_some_and(|entry| entry.owner == Owner::User);
        // `--reset` of a folder does not replace files that belong to the user
        let resets = match (owner, is_adopted) {
            (Owner::User, _) => self.resolution.resets(path) && !is_there,
            (_, true) => self.resolution.resets_itself(path),
            (_, false) => self.resolution.resets(path),
        };
        if resets {
            return self.reset(path, owner, theirs);
        }
        if is_adopted {
            return self.check_adopted(path, &theirs);
        }
        let is_record = path.starts_with(RECORDS);
        if owner != Owner::User && is_there && !is_record && self.resolution.adopts(path) {
            return self.adopt(path, &theirs);
        }
        match owner {
            Owner::Tool => self.plan_tool_file(path, theirs),
            Owner::Merged => self.plan_merged_file(path, Merge::Lines, theirs),
            Owner::Keys => self.plan_merged_file(path, Merge::Keys, theirs),
            Owner::User => self.plan_user_file(path, theirs, is_skeleton),
        }
    }

    /// Replaces a file with its generated text, and records it as new.
    fn reset(&mut self, path: &str, owner: Owner, theirs: String) {
        match self.ours.get(path) {
            Some(ours) if same(ours, &theirs) => {}
            Some(_) => {
                self.write(path, Action::Update, theirs.clone(), owner);
                // a byte order mark is an edit, too
                let written = self.plan.changes.last_mut();
                if let Some(text) = written.and_then(|change| change.after.as_mut()) {
                    *text = text.trim_start_matches('\u{feff}').to_owned();
                }
            }
            None => self.write(path, Action::Create, theirs.clone(), owner),
        }
        self.record(path, owner, &theirs);
        if let Owner::Merged | Owner::Keys = owner {
            self.record_base(path, Some(theirs));
        }
    }

    /// Gives a file to the user.
    fn adopt(&mut self, path: &str, theirs: &str) {
        if let Some(ours) = self.ours.get(path)
            && is_marked(ours)
        {
            return self.conflict(path, Cause::Unresolved, Some(ours));
        }
        let entry = Entry::adopted(Some(theirs));
        self.new_lock.files.insert(path.into(), entry);
        self.record_base(path, None);
        self.plan.notes.push(Note::Adopted(path.into()));
    }

    /// Checks an adopted file, whose generated version may have changed.
    fn check_adopted(&mut self, path: &str, theirs: &str) {
        if self.ours.get(path).is_none() {
            return;
        }
        let before = self.lock.files.get(path);
        let declined = before.and_then(|entry| entry.declined.as_ref());
        let entry = Entry::adopted(Some(theirs));
        if declined.is_some() && declined != entry.declined.as_ref() {
            self.plan.notes.push(Note::GeneratedChanged(path.into()));
        }
        self.new_lock.files.insert(path.into(), entry);
    }

    /// Plans a file that the tool replaces, unless somebody edited it.
    fn plan_tool_file(&mut self, path: &str, theirs: String) {
        let action = match self.ours.get(path) {
            Some(ours) if same(ours, &theirs) => None,
            Some(ours) if self.lock.is_pristine(path, ours) => Some(Action::Update),
            Some(ours) if is_marked(ours) => {
                return self.conflict(path, Cause::Unresolved, Some(&theirs));
            }
            Some(_) => return self.conflict(path, Cause::Edited, Some(&theirs)),
            None => match self.lock.files.get(path) {
                None => Some(Action::Create),
                // the tool's records do not belong to the user
                Some(_) if path.starts_with(RECORDS) => Some(Action::Create),
                Some(_) => return self.stays_deleted(path, Owner::Tool, &theirs),
            },
        };
        self.record(path, Owner::Tool, &theirs);
        if let Some(action) = action {
            self.write(path, action, theirs, Owner::Tool);
        }
    }

    /// Plans a file that is merged: `base` is the text that was generated last.
    fn plan_merged_file(&mut self, path: &str, merge: Merge, theirs: String) {
        let owner = merge.owner();
        let is_known = self.lock.files.contains_key(path);
        // a file that used to be the tool's has no base; if nobody edited it, it is its own base
        let pristine = |ours: &&str| self.lock.is_pristine(path, ours);
        // an edited base, for example by a search and replace in all files, is not used
        let base = self.ours.base(path).filter(pristine);
        let base = base.or_else(|| self.ours.get(path).filter(pristine));
        match (self.ours.get(path), base) {
            (Some(ours), _) if is_marked(ours) => {
                return self.conflict(path, Cause::Unresolved, Some(ours));
            }
            (Some(ours), _) if same(ours, &theirs) => {}
            // Invariant: a file that the user deleted is not created again.
            (None, _) if is_known => {
                self.stays_deleted(path, owner, &theirs);
                return self.record_base(path, Some(theirs));
            }
            (None, _) => self.write(path, Action::Create, theirs.clone(), owner),
            (Some(_), Some(base)) if same(base, &theirs) => {}
            (Some(ours), Some(base)) if same(ours, base) => {
                self.write(path, Action::Update, theirs.clone(), owner);
            }
            (Some(ours), base) => match merge.merge(base.unwrap_or_default(), ours, &theirs) {
                Ok(text) if text == ours => {}
                Ok(text) => self.write(path, Action::Merge, text, owner),
                // This version of the tool is the first that generates this file, and the user already has another one with its path.
                Err(_) if base.is_none() && !is_known && !self.lock.files.is_empty() => {
                    let entry = Entry::adopted(Some(&theirs));
                    self.new_lock.files.insert(path.into(), entry);
                    self.plan.notes.push(Note::Present(path.into()));
                    return;
                }
                Err(marked) if self.resolution.write_conflicts => {
                    self.plan.notes.push(Note::Marked(path.into()));
                    self.write(path, Action::Merge, marked, owner);
                }
                Err(marked) => {
                    let cause = base.map_or(Cause::Baseless, |_| Cause::Both);
                    return self.conflict(path, cause, Some(&marked));
                }
            },
        }
        self.record(path, owner, &theirs);
        self.record_base(path, Some(theirs));
    }

    /// Plans a file that is written once, and then belongs to the user.
    fn plan_user_file(&mut self, path: &str, theirs: String, is_skeleton: bool) {
        let known = self.lock.files.get(path);
        match (self.ours.get(path), known) {
            (Some(ours), _) if same(ours, &theirs) => self.record(path, Owner::User, &theirs),
            (Some(ours), _) if is_skeleton && self.lock.is_pristine(path, ours) => {
                self.record(path, Owner::User, &theirs);
                self.write(path, Action::Update, theirs, Owner::User);
            }
            // the lock records the original text, not the one that would be generated now
            (_, Some(entry)) if entry.owner == Owner::User => {
                let entry = Entry {
                    orphaned: false,
                    ..entry.clone()
                };
                self.new_lock.files.insert(path.into(), entry);
            }
            (None, None) => {
                self.record(path, Owner::User, &theirs);
                self.write(path, Action::Create, theirs, Owner::User);
            }
            (_, known) => {
                // in a project whose lock was lost, every file is unknown
                if known.is_none() && !self.lock.files.is_empty() {
                    self.plan.notes.push(Note::Used(path.into()));
                }
                let entry = Entry::adopted(None);
                self.new_lock.files.insert(path.into(), entry);
                self.record_base(path, None);
            }
        }
    }

    /// Records that the user deleted a file, and reports it once.
    fn stays_deleted(&mut self, path: &str, owner: Owner, theirs: &str) {
        if !(self.lock.files.get(path)).is_some_and(|entry| entry.removed) {
            self.plan.notes.push(Note::Removed(path.into()));
        }
        let entry = Entry::new(owner, theirs).removed();
        self.new_lock.files.insert(path.into(), entry);
    }

    /// Handles a file that is no longer generated.
    fn no_longer_generated(&mut self, path: &str, entry: &Entry) {
        if let Some(ours) = self.ours.get(path) {
            let is_reset = match entry.owner {
                Owner::Tool => self.resolution.resets(path),
                // `--reset` of a folder does not remove merged files with edits of the user
                Owner::Merged | Owner::Keys => self.resolution.resets_itself(path),
                Owner::User => false,
            };
            if self.lock.is_pristine(path, ours) || is_reset {
                self.plan.changes.push(Change {
                    path: path.into(),
                    action: Action::Remove,
                    before: Some(ours.into()),
                    after: None,
                    owner: Some(entry.owner),
                });
            } else if entry.owner == Owner::Tool && !self.resolution.adopts(path) {
                return self.conflict(path, Cause::Unneeded, None);
            } else {
                let adopts = self.resolution.adopts(path) && entry.owner != Owner::User;
                if adopts || !entry.orphaned {
                    self.plan.notes.push(Note::Orphan(path.into()));
                }
                let entry = if adopts {
                    Entry {
                        declined: entry.hash.clone(),
                        ..Entry::adopted(None)
                    }
                } else {
                    entry.clone()
                };
                // the entry stays, because the file may be generated again when a setting is set again: then edits are merged, and an
                // adopted file stays adopted
                let is_merged = matches!(entry.owner, Owner::Merged | Owner::Keys);
                if is_merged || entry.is_adopted() {
                    self.new_lock.files.insert(path.into(), entry.orphaned());
                    if !is_merged {
                        self.record_base(path, None);
                    }
                    return;
                }
            }
        }
        self.new_lock.files.remove(path);
        self.record_base(path, None);
    }

    fn conflict(&mut self, path: &str, cause: Cause, theirs: Option<&str>) {
        self.plan.conflicts.push(Conflict {
            path: path.into(),
            cause,
            diff: diff(path, self.ours.get(path), theirs),
        });
    }

    /// Writes a file with its current line endings.
    fn write(&mut self, path: &str, action: Action, text: String, owner: Owner) {
        let before = self.ours.get(path);
        self.plan.changes.push(Change {
            path: path.into(),
            action,
            before: before.map(str::to_owned),
            after: Some(laid_out(before, text)),
            owner: Some(owner),
        });
    }

    fn record(&mut self, path: &str, owner: Owner, theirs: &str) {
        self.new_lock
            .files
            .insert(path.into(), Entry::new(owner, theirs));
    }

    /// Records the base for the next merge, or removes it.
    fn record_base(&mut self, path: &str, theirs: Option<String>) {
        let path = format!("{BASE}{path}");
        let base = self.ours.get(&path);
        let is_same = match (base, &theirs) {
            (Some(base), Some(theirs)) => same(base, theirs),
            (base, theirs) => base.is_none() && theirs.is_none(),
        };
        if is_same {
            return;
        }
        self.bases.push(Change {
            action: match (base, &theirs) {
                (_, None) => Action::Remove,
                (Some(_), _) => Action::Update,
                (None, _) => Action::Create,
            },
            before: base.map(str::to_owned),
            after: theirs.map(|theirs| laid_out(base, theirs)),
            path,
            owner: None,
        });
    }

    /// Adds the bases and the lock to the sorted changes.
    fn finish(mut self) -> Plan {
        self.plan.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.plan.changes.extend(self.bases);
        let after = self.new_lock.to_text();
        let before = self.ours.get(LOCK);
        if before.is_none_or(|before| !same(before, &after)) {
            self.plan.changes.push(Change {
                path: LOCK.into(),
                action: if before.is_some() {
                    Action::Update
                } else {
                    Action::Create
                },
                before: before.map(str::to_owned),
                after: Some(laid_out(before, after)),
                owner: None,
            });
        }
        self.plan
    }
}

/// Converts a text to the line endings of the text that it replaces.
fn laid_out(before: Option<&str>, text: String) -> String {
    match before {
        Some(before) => with_line_endings_of(before, text),
        None => text,
    }
}

#[cfg(test)]
mod tests;
