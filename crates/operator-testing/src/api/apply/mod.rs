//! Field ownership: [server-side apply] and the tracking of updates, after structured-merge-diff.
//!
//! In: the live object, the new or applied one, the kind's schema. Out: the object to store and who owns what in it. Nothing here knows requests.
//!
//! [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/

mod compare;
mod fields;
mod managers;
mod merge;
mod path;
mod remove;
mod set;
mod shape;

use serde_json::Value;

pub(crate) use self::fields::{fields_of, is_declared, undeclared};
pub(crate) use self::managers::{ManagerId, Managers, Operation, Owned};
pub(crate) use self::path::Step;
pub(crate) use self::set::FieldSet;
pub(crate) use self::shape::Node;

use self::compare::Comparison;
use self::merge::merge;
use self::remove::remove;

/// One write by one manager.
pub(crate) struct Writer<'a> {
    pub id: ManagerId,
    /// The version that the write is in.
    pub api_version: String,
    pub node: Node<'a>,
    /// The fields that writes through this path leave alone, such as `status`.
    pub ignored: FieldSet,
    /// When it is, if that is kept.
    pub time: Option<String>,
}

/// A field that another manager owns, and that an apply would change.
pub(crate) struct Conflict {
    pub manager: ManagerId,
    pub path: Vec<Step>,
}

impl Writer<'_> {
    /// Who owns what after the object was written as a whole, or patched.
    pub fn update(&self, live: &Value, new: &Value, before: &Managers) -> Managers {
        let changes = Comparison::between(live, new, self.node).excluding(&self.ignored);
        let mut managers = before.clone();
        let taken = changes.modified.union(&changes.added);
        take(&mut managers, None, &taken, &changes.removed);
        let taken = taken
            .recursive_difference(&self.ignored)
            .difference(&never_owned());
        if !taken.is_empty() {
            let held = before_or_empty(&managers, &self.id);
            let owned = Owned {
                fields: taken.union(&held),
                api_version: self.api_version.clone(),
                time: self.time.clone(),
            };
            managers.0.insert(self.id.clone(), owned);
        }
        managers.cap();
        managers
    }

    /// The object with what the manager applies, and without what it applied before and does not apply now.
    pub fn apply(
        &self,
        live: &Value,
        applied: &Value,
        before: &Managers,
        force: bool,
    ) -> Result<(Value, Managers), Vec<Conflict>> {
        let merged = merge(Some(live), Some(applied), self.node).unwrap_or_default();
        let mut managers = before.clone();
        let last = managers.0.get(&self.id).cloned();
        let fields = fields_of(applied, self.node).recursive_difference(&self.ignored);
        let time = self.time.clone();
        let owned = Owned {
            fields,
            api_version: self.api_version.clone(),
            time,
        };
        managers.0.insert(self.id.clone(), owned);
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self.prune(&merged, &managers, &last.fields),
            _ => merged,
        };
        let changes = Comparison::between(live, &new, self.node).excluding(&self.ignored);
        let taken = changes.modified.union(&changes.added);
        let conflicts: Vec<Conflict> = managers
            .0
            .iter()
            .filter(|(id, _)| **id != self.id)
            .flat_map(|(id, owned)| {
                let paths = owned.fields.intersection(&taken).paths();
                paths.into_iter().map(|path| Conflict {
                    manager: id.clone(),
                    path,
                })
            })
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        take(&mut managers, Some(&self.id), &taken, &changes.removed);
        if let Some(mine) = managers.0.get_mut(&self.id) {
            if changes.is_empty() {
                // An apply without effect leaves no time.
                mine.time = last.and_then(|last| last.time);
            }
            mine.fields = mine.fields.difference(&never_owned());
            if mine.fields.is_empty() {
                managers.0.remove(&self.id);
            }
        }
        Ok((new, managers))
    }

    /// Removes what the manager no longer applies, unless another owns it or something in it is left.
    fn prune(&self, merged: &Value, managers: &Managers, last: &FieldSet) -> Value {
        let parents = |set: &FieldSet| set.with_declared_parents(self.node);
        let last = parents(last);
        let all = parents(&fields_of(merged, self.node));
        let pruned = remove(merged, &last, self.node);
        let kept = parents(&fields_of(&pruned, self.node));
        let owned = managers
            .0
            .values()
            .fold(FieldSet::default(), |all, o| all.union(&o.fields));
        let gone = all.difference(&kept.union(&parents(&owned)));
        let pruned = remove(merged, &gone, self.node);
        let kept = parents(&fields_of(&pruned, self.node));
        remove(
            merged,
            &all.difference(&kept).intersection(&last),
            self.node,
        )
    }
}

/// Takes changed and removed fields from all managers but one.
fn take(managers: &mut Managers, but: Option<&ManagerId>, changed: &FieldSet, removed: &FieldSet) {
    for (id, owned) in &mut managers.0 {
        if Some(id) != but {
            owned.fields = owned.fields.difference(changed).difference(removed);
        }
    }
    managers.0.retain(|_, owned| !owned.fields.is_empty());
}

fn before_or_empty(managers: &Managers, id: &ManagerId) -> FieldSet {
    managers
        .0
        .get(id)
        .map(|owned| owned.fields.clone())
        .unwrap_or_default()
}

/// The fields that the server itself keeps, and that no manager owns.
fn never_owned() -> FieldSet {
    let mut set = FieldSet::default();
    for field in ["apiVersion", "kind", "metadata"] {
        set.insert(&[Step::field(field)]);
    }
    for field in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    ] {
        set.insert(&[Step::field("metadata"), Step::field(field)]);
    }
    set
}
