//! How the definitions of a plan evolved, field by field, and whether that may be.

use serde_json::{Value, json};

use super::open::Open;
use crate::{
    crd::{self, Api},
    diagnostic::{Code, Place, Report, Severity},
    evolution::{self, Difference, Side, Verdict},
    plan::{Change, Plan},
    project::Source,
    render::{RECORD, SPECS},
    rust::version_module,
};

/// Whether breaking changes may be.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Allow {
    /// Accept changes that break operator code, stored objects or clients
    #[arg(long)]
    allow_breaking: bool,
}

/// What became of the definitions since the project was generated last.
#[derive(Default)]
pub struct Evolution {
    pub kinds: Vec<Evolved>,
    /// Records of specs that are gone while the spec is another one.
    lost: Vec<String>,
    allowed: bool,
}

pub struct Evolved {
    /// Its place among the kinds of the state.
    pub index: usize,
    /// `KIND.GROUP`.
    kind: String,
    spec: String,
    pub differences: Vec<(Difference, Place)>,
    /// The version in which objects were stored.
    pub stored: String,
    /// Where the definition is not the project's own, which can only follow: the versions that have types, whose readers can break.
    foreign: Option<Vec<String>>,
}

impl Evolution {
    /// Of the specs that the plan takes in place of others.
    pub fn of(open: &Open, plan: &Plan, allow: Allow) -> Self {
        // a stored spec that this tool can't read has nothing to be compared with
        let old = |change: &Change| -> Option<Api> {
            let text = change.before.as_ref()?;
            crd::read(&change.path, text).ok()?.into_iter().next()
        };
        let specs = plan
            .changes
            .iter()
            .filter(|change| change.path.starts_with(SPECS));
        let old: Vec<Api> = specs.filter_map(old).collect();
        let mut kinds = vec![];
        for (index, (kind, after)) in (open.state.state.kinds.iter().zip(&open.apis)).enumerate() {
            // by kind and group, as the name of the file is that of the plural
            let is_same = |old: &&Api| old.names.kind == kind.kind && old.group == kind.group;
            // a group that changed is none that is new, if the kind is not there twice
            let is_moved = |old: &&Api| {
                let is_here =
                    |api: &Api| api.names.kind == old.names.kind && api.group == old.group;
                old.names.kind == kind.kind && !open.apis.iter().any(is_here)
            };
            let Some(before) = old.iter().find(is_same).or(old.iter().find(is_moved)) else {
                continue;
            };
            let differences = evolution::differences(before, after);
            let of = |side: Side| differences.iter().filter(move |found| found.side == side);
            let pointers = |side: Side| {
                of(side)
                    .map(|found| found.pointer.as_str())
                    .collect::<Vec<_>>()
            };
            let mut places = [
                before.places(&pointers(Side::Before)).into_iter(),
                after.places(&pointers(Side::After)).into_iter(),
            ];
            let differences = differences.iter().map(|found| {
                let place = places[usize::from(found.side == Side::After)].next();
                let mut found = found.clone();
                let has_types = |version: &String| kind.versions.contains(version);
                if found.change == evolution::Change::VersionAdded
                    && !found.version.as_ref().is_some_and(has_types)
                {
                    found.message += "; add it to `versions` in operator.toml to get its types";
                }
                (found, place.expect("there is a place for each pointer"))
            });
            let had_types = |version: &String| {
                let record = format!("{RECORD}{}/{}", kind.module_name(), version_module(version));
                open.lock.files.contains_key(&record)
            };
            kinds.push(Evolved {
                index,
                kind: kind.full_name(),
                stored: before.storage_version().name.clone(),
                spec: kind.spec.clone(),
                differences: differences.collect(),
                foreign: (kind.source() == Source::Foreign).then(|| {
                    let versions = before.versions.iter().map(|version| version.name.clone());
                    versions.filter(had_types).collect()
                }),
            });
        }
        let is_lost = |change: &&Change| {
            let entry = open.lock.files.get(&change.path);
            let is_new = |text: &String| !open.lock.is_pristine(&change.path, text);
            change.path.starts_with(SPECS)
                && change.before.is_none()
                && entry.is_some()
                && change.after.as_ref().is_some_and(is_new)
        };
        let lost = plan.changes.iter().filter(is_lost);
        Self {
            kinds,
            lost: lost.map(|change| change.path.clone()).collect(),
            allowed: allow.allow_breaking,
        }
    }

    /// Whether something breaks that may not.
    pub fn is_refused(&self) -> bool {
        !self.allowed && self.breaks()
    }

    /// Whether something breaks, allowed or not.
    pub fn breaks(&self) -> bool {
        self.kinds.iter().any(|kind| kind.breaking() > 0)
    }

    /// What could not be compared.
    pub fn warnings(&self) -> impl Iterator<Item = Report> {
        self.lost.iter().map(|path| Report {
            severity: Severity::Warning,
            code: Some(Code::NotCompared),
            subject: None,
            message: format!("{path} is missing, so the spec was not compared with the previous one"),
            place: None,
            instead: None,
            help: Some(format!(
                "restore it with `git checkout {path}` and run the command again to see what changed and what breaks"
            )),
        })
    }

    /// A line for each difference.
    ///
    /// ```text
    /// crds/widgets.example.com.yaml: Widget.example.com evolved
    ///   removed    v1 spec.size: the field was removed (breaks readers, stored objects, clients)
    /// ```
    pub fn told(&self) -> String {
        let mut text = String::new();
        for kind in self
            .kinds
            .iter()
            .filter(|kind| !kind.differences.is_empty())
        {
            text += &format!("{}: {} evolved\n", kind.spec, kind.kind);
            for (found, _) in &kind.differences {
                text += &format!(
                    "  {:<10} {}{}\n",
                    found.what().as_str(),
                    told(found),
                    kind.whom(found)
                );
            }
        }
        text
    }

    /// What is refused, with its places.
    pub fn reports(&self) -> Vec<Report> {
        /// Beyond these the lines of `told` are enough.
        const MOST: usize = 10;
        if !self.is_refused() {
            return vec![];
        }
        let mut reports = vec![];
        for kind in &self.kinds {
            let breaking = kind
                .differences
                .iter()
                .filter(|(found, _)| kind.breaks(found));
            for (found, place) in breaking.take(MOST) {
                reports.push(Report {
                    severity: Severity::Error,
                    code: Some(Code::BreakingChange),
                    subject: Some(kind.kind.clone()),
                    message: told(found),
                    place: Some(place.clone()),
                    instead: Some(found.change.reason().to_owned()),
                    help: None,
                });
            }
        }
        if let Some(last) = reports.last_mut() {
            let count: usize = self.kinds.iter().map(Evolved::breaking).sum();
            last.help = Some(format!(
                "nothing was written: {count} breaking change{} not allowed; correct the spec, or accept it with --allow-breaking",
                if count == 1 { " is" } else { "s are" }
            ));
        }
        reports
    }

    pub fn json(&self) -> Value {
        let kind = |kind: &Evolved| {
            let difference = |(found, place): &(Difference, Place)| {
                json!({
                    "change": found.change.as_str(), "what": found.what().as_str(), "version": found.version, "path": found.field_path(),
                    "pointer": found.pointer, "message": found.message, "file": place.path, "line": place.line,
                    "breaks": found.broken().map(|party| party.as_str()).collect::<Vec<_>>(),
                    "breaking": kind.breaks(found),
                })
            };
            json!({"kind": kind.kind, "spec": kind.spec, "differences": kind.differences.iter().map(difference).collect::<Vec<_>>()})
        };
        self.kinds.iter().map(kind).collect()
    }
}

/// `v1 spec.size: minimum 1 -> 0`.
fn told(found: &Difference) -> String {
    let path = found.field_path();
    let place = [found.version.as_deref().unwrap_or_default(), &path];
    let place: Vec<&str> = place.into_iter().filter(|word| !word.is_empty()).collect();
    match place.as_slice() {
        [] => found.message.clone(),
        place => format!("{}: {}", place.join(" "), found.message),
    }
}

impl Evolved {
    /// Whether it is a breaking change for the project.
    fn breaks(&self, found: &Difference) -> bool {
        let Some(versions) = &self.foreign else {
            return found.is_breaking();
        };
        let is_used = |version: &String| versions.contains(version);
        found.impact.readers == Verdict::Breaking && found.version.as_ref().is_none_or(is_used)
    }

    fn breaking(&self) -> usize {
        self.differences
            .iter()
            .filter(|(found, _)| self.breaks(found))
            .count()
    }

    fn whom(&self, found: &Difference) -> String {
        let parties: Vec<&str> = found.broken().map(|party| party.as_str()).collect();
        match parties.as_slice() {
            [] => String::new(),
            parties => format!(" (breaks {})", parties.join(", ")),
        }
    }
}
