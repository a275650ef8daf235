//! The decision for each file, by its owner.

use super::{
    change::{Act, Change, Conflict, Note, Plan, diff},
    keys,
    tree::{BASE, LOCK, Ours, Tree},
};
use crate::project::{Entry, Lock, Owner};

/// Compares what was generated last (`lock` and the bases among `ours`), what is on disk and what is generated now.
///
/// With `only`, files for which it is false stay as they are, and so do their entries in the lock.
pub fn plan(lock: &Lock, ours: &Ours, theirs: Tree, only: impl Fn(&str) -> bool) -> Plan {
    let mut made = Making {
        lock,
        ours,
        plan: Plan::default(),
        new_lock: lock.clone(),
        bases: vec![],
    };
    let mut gone: Vec<_> = lock.files.iter().collect();
    gone.retain(|(path, _)| only(path) && !theirs.0.contains_key(*path));
    for (path, file) in theirs.0.into_iter().filter(|(path, _)| only(path)) {
        match file.owner {
            Owner::Tool => made.tool(&path, file.text),
            Owner::Merged => made.merged(&path, file.text, merge_lines),
            Owner::Keys => made.merged(&path, file.text, keys::merge),
            Owner::User => made.user(&path, file.text),
        }
    }
    for (path, entry) in gone {
        made.gone(path, entry.owner);
    }
    made.finish()
}

struct Making<'a> {
    lock: &'a Lock,
    ours: &'a Ours,
    plan: Plan,
    new_lock: Lock,
    bases: Vec<Change>,
}

/// What a merge of a file came to.
pub enum Merged {
    Clean(String),
    /// Both sides changed some of the same places; in these the user's text stays.
    Partly(String),
    /// Both sides changed the same place; the user's text stays.
    Kept,
}

impl Making<'_> {
    fn tool(&mut self, path: &str, theirs: String) {
        let act = match self.ours.get(path) {
            Some(ours) if same(ours, &theirs) => None,
            Some(ours) if !self.lock.is_pristine(path, ours) => {
                self.plan.conflicts.push(Conflict {
                    path: path.into(),
                    ours: ours.into(),
                    theirs: Some(theirs),
                });
                return;
            }
            Some(_) => Some(Act::Update),
            None => Some(Act::Create),
        };
        self.record(path, Owner::Tool, &theirs);
        if let Some(act) = act {
            self.write(path, act, theirs, Owner::Tool);
        }
    }

    fn merged(&mut self, path: &str, theirs: String, merge: fn(&str, &str, &str) -> Merged) {
        let owner = if path == keys::PATH {
            Owner::Keys
        } else {
            Owner::Merged
        };
        match (self.ours.get(path), self.ours.base(path)) {
            (Some(ours), _) if same(ours, &theirs) => {}
            // Invariant: a file that the user removed stays away.
            (None, Some(_)) => {}
            (None, None) => self.write(path, Act::Create, theirs.clone(), owner),
            (Some(_), Some(base)) if same(base, &theirs) => {}
            (Some(ours), Some(base)) if same(ours, base) => {
                self.write(path, Act::Update, theirs.clone(), owner)
            }
            (Some(ours), base) => match merge(base.unwrap_or_default(), ours, &theirs) {
                Merged::Clean(text) if text == ours => {}
                Merged::Clean(text) => self.write(path, Act::Merge, text, owner),
                partly => {
                    if let Merged::Partly(text) = partly
                        && text != ours
                    {
                        self.write(path, Act::Merge, text, owner);
                    }
                    self.plan.notes.push(Note::Kept {
                        path: path.into(),
                        diff: diff(path, base, Some(&theirs)),
                    });
                }
            },
        }
        self.record(path, owner, &theirs);
        let base_path = format!("{BASE}{path}");
        let base = self.ours.get(&base_path);
        if base != Some(&theirs) {
            self.bases.push(Change {
                act: if base.is_some() {
                    Act::Update
                } else {
                    Act::Create
                },
                before: base.map(str::to_owned),
                after: Some(theirs),
                path: base_path,
                owner: None,
            });
        }
    }

    fn user(&mut self, path: &str, theirs: String) {
        self.record(path, Owner::User, &theirs);
        if self.ours.get(path).is_none() && !self.lock.files.contains_key(path) {
            self.write(path, Act::Create, theirs, Owner::User);
        }
    }

    /// A file that is not generated any more.
    fn gone(&mut self, path: &str, owner: Owner) {
        let pristine = match owner {
            Owner::Tool => self
                .ours
                .get(path)
                .map(|ours| self.lock.is_pristine(path, ours)),
            Owner::Merged | Owner::Keys => self
                .ours
                .get(path)
                .map(|ours| self.ours.base(path) == Some(ours)),
            Owner::User => self.ours.get(path).map(|_| false),
        };
        match (owner, pristine, self.ours.get(path)) {
            (_, Some(true), Some(ours)) => self.plan.changes.push(Change {
                path: path.into(),
                act: Act::Remove,
                before: Some(ours.into()),
                after: None,
                owner: Some(owner),
            }),
            (Owner::Tool, Some(false), Some(ours)) => {
                self.plan.conflicts.push(Conflict {
                    path: path.into(),
                    ours: ours.into(),
                    theirs: None,
                });
                return;
            }
            (_, Some(false), Some(_)) => self.plan.notes.push(Note::Orphan { path: path.into() }),
            _ => {}
        }
        self.new_lock.files.remove(path);
        let base_path = format!("{BASE}{path}");
        if let Some(base) = self.ours.get(&base_path) {
            self.bases.push(Change {
                act: Act::Remove,
                before: Some(base.into()),
                after: None,
                path: base_path,
                owner: None,
            });
        }
    }

    fn write(&mut self, path: &str, act: Act, text: String, owner: Owner) {
        self.plan.changes.push(Change {
            path: path.into(),
            act,
            before: self.ours.get(path).map(str::to_owned),
            after: Some(text),
            owner: Some(owner),
        });
    }

    fn record(&mut self, path: &str, owner: Owner, theirs: &str) {
        self.new_lock
            .files
            .insert(path.into(), Entry::new(owner, theirs));
    }

    fn finish(mut self) -> Plan {
        self.plan.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.plan.changes.extend(self.bases);
        let after = self.new_lock.to_text();
        let before = self.ours.get(LOCK);
        if before.is_none_or(|before| !same(before, &after)) {
            self.plan.changes.push(Change {
                path: LOCK.into(),
                act: if before.is_some() {
                    Act::Update
                } else {
                    Act::Create
                },
                before: before.map(str::to_owned),
                after: Some(after),
                owner: None,
            });
        }
        self.plan
    }
}

/// Equal but for line endings, which git may have changed.
fn same(a: &str, b: &str) -> bool {
    a == b
        || (a.contains('\r') || b.contains('\r'))
            && a.replace("\r\n", "\n") == b.replace("\r\n", "\n")
}

fn merge_lines(base: &str, ours: &str, theirs: &str) -> Merged {
    match diffy::merge(base, ours, theirs) {
        Ok(text) => Merged::Clean(text),
        Err(_) => Merged::Kept,
    }
}

#[cfg(test)]
mod tests;
