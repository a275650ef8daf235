//! Field ownership: [server-side apply] and the tracking of updates, modeled on structured-merge-diff.
//!
//! In: the live object, the new or applied one, and the kind's schema. Out: the object to store, and the owners of its fields. This folder
//! knows no requests.
//!
//! [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/

mod atom;
mod compare;
mod fields;
mod kind;
mod managers;
mod merge;
mod path;
mod reconcile;
mod remove;
mod set;
mod shape;
mod version;

pub(crate) use self::compare::Comparison;
pub(crate) use self::fields::{Repeats, fields_of, validate_typed};
pub(crate) use self::kind::node;
pub(crate) use self::managers::{ManagerId, Managers, Operation, Owned, without_managers};
pub(crate) use self::path::PathElement;
pub(crate) use self::set::FieldSet;
pub(crate) use self::shape::Node;
pub(crate) use self::version::Versions;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use self::merge::merge;
use self::reconcile::reconciled;
use self::remove::remove;

/// A write by a manager.
pub(crate) struct Writer<'a> {
    pub id: ManagerId,
    /// The version of the write.
    pub api_version: String,
    /// The schema of this version.
    pub node: Node<'a>,
    /// The versions in which other managers may have written.
    pub versions: Versions<'a>,
    /// The fields that writes through this path do not change, such as `status`.
    pub ignored: FieldSet,
    /// The time of the write, if it is recorded.
    pub time: Option<String>,
    /// Converts objects between versions that differ in more than their `apiVersion`.
    pub converter: Option<Box<dyn Convert + 'a>>,
}

/// Converts objects of a kind to other versions.
pub(crate) trait Convert {
    /// Fails with the server's message.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String>;
}

/// A field that another manager owns and that an apply would change.
pub(crate) struct Conflict {
    pub manager: ManagerId,
    pub path: Vec<PathElement>,
}

/// The reason why an apply fails.
pub(crate) enum Refusal {
    Conflicts(Vec<Conflict>),
    /// The server's message.
    Failed(String),
}

impl From<String> for Refusal {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

/// An object in one version, with the schema of this version.
type InVersion<'a> = (Cow<'a, Value>, Node<'a>);

/// The live object in each version that has managers.
struct LiveByVersion<'a>(BTreeMap<String, InVersion<'a>>);

impl LiveByVersion<'_> {
    /// The managers, with their sets updated to the current schemas of their versions. Managers of versions that do not exist are removed.
    fn reconcile(&self, managers: &Managers) -> Managers {
        let managers = managers.0.iter().filter_map(|(id, owned)| {
            let (_, node) = self.0.get(&owned.api_version)?;
            let owned = Owned {
                fields: reconciled(&owned.fields, *node),
                ..owned.clone()
            };
            Some((id.clone(), owned))
        });
        Managers(managers.collect())
    }
}

/// The changes of a write, in each version that has managers.
struct Changes<'a> {
    version: &'a str,
    /// The changes in this version.
    own: Comparison,
    /// The changes in other versions, by `apiVersion`.
    elsewhere: BTreeMap<String, Comparison>,
}

impl Writer<'_> {
    /// The owners of fields after an update or patch of the object, or an error if they cannot be determined.
    pub fn update(&self, live: &Value, new: &Value, before: &Managers) -> Result<Managers, String> {
        for object in [new, live] {
            if let Some(what) = validate_typed(object, self.node, Repeats::Allowed) {
                return Err(what);
            }
        }
        let seen = self.live_by_version(live, before)?;
        let mut managers = seen.reconcile(before);
        let changes = self.changes(live, new, &seen, managers.0.iter())?;
        changes.take_from(&mut managers, None);
        let taken = changes
            .own
            .written()
            .recursive_difference(&self.ignored)
            .difference(&never_owned());
        if !taken.is_empty() {
            let held = managers.0.get(&self.id).map(|owned| &owned.fields);
            let owned = Owned {
                fields: held.map_or_else(|| taken.clone(), |held| taken.union(held)),
                api_version: self.api_version.clone(),
                time: self.time.clone(),
            };
            managers.0.insert(self.id.clone(), owned);
        }
        managers.cap();
        Ok(managers)
    }

    /// The object with the applied fields, without the fields that the manager applied earlier and does not apply now.
    pub fn apply(
        &self,
        live: &Value,
        applied: &Value,
        before: &Managers,
        force: bool,
    ) -> Result<(Value, Managers), Refusal> {
        let seen = self.live_by_version(live, before)?;
        let mut managers = seen.reconcile(before);
        let merged = merge(Some(live), Some(applied), self.node).unwrap_or_default();
        let last = managers.0.get(&self.id).cloned();
        let owned = Owned {
            fields: fields_of(applied, self.node).recursive_difference(&self.ignored),
            api_version: self.api_version.clone(),
            time: self.time.clone(),
        };
        managers.0.insert(self.id.clone(), owned);
        let new = match &last {
            Some(last) if !last.fields.is_empty() => self
                .prune(merged, &managers, last)
                .map_err(|why| format!("failed to prune fields: {why}"))?,
            _ => merged,
        };
        let others = managers.0.iter().filter(|(id, _)| **id != self.id);
        let changes = self.changes(live, &new, &seen, others)?;
        let conflicts: Vec<Conflict> = managers
            .0
            .iter()
            .filter(|(id, _)| **id != self.id)
            .flat_map(|(id, owned)| {
                let paths = changes.taken(owned).paths();
                paths.into_iter().map(|path| Conflict {
                    manager: id.clone(),
                    path,
                })
            })
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(Refusal::Conflicts(conflicts));
        }
        changes.take_from(&mut managers, Some(&self.id));
        if let Some(mine) = managers.0.get_mut(&self.id) {
            if new == *live {
                // an apply that changes nothing keeps the previous time
                mine.time = last.and_then(|last| last.time);
            }
            mine.fields = mine.fields.difference(&never_owned());
            if mine.fields.is_empty() {
                managers.0.remove(&self.id);
            }
        }
        Ok((new, managers))
    }

    /// Removes the fields that the manager no longer applies from a merged object, unless another manager owns them or something in them
    /// remains.
    fn prune(&self, merged: Value, managers: &Managers, last: &Owned) -> Result<Value, String> {
        let doing = "failed to convert merged object to last applied version: ";
        let Some((whole, node)) = self.convert(&merged, &last.api_version, doing)? else {
            return Ok(merged);
        };
        let mut pruned = remove(&whole, &last.fields.with_declared_parents(node), node);
        let mut owned: BTreeMap<&String, FieldSet> = BTreeMap::new();
        for one in managers.0.values() {
            let all = owned.entry(&one.api_version).or_default();
            *all = all.union(&one.fields);
        }
        let first = owned.remove_entry(&last.api_version);
        for (version, owned) in first.into_iter().chain(owned) {
            let doing = format!(
                "failed add back owned items: failed to convert merged object at version {version}: "
            );
            let Some((whole, node)) = self.convert(&merged, version, &doing)? else {
                continue;
            };
            let here = self.translate(&pruned, version)?;
            let kept = declared_in(&here, node).union(&owned.with_declared_parents(node));
            pruned = remove(&whole, &declared_in(&whole, node).difference(&kept), node);
        }
        let pruned = self.translate(&pruned, &last.api_version)?;
        let gone = declared_in(&whole, node).difference(&declared_in(&pruned, node));
        let gone = gone.intersection(&last.fields.with_declared_parents(node));
        let pruned = remove(&whole, &gone, node);
        Ok(self.translate(&pruned, &self.api_version)?.into_owned())
    }

    /// Converts the live object to each version that has managers.
    fn live_by_version<'o>(
        &'o self,
        live: &'o Value,
        managers: &Managers,
    ) -> Result<LiveByVersion<'o>, String> {
        let mut seen = BTreeMap::new();
        for owned in managers.0.values() {
            let version = &owned.api_version;
            if !seen.contains_key(version)
                && let Some(object) = self.convert(live, version, "")?
            {
                seen.insert(version.clone(), object);
            }
        }
        Ok(LiveByVersion(seen))
    }

    /// The differences between two objects, in the versions of managers.
    fn changes<'m>(
        &self,
        live: &Value,
        new: &Value,
        seen: &LiveByVersion<'_>,
        managers: impl Iterator<Item = (&'m ManagerId, &'m Owned)>,
    ) -> Result<Changes<'_>, String> {
        let own = Comparison::between(live, new, self.node).excluding(&self.ignored);
        let mut elsewhere = BTreeMap::new();
        for version in managers.map(|(_, owned)| &owned.api_version) {
            if *version == self.api_version || elsewhere.contains_key(version) {
                continue;
            }
            let Some((old, node)) = seen.0.get(version) else {
                continue;
            };
            let converted = self.convert(new, version, "failed to convert new object: ")?;
            let Some((new, _)) = converted else {
                continue;
            };
            let mut changes = Comparison::between(old, &new, *node);
            if self.versions.ignores_fields(&self.id.subresource, version) {
                changes = changes.excluding(&self.ignored);
            }
            elsewhere.insert(version.clone(), changes);
        }
        Ok(Changes {
            version: &self.api_version,
            own,
            elsewhere,
        })
    }

    /// Converts an object to a version. Validates it against the schema of this version, if it is not the version of the write. Returns
    /// `None` for a version that does not exist. An error starts with `doing`.
    fn convert<'o>(
        &'o self,
        object: &'o Value,
        version: &str,
        doing: &str,
    ) -> Result<Option<InVersion<'o>>, String> {
        if version == self.api_version {
            return Ok(Some((self.translate(object, version)?, self.node)));
        }
        let failed = |why: String| format!("{doing}{why}");
        let Some(node) = self.versions.node(version).map_err(failed)? else {
            return Ok(None);
        };
        let object = self.translate(object, version).map_err(failed)?;
        match validate_typed(&object, node, Repeats::Refused) {
            Some(why) => Err(failed(why)),
            None => Ok(Some((object, node))),
        }
    }

    /// Converts an object to a version, without a validation.
    fn translate<'o>(&self, object: &'o Value, version: &str) -> Result<Cow<'o, Value>, String> {
        match &self.converter {
            Some(converter) if object["apiVersion"] != version => {
                converter.convert(object, version).map(Cow::Owned)
            }
            _ => Ok(Cow::Borrowed(object)),
        }
    }
}

impl Changes<'_> {
    /// The changes in the version of an entry.
    fn in_version_of(&self, owned: &Owned) -> Option<&Comparison> {
        if owned.api_version == self.version {
            Some(&self.own)
        } else {
            self.elsewhere.get(&owned.api_version)
        }
    }

    /// The fields that the write takes from another manager.
    fn taken(&self, from: &Owned) -> FieldSet {
        self.in_version_of(from)
            .map_or_else(FieldSet::default, |changes| {
                from.fields.intersection(&changes.written())
            })
    }

    /// Takes the changed and removed fields from all managers `but` one.
    fn take_from(&self, managers: &mut Managers, but: Option<&ManagerId>) {
        for (id, owned) in &mut managers.0 {
            if Some(id) != but
                && let Some(changes) = self.in_version_of(owned)
            {
                let left = owned.fields.difference(&changes.written());
                owned.fields = left.difference(&changes.removed);
            }
        }
        managers.0.retain(|_, owned| !owned.fields.is_empty());
    }
}

fn declared_in(value: &Value, node: Node<'_>) -> FieldSet {
    fields_of(value, node).with_declared_parents(node)
}

/// The fields that no manager owns: they identify the object, or only the server sets them.
fn never_owned() -> FieldSet {
    let mut set = FieldSet::default();
    for field in ["apiVersion", "kind", "metadata"] {
        set.insert(&[PathElement::field(field)]);
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
        set.insert(&[PathElement::field("metadata"), PathElement::field(field)]);
    }
    set
}
