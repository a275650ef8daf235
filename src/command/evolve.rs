//! How the definitions of a plan evolved, field by field, and whether that may be.

use serde_json::{Value, json};

use super::{failure::Failure, open::Open};
use crate::{
    crd,
    diagnostic::{Code, Place, Report, Severity},
    evolution::{self, Difference, Side, Verdict},
    plan::Plan,
    render::SPECS,
};

/// Whether breaking changes may be.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct Allow {
    /// Takes a spec that breaks operator code, stored objects or clients of a version that is served
    #[arg(long)]
    allow_breaking: bool,
}

/// What became of the definitions since the project was generated last.
#[derive(Default)]
pub struct Evolution {
    kinds: Vec<Evolved>,
    allowed: bool,
}

struct Evolved {
    /// `KIND.GROUP`.
    kind: String,
    spec: String,
    differences: Vec<(Difference, Place)>,
    /// Whether the definition is not the project's own: it can only follow, and only its code can break.
    is_foreign: bool,
}

impl Evolution {
    /// Of the specs that the plan takes in place of others.
    pub fn of(open: &Open, plan: &Plan, allow: Allow) -> Result<Self, Failure> {
        let mut kinds = vec![];
        for change in &plan.changes {
            let (Some(name), Some(before), Some(_)) = (
                change.path.strip_prefix(SPECS),
                &change.before,
                &change.after,
            ) else {
                continue;
            };
            let mut found = open.state.state.kinds.iter().zip(&open.apis);
            let Some((kind, after)) = found.find(|(_, api)| format!("{}.yaml", api.name()) == name)
            else {
                continue;
            };
            let Some(before) = crd::read(&change.path, before)?.into_iter().next() else {
                continue;
            };
            let differences = evolution::differences(&before, after);
            let of = |side: Side| differences.iter().filter(move |found| found.side == side);
            let pointers = |side: Side| {
                of(side)
                    .map(|found| found.pointer.as_str())
                    .collect::<Vec<_>>()
            };
            let (mut old, mut new) = (
                before.places(&pointers(Side::Before)).into_iter(),
                after.places(&pointers(Side::After)).into_iter(),
            );
            let place = |found: &Difference| match found.side {
                Side::Before => old.next(),
                Side::After => new.next(),
            };
            let places: Vec<Option<Place>> = differences.iter().map(place).collect();
            let differences = differences
                .into_iter()
                .zip(places)
                .filter_map(|(found, place)| Some((found, place?)));
            kinds.push(Evolved {
                kind: kind.full_name(),
                spec: kind.spec.clone(),
                differences: differences.collect(),
                is_foreign: kind.scaffold.is_none(),
            });
        }
        Ok(Self {
            kinds,
            allowed: allow.allow_breaking,
        })
    }

    /// Whether something breaks that may not.
    pub fn is_refused(&self) -> bool {
        !self.allowed && self.kinds.iter().any(|kind| kind.breaking() > 0)
    }

    /// A line for each difference.
    ///
    /// ```text
    /// crds/widgets.example.com.yaml: Widget.example.com evolved
    ///   removed    v1 spec.size: the field is gone (breaks readers, stored objects, clients)
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
                let place = [found.version.as_deref().unwrap_or_default(), &found.path];
                let place: Vec<&str> = place.into_iter().filter(|word| !word.is_empty()).collect();
                let place = if place.is_empty() {
                    String::new()
                } else {
                    place.join(" ") + ": "
                };
                text += &format!(
                    "  {:<10} {place}{}{}\n",
                    found.what().as_str(),
                    found.message,
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
                let path = if found.path.is_empty() {
                    String::new()
                } else {
                    format!("{}: ", found.path)
                };
                reports.push(Report {
                    severity: Severity::Error,
                    code: Some(Code::BreakingChange),
                    subject: Some(kind.kind.clone()),
                    message: format!("{path}{}", found.message),
                    place: Some(place.clone()),
                    instead: Some(found.change.reason().to_owned()),
                    help: None,
                });
            }
        }
        if let Some(last) = reports.last_mut() {
            let count: usize = self.kinds.iter().map(Evolved::breaking).sum();
            last.help = Some(format!(
                "nothing was written, as {count} breaking change{} not allowed: mend the spec, or take it with --allow-breaking",
                if count == 1 { " is" } else { "s are" }
            ));
        }
        reports
    }

    pub fn json(&self) -> Value {
        let kind = |kind: &Evolved| {
            let difference = |(found, place): &(Difference, Place)| {
                json!({
                    "change": found.change.as_str(), "what": found.what().as_str(), "version": found.version, "path": found.path,
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

impl Evolved {
    /// Whether it is a breaking change for the project.
    fn breaks(&self, found: &Difference) -> bool {
        match self.is_foreign {
            true => found.impact.readers == Verdict::Breaking,
            false => found.is_breaking(),
        }
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
