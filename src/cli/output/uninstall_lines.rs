//! The output of `uninstall`: what exists and what happens to it, as lines or as JSON.

use serde_json::{Value, json};

use super::view::Format;
use crate::{
    diagnostic::{Exit, Explain, Failure, Report, Severity},
    terminal::Terminal,
    uninstall::{Choice, Claim, Cluster, Object, Stored, Survey, SurveyedKind, UninstallError},
};

/// The maximum number of objects that a report lists.
const MAX_LISTED: usize = 20;

pub struct Output<'a> {
    name: &'a str,
    cluster: &'a Cluster,
    survey: &'a Survey,
    choice: &'a Choice,
    format: Format,
    planned: Vec<Line>,
    deleted: Vec<String>,
    reports: Vec<Report>,
}

/// A line about what happens to an object, and why.
struct Line {
    act: Act,
    object: String,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Delete,
    Keep,
    /// The object is not the operator's.
    Skip,
    /// A package manager removes the object.
    Leave,
}

impl Act {
    fn as_str(self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Keep => "keep",
            Self::Skip => "skip",
            Self::Leave => "leave",
        }
    }
}

impl<'a> Output<'a> {
    pub fn new(
        name: &'a str,
        cluster: &'a Cluster,
        survey: &'a Survey,
        choice: &'a Choice,
        format: Format,
    ) -> Self {
        Self {
            name,
            cluster,
            survey,
            choice,
            format,
            planned: vec![],
            deleted: vec![],
            reports: vec![],
        }
    }

    /// Whether objects of a kind keep finalizers of the operator after it was removed.
    pub fn is_abandoned(&self, kind: &SurveyedKind) -> bool {
        !kind.is_chosen(&self.choice.crds) && kind.held().next().is_some()
    }

    /// Whether there are objects of a kind that nothing converts after the operator was removed.
    pub fn is_unconverted(&self, kind: &SurveyedKind) -> bool {
        let is_kept = !kind.is_chosen(&self.choice.crds) && !kind.objects.is_empty();
        is_kept && self.survey.converts(kind)
    }

    /// Shows the cluster, and what happens to each object.
    pub fn begin(&mut self, deletes: bool, terminal: &Terminal) -> Result<(), Failure> {
        let kinds = self.survey.kinds.iter();
        self.planned = kinds.flat_map(|kind| self.kind_lines(kind)).collect();
        let objects = self.survey.objects.iter();
        let lines = objects.map(|(object, claim, _)| {
            let (act, reason) = match (claim, self.survey.package()) {
                (Claim::Other, _) => (
                    Act::Skip,
                    format!("it lacks the label app.kubernetes.io/name={}", self.name),
                ),
                (_, Some(package)) => (Act::Leave, format!("`{}` removes it", package.command())),
                _ if object.is_namespace() && !self.choice.namespace => {
                    (Act::Keep, "--delete-namespace deletes it".to_owned())
                }
                _ if object.is_namespace() => (Act::Delete, "if nothing else is in it".to_owned()),
                _ => (Act::Delete, String::new()),
            };
            Line {
                act,
                object: object.to_string(),
                reason,
            }
        });
        let lines: Vec<Line> = lines.collect();
        self.planned.extend(lines);
        let kinds = self.survey.kinds.iter();
        let abandoned: Vec<Report> = kinds
            .filter(|kind| self.is_abandoned(kind))
            .map(|kind| self.abandoned(kind))
            .collect();
        self.reports.extend(abandoned);
        let unconverted: Vec<Report> = self
            .survey
            .kinds
            .iter()
            .filter(|kind| self.is_unconverted(kind))
            .map(unconverted)
            .collect();
        self.reports.extend(unconverted);
        if self.format == Format::Human {
            let mut text = format!(
                "cluster {}, context {}\n",
                self.cluster.server, self.cluster.context
            );
            // a command that deletes prints a line for each deletion later
            let shown = |line: &&Line| !deletes || line.act != Act::Delete;
            for Line {
                act,
                object,
                reason,
            } in self.planned.iter().filter(shown)
            {
                text += &match reason.as_str() {
                    "" => format!("{} {object}\n", act.as_str()),
                    reason => format!("{} {object}: {reason}\n", act.as_str()),
                };
            }
            terminal.print(&text)?;
            terminal.report(&self.reports);
        }
        Ok(())
    }

    /// Whether there is anything to delete.
    pub fn deletes(&self) -> bool {
        self.planned.iter().any(|line| line.act == Act::Delete)
    }

    /// The lines for a CRD and, if the user named it, for its objects.
    fn kind_lines(&self, kind: &SurveyedKind) -> Vec<Line> {
        let Some(crd) = kind.kind.crd.as_ref().filter(|_| kind.crd.is_some()) else {
            return vec![];
        };
        let is_chosen = kind.is_chosen(&self.choice.crds);
        let held = kind.held().count();
        let count = match (kind.objects.len(), held) {
            (0, _) => "it has no objects".to_owned(),
            (objects, 0) => format!("its objects: {objects}"),
            (objects, held) => format!("its objects: {objects}, with our finalizer: {held}"),
        };
        let of = |act, object: String, reason| Line {
            act,
            object,
            reason,
        };
        let mut lines = vec![];
        if is_chosen {
            let objects = kind.objects.iter();
            lines.extend(objects.map(|it| of(Act::Delete, it.object.to_string(), it.waits_for())));
        }
        let object = format!("CustomResourceDefinition {crd}");
        lines.push(if is_chosen {
            of(Act::Delete, object, count)
        } else {
            of(
                Act::Keep,
                object,
                format!("{count}; --crd {crd} deletes it and them"),
            )
        });
        lines
    }

    /// Warns about objects whose finalizers nothing removes afterwards.
    fn abandoned(&self, kind: &SurveyedKind) -> Report {
        let held: Vec<&Stored> = kind.held().collect();
        let resource = kind.kind.resource.name();
        let cure = match &kind.kind.crd {
            Some(crd) => format!("delete them first: `--crd {crd}` does that"),
            None => "first deploy a release of the operator whose controller has no FINALIZER: it removes the finalizer from all objects".to_owned(),
        };
        let help = if self.choice.abandons_finalizers {
            cure
        } else {
            format!("{cure}; `--abandon-finalizers` leaves them as they are")
        };
        Report {
            severity: Severity::Warning,
            ..Report::error(
                format!(
                    "{resource} with a finalizer of the operator, which nothing removes after it is uninstalled: {}\n{}",
                    held.len(),
                    listed(&held)
                ),
                help,
            )
        }
    }

    pub fn deleted(&mut self, object: String, terminal: &Terminal) -> Result<(), Failure> {
        if self.format == Format::Human {
            terminal.print(&format!("deleted {object}\n"))?;
        }
        self.deleted.push(object);
        Ok(())
    }

    pub fn namespace_kept(&mut self, namespace: &str, because: &str, terminal: &Terminal) {
        let report = Report {
            severity: Severity::Note,
            ..Report::error(
                format!("Namespace {namespace} is kept, because it has {because}"),
                "",
            )
        };
        self.add(report, terminal);
    }

    /// Ends a complete removal.
    pub fn done(self, terminal: &Terminal) -> Result<Exit, Failure> {
        let line = match self.survey.package() {
            Some(package) => format!(
                "next: {}, then this command again, for what the operator created",
                package.command()
            ),
            None if self.choice.stale => format!("the stale objects of {} were deleted", self.name),
            None => format!("{} was uninstalled", self.name),
        };
        self.finish(&line, Exit::Clean, terminal)
    }

    /// Ends the command, because objects would need the operator afterwards.
    pub fn refuse(self, deletes: bool, terminal: &Terminal) -> Result<Exit, Failure> {
        let exit = if deletes { Exit::Drift } else { Exit::Clean };
        let line = "nothing was deleted, because objects need the operator";
        self.finish(line, exit, terminal)
    }

    /// Ends a removal in which objects of the operator's kinds were not deleted in time.
    pub fn stuck(self, objects: &[Stored], terminal: &Terminal) -> Result<Exit, Failure> {
        let objects: Vec<&Stored> = objects.iter().collect();
        let report = Report::error(
            format!(
                "objects still exist after the timeout, and the operator was not removed: {}\n{}",
                objects.len(),
                listed(&objects)
            ),
            "check that the operator runs, and its log; what owns another finalizer must remove it. Then run the command again",
        );
        self.fail(report, terminal)
    }

    /// Ends a removal in which an object was not deleted in time.
    pub fn stuck_at(self, object: &str, terminal: &Terminal) -> Result<Exit, Failure> {
        let report = Report::error(
            format!("{object} still exists after the timeout; what comes after it was not deleted"),
            "`kubectl describe` shows what it waits for; then run the command again",
        );
        self.fail(report, terminal)
    }

    /// Ends the command, because a Deployment that would stay may be the operator, which cannot run without its roles.
    pub fn unknown_deployment(
        mut self,
        object: &Object,
        deletes: bool,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        let label = format!("app.kubernetes.io/name={}", self.name);
        let report = Report::error(
            format!(
                "{object} lacks the label {label}, so it stays; without its roles, it could not work"
            ),
            "if it is the operator, set the label with `kubectl label`; if not, delete it; then run the command again",
        );
        if deletes {
            self.fail(report, terminal)
        } else {
            self.add(report, terminal);
            self.finish("nothing was deleted", Exit::Clean, terminal)
        }
    }

    /// Ends a removal in which something has created an object again.
    pub fn created_again(self, object: &str, terminal: &Terminal) -> Result<Exit, Failure> {
        let report = Report::error(
            format!("{object} was deleted, and created again; what comes after it was not deleted"),
            "end what creates it, such as Argo CD, Flux or a rollout in CI; then run the command again",
        );
        self.fail(report, terminal)
    }

    /// Ends the output of a removal that could not continue; the error follows on standard error.
    pub fn interrupted(
        mut self,
        error: &UninstallError,
        terminal: &Terminal,
    ) -> Result<(), Failure> {
        if self.format == Format::Json {
            self.reports.push(error.report());
            let json = self.json(self.incomplete());
            terminal.print(&format!("{json:#}\n"))?;
        }
        Ok(())
    }

    fn add(&mut self, report: Report, terminal: &Terminal) {
        if self.format == Format::Human {
            terminal.report(std::slice::from_ref(&report));
        }
        self.reports.push(report);
    }

    fn fail(mut self, report: Report, terminal: &Terminal) -> Result<Exit, Failure> {
        self.add(report, terminal);
        let line = self.incomplete();
        self.finish(line, Exit::Drift, terminal)
    }

    /// The last line of a removal that did not succeed.
    fn incomplete(&self) -> &'static str {
        if self.choice.stale {
            "not all stale objects were deleted"
        } else {
            "the operator is not uninstalled"
        }
    }

    /// Ends the command with a line.
    pub fn finish(self, line: &str, exit: Exit, terminal: &Terminal) -> Result<Exit, Failure> {
        match self.format {
            Format::Human => terminal.status(line),
            Format::Json => terminal.print(&format!("{:#}\n", self.json(line)))?,
        }
        Ok(exit)
    }

    fn json(&self, result: &str) -> Value {
        let planned = self.planned.iter().map(
            |line| json!({"act": line.act.as_str(), "object": line.object, "reason": line.reason}),
        );
        let reports = self.reports.iter().map(Report::json);
        json!({
            "server": self.cluster.server,
            "context": self.cluster.context,
            "plan": planned.collect::<Vec<_>>(),
            "deleted": self.deleted,
            "reports": reports.collect::<Vec<_>>(),
            "result": result,
        })
    }
}

/// Warns about objects that nothing converts afterwards.
fn unconverted(kind: &SurveyedKind) -> Report {
    let crd = kind.kind.resource.name();
    let none = r#"{"spec":{"conversion":{"strategy":"None","webhook":null}}}"#;
    Report {
        severity: Severity::Warning,
        ..Report::error(
            format!(
                "objects of {crd}, which the operator converts: {}\nafter it is uninstalled, requests for other versions than the stored one fail, and so may their deletion",
                kind.objects.len()
            ),
            format!(
                "delete them first: `--crd {crd}` does that; or let the API server change nothing but their apiVersion: `kubectl patch crd {crd} --type=merge -p '{none}'`"
            ),
        )
    }
}

fn listed(objects: &[&Stored]) -> String {
    let shown = objects.iter().take(MAX_LISTED);
    let mut lines: Vec<String> = shown.map(ToString::to_string).collect();
    if objects.len() > MAX_LISTED {
        lines.push(format!("and {} more", objects.len() - MAX_LISTED));
    }
    lines.join("\n")
}
