//! `manifests/stale.md`: commands that delete the objects that the manifests no longer contain, because applying them deletes nothing.
//!
//! The file is its own record: commands add the objects that leave the manifests, and remove those that return; the user removes those that
//! no cluster has any more.

use std::collections::BTreeSet;

use super::{Object, object};
use crate::{
    crd,
    plan::{Note, Ours, Plan},
};

/// The path of the file.
pub const STALE: &str = "manifests/stale.md";

const COMMAND: &str = "kubectl delete --ignore-not-found ";

const TITLES: [&str; 2] = [
    "before you apply the manifests:",
    "after the new pods are ready:",
];

/// Commands that delete objects, each after the place of its kind in the order of deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaleObjects(BTreeSet<(usize, String)>);

impl StaleObjects {
    /// The commands in a text of the file.
    pub fn read(text: &str) -> Self {
        let commands = text.lines().filter(|line| line.starts_with(COMMAND));
        let placed = commands.map(|line| {
            let argument = line.rsplit(' ').next().unwrap_or_default();
            let kind = argument.split('/').next().unwrap_or_default();
            (object::place(kind), line.to_owned())
        });
        Self(placed.collect())
    }

    /// The commands after a plan for the manifests: with those for the objects that it removes, and without those for what it adds.
    pub fn after(&self, plan: &Plan, ours: &Ours) -> Self {
        let is_manifest =
            |path: &str| path.starts_with("manifests/") && !path.starts_with("manifests/samples/");
        let changes = || {
            plan.changes
                .iter()
                .filter(|change| is_manifest(&change.path))
        };
        let orphans = plan.notes.iter().filter_map(|note| match note {
            Note::Orphan(path) if is_manifest(path) => ours.get(path),
            _ => None,
        });
        let before = changes().filter_map(|change| change.before.as_deref());
        let removed = Self::of(before.chain(orphans));
        let added = Self::of(changes().filter_map(|change| change.after.as_deref()));
        Self(&self.0 | &removed.0).without(&added)
    }

    /// The commands that delete the objects of manifests. A namespace is never deleted, because all that it contains would be.
    fn of<'a>(manifests: impl Iterator<Item = &'a str>) -> Self {
        let objects = manifests
            .flat_map(crd::values)
            .filter_map(|value| Object::of(&value.ok()?, "", ""));
        let commands = objects
            .filter(|object| !object.is_namespace())
            .filter_map(|object| {
                let kind = object.resource.name();
                // a manifest of somebody else's repository must not become another command
                let is_plain = [&kind, &object.name]
                    .into_iter()
                    .chain(&object.namespace)
                    .all(|it| {
                        it.chars()
                            .all(|it| it.is_ascii_alphanumeric() || "-.".contains(it))
                    });
                let namespace = object
                    .namespace
                    .map(|namespace| format!("--namespace={namespace} "));
                let namespace = namespace.unwrap_or_default();
                is_plain.then(|| format!("{COMMAND}{namespace}{kind}/{}\n", object.name))
            });
        Self::read(&commands.collect::<String>())
    }

    /// The commands that another list does not have.
    pub fn without(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// When to run the commands, and the commands, in order. While nothing serves a webhook, the requests that it concerns fail, and two
    /// Deployments would be two operators; but the old pods need their roles.
    pub fn steps(&self) -> impl Iterator<Item = (&'static str, String)> {
        let deployment = object::place("deployments.apps");
        TITLES
            .into_iter()
            .enumerate()
            .filter_map(move |(step, title)| {
                let of_step = self
                    .0
                    .iter()
                    .filter(|(place, _)| usize::from(*place > deployment) == step);
                let commands: String = of_step.map(|(_, command)| format!("{command}\n")).collect();
                (!commands.is_empty()).then_some((title, commands))
            })
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let steps = self
            .steps()
            .map(|(title, commands)| format!("\nRun {title}\n\n```sh\n{commands}```\n"));
        format!(
            "# Objects that the manifests no longer contain\n\n\
             Applying the manifests does not delete them. Remove a line when no cluster has the object any more, or remove this file;\n\
             `cargo operator` rewrites it when objects leave the manifests or return, and keeps only the commands.\n{}",
            steps.collect::<String>()
        )
    }
}
