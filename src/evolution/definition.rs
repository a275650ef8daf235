//! Compares CRDs without their schemas: names, scope, conversion, versions, and the subresources and columns of each version.

use super::{
    change::{Change, Impact},
    difference::{Difference, Side, impact_in_version, shown, transition},
};
use crate::crd::{Api, Conversion, Deprecation, Scope, Version};

/// Compares the parts of the CRD that concern all versions.
pub fn definition(before: &Api, after: &Api) -> Vec<Difference> {
    let mut differences = Differences::default();
    let (was, is) = (&before.names, &after.names);
    for (change, pointer, name, was, is) in [
        (
            Change::IdentityChanged,
            "/spec/group",
            "group",
            &before.group,
            &after.group,
        ),
        (
            Change::IdentityChanged,
            "/spec/names/kind",
            "kind",
            &was.kind,
            &is.kind,
        ),
        (
            Change::IdentityChanged,
            "/spec/names/plural",
            "plural",
            &was.plural,
            &is.plural,
        ),
        (
            Change::NameChanged,
            "/spec/names",
            "singular",
            &was.singular,
            &is.singular,
        ),
        (
            Change::NameChanged,
            "/spec/names",
            "list kind",
            &was.list_kind,
            &is.list_kind,
        ),
    ] {
        if was != is {
            differences.push(change, pointer, format!("{name} {was} -> {is}"));
        }
    }
    differences.names(
        "shortNames",
        "short name",
        &was.short_names,
        &is.short_names,
    );
    differences.names("categories", "category", &was.categories, &is.categories);
    if before.scope != after.scope {
        let name = |scope| match scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        let message = format!("scope {} -> {}", name(before.scope), name(after.scope));
        differences.push(Change::ScopeChanged, "/spec/scope", message);
    }
    match (before.conversion, after.conversion) {
        (Conversion::None, Conversion::Webhook) => differences.push(
            Change::ConversionByWebhook,
            "/spec/conversion/strategy",
            "conversion None -> Webhook",
        ),
        (Conversion::Webhook, Conversion::None) => differences.push_removed(
            Change::ConversionByNone,
            "/spec/conversion/strategy",
            "conversion Webhook -> None",
        ),
        _ => {}
    }
    let (was, is) = (before.storage_version(), after.storage_version());
    if was.name != is.name {
        let pointer = format!("/spec/versions/{}/storage", is.index);
        let message = format!("objects are stored as {} -> {}", was.name, is.name);
        differences.push(Change::StorageMoved, &pointer, message);
    }
    differences.0
}

/// What happened to a version between the old and the new CRD.
#[derive(Clone, Copy)]
pub enum Step<'a> {
    Added(&'a Version),
    Removed(&'a Version),
    Kept(&'a Version, &'a Version),
}

/// All versions in the order of the new CRD, then the removed ones.
pub fn versions<'a>(before: &'a Api, after: &'a Api) -> Vec<Step<'a>> {
    let steps = after
        .versions
        .iter()
        .map(|is| match before.version(&is.name) {
            Some(was) => Step::Kept(was, is),
            None => Step::Added(is),
        });
    let removed = before
        .versions
        .iter()
        .filter(|was| after.version(&was.name).is_none());
    steps.chain(removed.map(Step::Removed)).collect()
}

impl Step<'_> {
    /// Compares everything but the schema.
    pub fn parts(self) -> Vec<Difference> {
        let mut differences = Differences::default();
        let pointer = |version: &Version| format!("/spec/versions/{}", version.index);
        let (name, impact): (_, &dyn Fn(Change) -> Impact) = match self {
            Self::Added(version) => {
                let message = format!("the version {} is new", version.name);
                differences.push(Change::VersionAdded, &pointer(version), message);
                (&version.name, &Change::impact)
            }
            Self::Removed(version) => {
                let change = if version.served {
                    Change::VersionRemoved
                } else {
                    Change::UnservedVersionRemoved
                };
                let message = format!("the version {} was removed", version.name);
                differences.push(change, &pointer(version), message);
                differences.0[0].side = Side::Before;
                (&version.name, &Change::impact)
            }
            Self::Kept(before, after) => {
                differences.compare_kept(&pointer(after), before, after);
                (&after.name, &|change| match change {
                    // the verdicts of these already assume that only one side serves the version
                    Change::VersionServed | Change::VersionUnserved => change.impact(),
                    _ => impact_in_version(change.impact(), before, after),
                })
            }
        };
        for difference in &mut differences.0 {
            difference.version = Some(name.clone());
            difference.impact = impact(difference.change);
            if let Self::Kept(before, after) = self
                && difference.side == Side::Before
            {
                let rest = &difference.pointer[pointer(after).len()..];
                difference.pointer = pointer(before) + rest;
            }
        }
        differences.0
    }
}

/// Collects differences outside of the schemas.
#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    /// Adds a difference whose pointer leads into the new CRD.
    fn push(&mut self, change: Change, pointer: &str, message: impl Into<String>) {
        self.0.push(Difference {
            change,
            version: None,
            pointer: pointer.to_owned(),
            side: Side::After,
            path: vec![],
            message: message.into(),
            impact: change.impact(),
        });
    }

    /// Adds a difference whose pointer leads into the old CRD.
    fn push_removed(&mut self, change: Change, pointer: &str, message: impl Into<String>) {
        self.push(change, pointer, message);
        if let Some(last) = self.0.last_mut() {
            last.side = Side::Before;
        }
    }

    /// Compares the short names or the categories.
    fn names(&mut self, keyword: &str, name: &str, before: &[String], after: &[String]) {
        for (index, is) in after
            .iter()
            .enumerate()
            .filter(|(_, is)| !before.contains(is))
        {
            let pointer = format!("/spec/names/{keyword}/{index}");
            self.push(
                Change::NameAdded,
                &pointer,
                format!("the {name} {is} is new"),
            );
        }
        for (index, was) in before
            .iter()
            .enumerate()
            .filter(|(_, was)| !after.contains(was))
        {
            let pointer = format!("/spec/names/{keyword}/{index}");
            self.push_removed(
                Change::NameRemoved,
                &pointer,
                format!("the {name} {was} was removed"),
            );
        }
    }

    /// Compares a version that both CRDs have, except for its schema.
    fn compare_kept(&mut self, pointer: &str, before: &Version, after: &Version) {
        let at = |step: &str| format!("{pointer}/{step}");
        match (before.served, after.served) {
            (true, false) => {
                self.push(
                    Change::VersionUnserved,
                    &at("served"),
                    "it is no longer served",
                );
            }
            (false, true) => self.push(Change::VersionServed, &at("served"), "it is served"),
            _ => {}
        }
        if before.deprecated != after.deprecated {
            let message = match (&before.deprecated, &after.deprecated) {
                (_, Deprecation::No) => "it is no longer deprecated".to_owned(),
                (Deprecation::No, Deprecation::Yes) => "it is deprecated".to_owned(),
                (was, is) => format!(
                    "it is deprecated: {}",
                    transition(warning(was), warning(is))
                ),
            };
            let step = match after.deprecated {
                Deprecation::WithWarning(_) => "deprecationWarning",
                Deprecation::Yes => "deprecated",
                Deprecation::No => "name",
            };
            self.push(Change::DeprecationChanged, &at(step), message);
        }
        self.subresources(&at, before, after);
        if before.printer_columns != after.printer_columns {
            self.columns(&at, before, after);
        }
        let (was, is) = (&before.selectable_fields, &after.selectable_fields);
        for (index, path) in is
            .iter()
            .enumerate()
            .filter(|(_, path)| !was.contains(path))
        {
            let message = format!("selectors can use `{path}`");
            let pointer = at(&format!("selectableFields/{index}"));
            self.push(Change::SelectableFieldAdded, &pointer, message);
        }
        for (index, path) in was
            .iter()
            .enumerate()
            .filter(|(_, path)| !is.contains(path))
        {
            let message = format!("selectors can no longer use `{path}`");
            let pointer = at(&format!("selectableFields/{index}"));
            self.push_removed(Change::SelectableFieldRemoved, &pointer, message);
        }
    }

    fn subresources(&mut self, at: &dyn Fn(&str) -> String, before: &Version, after: &Version) {
        let pointer = at("subresources/status");
        match (before.status_subresource, after.status_subresource) {
            (false, true) => self.push(
                Change::StatusAdded,
                &pointer,
                "the status subresource is new",
            ),
            (true, false) => self.push_removed(
                Change::StatusRemoved,
                &pointer,
                "the status subresource was removed",
            ),
            _ => {}
        }
        let pointer = at("subresources/scale");
        match (&before.scale, &after.scale) {
            (None, Some(_)) => {
                self.push(Change::ScaleAdded, &pointer, "the scale subresource is new");
            }
            (Some(_), None) => self.push_removed(
                Change::ScaleRemoved,
                &pointer,
                "the scale subresource was removed",
            ),
            (Some(was), Some(is)) if was != is => self.push(
                Change::ScaleChanged,
                &pointer,
                "the scale subresource uses other fields",
            ),
            _ => {}
        }
    }

    fn columns(&mut self, at: &dyn Fn(&str) -> String, before: &Version, after: &Version) {
        let names = |version: &Version| {
            version
                .printer_columns
                .iter()
                .map(|it| it.name.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (was, is) = (names(before), names(after));
        let message = if was == is {
            format!("the printer columns {} are defined differently", shown(&is))
        } else {
            let some = |names| Some(names).filter(|names: &&str| !names.is_empty());
            format!("printer columns: {}", transition(some(&was), some(&is)))
        };
        let pointer = at("additionalPrinterColumns");
        if after.printer_columns.is_empty() {
            self.push_removed(Change::ColumnsChanged, &pointer, message);
        } else {
            self.push(Change::ColumnsChanged, &pointer, message);
        }
    }
}

fn warning(deprecation: &Deprecation) -> Option<&str> {
    match deprecation {
        Deprecation::WithWarning(warning) => Some(warning),
        Deprecation::No | Deprecation::Yes => None,
    }
}
