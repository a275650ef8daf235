//! The changes of the CRDs in a plan, field by field, and whether breaking changes are allowed.

use serde_json::{Value, json};

use super::open::OpenProject;
use crate::{
    config::{Kind, Source},
    conversion::different_versions,
    crd::{self, Api, Conversion},
    diagnostic::{Code, Location, Report, Severity},
    evolution::{self, Difference, Impact, Side, Verdict},
    manifests::removal_command,
    plan::{Change, Plan},
    render::{CRDS, RECORD},
    rust::version_module,
};

/// Whether breaking changes are allowed.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct Allow {
    /// Accept changes that break operator code, stored objects or clients
    #[arg(long)]
    allow_breaking: bool,
}

impl Allow {
    /// With breaking changes.
    pub const BREAKING: Self = Self {
        allow_breaking: true,
    };
}

/// How the CRDs have changed since the project was last generated.
#[derive(Default)]
pub struct Evolution {
    pub kinds: Vec<Evolved>,
    /// The paths of missing records of CRDs that have changed.
    lost: Vec<String>,
    /// How to install the CRDs whose conversion ends.
    ends: Vec<Report>,
    allowed: bool,
}

pub struct Evolved {
    /// The index of the kind in the config.
    pub index: usize,
    /// `KIND.GROUP`.
    kind: String,
    crd: String,
    pub differences: Vec<(Difference, Location)>,
    /// The previous storage version.
    pub stored: String,
    /// The versions with types, whose readers can break; set only if the CRD belongs to another project.
    foreign: Option<Vec<String>>,
}

impl Evolution {
    /// The changes of the CRDs that the plan replaces.
    pub fn of(open: &OpenProject, plan: &Plan, allow: Allow) -> Self {
        // a recorded CRD that this tool cannot read is not compared
        let old = |change: &Change| -> Option<Api> {
            let text = change.before.as_ref()?;
            crd::read(&change.path, text).ok()?.into_iter().next()
        };
        let old: Vec<Api> = plan
            .changes
            .iter()
            .filter(|change| change.path.starts_with(CRDS))
            .filter_map(old)
            .collect();
        let (mut kinds, mut ends) = (vec![], vec![]);
        for (index, (kind, after)) in (open.config.kinds.iter().zip(&open.apis)).enumerate() {
            // by kind and group, because the file is named after the plural
            let is_same = |old: &&Api| old.names.kind == kind.kind && old.group == kind.group;
            // the kind has moved to another group, if the project no longer has it in the old one
            let is_moved = |old: &&Api| {
                let is_here =
                    |api: &Api| api.names.kind == old.names.kind && api.group == old.group;
                old.names.kind == kind.kind && !open.apis.iter().any(is_here)
            };
            let was_converted = open.was_converted(kind);
            let is_converted = kind.is_converted(after, was_converted);
            // the manifests install the CRD, without a webhook
            let has_none = kind.source() == Source::Own && after.conversion == Conversion::None;
            let unconverted =
                (was_converted && !is_converted && has_none).then(|| unconverted(after));
            ends.extend(
                unconverted
                    .as_ref()
                    .map(|_| end_of_conversion(open, kind, after)),
            );
            let before = match old.iter().find(is_same).or(old.iter().find(is_moved)) {
                Some(before) => before,
                // the CRD has not changed
                None if unconverted.is_some() => after,
                None => continue,
            };
            let had_types = |version: &String| {
                let record = format!("{RECORD}{}/{}", kind.module_name(), version_module(version));
                open.lock.files.contains_key(&record)
            };
            kinds.push(Evolved {
                index,
                kind: kind.full_name(),
                stored: before.storage_version().name.clone(),
                crd: kind.crd.clone(),
                differences: differences_of(open, kind, [before, after], unconverted),
                foreign: (kind.source() == Source::Foreign).then(|| {
                    let versions = before.versions.iter().map(|version| version.name.clone());
                    versions.filter(had_types).collect()
                }),
            });
        }
        Self {
            kinds,
            lost: lost(open, plan),
            ends,
            allowed: allow.allow_breaking,
        }
    }

    /// Whether there is a breaking change without --allow-breaking.
    pub fn is_refused(&self) -> bool {
        !self.allowed && self.breaks()
    }

    /// Whether there is a breaking change, allowed or not.
    pub fn breaks(&self) -> bool {
        self.kinds.iter().any(|kind| kind.breaking() > 0)
    }

    /// Warnings about CRDs that could not be compared, and about those whose conversion ends.
    pub fn warnings(&self) -> impl Iterator<Item = Report> {
        let lost = self.lost.iter().map(|path| Report {
            severity: Severity::Warning,
            code: Some(Code::NotCompared),
            subject: None,
            message: format!("{path} is missing, so the CRD was not compared with the previous one"),
            location: None,
            instead: None,
            help: Some(format!(
                "restore it with `git checkout {path}` and run the command again to see what changed and what breaks"
            )),
        });
        lost.chain(self.ends.iter().cloned())
    }

    /// Formats all differences, a line for each.
    ///
    /// ```text
    /// crds/widgets.example.com.yaml: Widget.example.com evolved
    ///   removed    v1 spec.size: the field was removed (breaks readers, stored objects, clients)
    /// ```
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for kind in self
            .kinds
            .iter()
            .filter(|kind| !kind.differences.is_empty())
        {
            text += &format!("{}: {} evolved\n", kind.crd, kind.kind);
            for (difference, _) in &kind.differences {
                text += &format!(
                    "  {:<10} {}{}\n",
                    difference.kind().as_str(),
                    describe(difference),
                    kind.broken_parties(difference)
                );
            }
        }
        text
    }

    /// The refused differences, with their locations.
    pub fn reports(&self) -> Vec<Report> {
        /// The maximum number of reports; for the others, [`Self::lines`] is enough.
        const MAX_REPORTS: usize = 10;
        if !self.is_refused() {
            return vec![];
        }
        let mut reports = vec![];
        for kind in &self.kinds {
            for (difference, location) in kind
                .differences
                .iter()
                .filter(|(difference, _)| kind.breaks(difference))
                .take(MAX_REPORTS)
            {
                reports.push(Report {
                    severity: Severity::Error,
                    code: Some(Code::BreakingChange),
                    subject: Some(kind.kind.clone()),
                    message: describe(difference),
                    location: Some(location.clone()),
                    instead: Some(difference.change.reason().to_owned()),
                    help: None,
                });
            }
        }
        if let Some(last) = reports.last_mut() {
            let count: usize = self.kinds.iter().map(Evolved::breaking).sum();
            last.help = Some(format!(
                "nothing was written: {count} breaking change{} not allowed; correct the CRD, or accept it with --allow-breaking",
                if count == 1 { " is" } else { "s are" }
            ));
        }
        reports
    }

    pub fn json(&self) -> Value {
        let kind = |kind: &Evolved| {
            let to_json = |(difference, location): &(Difference, Location)| {
                json!({
                    "change": difference.change.as_str(), "what": difference.kind().as_str(), "version": difference.version, "path": difference.field_path(),
                    "pointer": difference.pointer, "message": difference.message, "file": location.path, "line": location.line,
                    "breaks": difference.broken().map(|party| party.as_str()).collect::<Vec<_>>(),
                    "breaking": kind.breaks(difference),
                })
            };
            json!({"kind": kind.kind, "crd": kind.crd, "differences": kind.differences.iter().map(to_json).collect::<Vec<_>>()})
        };
        self.kinds.iter().map(kind).collect()
    }
}

/// The differences between two revisions of a kind, with their locations. The impact of some depends on its table in `operator.toml`.
fn differences_of(
    open: &OpenProject,
    kind: &Kind,
    [before, after]: [&Api; 2],
    unconverted: Option<Difference>,
) -> Vec<(Difference, Location)> {
    let mut differences = evolution::differences(before, after);
    let was_converted = open.was_converted(kind);
    let (is_converted, stored) = (
        kind.is_converted(after, was_converted),
        &after.storage_version().name,
    );
    if is_converted {
        differences.retain(|it| it.change != evolution::Change::StoredFieldLost);
        differences.iter_mut().for_each(Difference::convert);
    }
    let is_called = is_converted || !kind.webhooks.is_empty() && kind.source() == Source::Own;
    let was_known = before.version(stored).is_some() && (!is_converted || was_converted);
    if is_called && !was_known {
        let moved = |it: &&mut Difference| it.change == evolution::Change::StorageMoved;
        if let Some(moved) = differences.iter_mut().find(moved) {
            moved.store_at_once(stored);
        }
    }
    differences.extend(unconverted);
    let of = |side: Side| {
        differences
            .iter()
            .filter(move |difference| difference.side == side)
    };
    let pointers = |side: Side| {
        of(side)
            .map(|difference| difference.pointer.as_str())
            .collect::<Vec<_>>()
    };
    let mut locations = [
        before.locations(&pointers(Side::Before)).into_iter(),
        after.locations(&pointers(Side::After)).into_iter(),
    ];
    differences
        .iter()
        .map(|difference| {
            let location = locations[usize::from(difference.side == Side::After)].next();
            let mut difference = difference.clone();
            let has_types = |version: &String| kind.versions.contains(version);
            if difference.change == evolution::Change::VersionAdded
                && !difference.version.as_ref().is_some_and(has_types)
            {
                difference.message += "; add it to `versions` in operator.toml to get its types";
            }
            (
                difference,
                location.expect("there is a location for each pointer"),
            )
        })
        .collect()
}

/// The paths of missing records of CRDs that have changed.
fn lost(open: &OpenProject, plan: &Plan) -> Vec<String> {
    let is_lost = |change: &&Change| {
        let entry = open.lock.files.get(&change.path);
        let is_new = |text: &String| !open.lock.is_pristine(&change.path, text);
        change.path.starts_with(CRDS)
            && change.before.is_none()
            && entry.is_some()
            && change.after.as_ref().is_some_and(is_new)
    };
    let lost = plan.changes.iter().filter(is_lost);
    lost.map(|change| change.path.clone()).collect()
}

/// The difference if the operator no longer converts the objects of a kind, because `hub` was removed.
fn unconverted(api: &Api) -> Difference {
    const CHANGE: evolution::Change = evolution::Change::ConversionByNone;
    let (versions, impact) = match different_versions(api) {
        Some(versions) => (
            format!("converts between {}", versions.join(" and ")),
            CHANGE.impact(),
        ),
        // nothing is pruned, but requests that apply the CRD are refused
        None => (
            "has the conversion webhook of the CRD".to_owned(),
            Impact {
                clients: Verdict::Breaking,
                ..Impact::default()
            },
        ),
    };
    Difference {
        change: CHANGE,
        version: None,
        pointer: "/spec/versions".into(),
        side: Side::After,
        path: vec![],
        message: format!(
            "the operator no longer {versions}, because `hub` is missing in operator.toml"
        ),
        impact,
    }
}

/// How to install a CRD whose conversion ends: the runtime owns `caBundle`, so an apply cannot remove the webhook around it.
fn end_of_conversion(open: &OpenProject, kind: &Kind, api: &Api) -> Report {
    let config = &open.config;
    let who = if config.ensure_crds {
        "the operator removes it when it applies the CRD; to apply the CRD with kubectl or Helm"
    } else {
        "to apply the CRD"
    };
    Report {
        severity: Severity::Warning,
        code: Some(Code::ConversionRemoved),
        subject: Some(kind.full_name()),
        message: "server-side apply is refused while the installed CRD has the conversion webhook of an earlier release".into(),
        location: None,
        instead: None,
        help: Some(format!(
            "{who}, first install a release that keeps `hub` and has one version, then run:\n\n\
             {}\n\n\
             to roll back behind this, apply the earlier release once with `--force-conflicts`; or keep `hub`",
            removal_command(&config.name, &api.name())
        )),
    }
}

/// Formats a difference, such as `v1 spec.size: minimum 1 -> 0`.
fn describe(difference: &Difference) -> String {
    let path = difference.field_path();
    let location = [difference.version.as_deref().unwrap_or_default(), &path];
    let location: Vec<&str> = location
        .into_iter()
        .filter(|word| !word.is_empty())
        .collect();
    match location.as_slice() {
        [] => difference.message.clone(),
        location => format!("{}: {}", location.join(" "), difference.message),
    }
}

impl Evolved {
    /// Whether a difference is a breaking change for the project.
    fn breaks(&self, difference: &Difference) -> bool {
        let Some(versions) = &self.foreign else {
            return difference.is_breaking();
        };
        let is_used = |version: &String| versions.contains(version);
        difference.impact.readers == Verdict::Breaking
            && difference.version.as_ref().is_none_or(is_used)
    }

    /// The number of breaking changes.
    fn breaking(&self) -> usize {
        self.differences
            .iter()
            .filter(|(difference, _)| self.breaks(difference))
            .count()
    }

    fn broken_parties(&self, difference: &Difference) -> String {
        let parties: Vec<&str> = difference.broken().map(|party| party.as_str()).collect();
        match parties.as_slice() {
            [] => String::new(),
            parties => format!(" (breaks {})", parties.join(", ")),
        }
    }
}
