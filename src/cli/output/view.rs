//! What a command does with a plan: it applies it, lists its files, prints a diff or checks that it is empty, as text or as JSON.

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::lines::{self, FixCommand, conflict_code, note_kind, part};
use crate::{
    diagnostic::{Code, Exit, Failure, Report},
    disk::{self, RecoveryMode, Root},
    plan::{Note, Plan},
    terminal::Terminal,
    workspace::evolve::Evolution,
};

/// The options that decide what is done with a plan.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Output")]
pub struct View {
    /// Show which files would be written, without writing them
    #[arg(long, conflicts_with_all = ["diff", "check"])]
    dry_run: bool,
    /// Show the changes as a diff, without writing them
    #[arg(long, conflicts_with = "check")]
    diff: bool,
    /// Exit with code 1 if something would be written, without writing it
    #[arg(long)]
    check: bool,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    pub format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Human,
    Json,
}

/// The result of a command.
pub struct CommandResult<'a> {
    pub root: &'a Root,
    pub plan: Plan,
    /// Reports about this plan.
    pub reports: Vec<Report>,
    /// The diagnostics of unchanged CRDs: reported when these were added, and shown by `inspect`.
    pub standing: Vec<Report>,
    /// The changes that the user must make; reported until they are made.
    pub pending: Vec<Report>,
    pub evolution: Evolution,
    /// A line that describes the project after the command.
    pub summary: String,
    /// The command to type next.
    pub next: String,
    pub fix: FixCommand,
    /// The number of warnings about the CRDs.
    pub warnings: usize,
}

impl CommandResult<'_> {
    /// Whether the generated code has all files of the user that it needs.
    fn is_complete(&self) -> bool {
        let is_missing = |report: &Report| report.code == Some(Code::MissingFile);
        !self.pending.iter().any(is_missing)
    }

    fn next(&self) -> String {
        let marked = self.plan.notes.iter().filter_map(|note| match note {
            Note::Marked(path) => Some(path.as_str()),
            _ => None,
        });
        let marked: Vec<&str> = marked.collect();
        match marked.as_slice() {
            [] => self.next.clone(),
            paths => format!("resolve the conflict markers in {}", paths.join(", ")),
        }
    }
}

impl View {
    /// What to do after an interrupted command. A command that only shows a plan must not write, not even to recover.
    pub fn recovery_mode(&self) -> RecoveryMode {
        if self.writes() {
            RecoveryMode::Finish
        } else {
            RecoveryMode::Refuse
        }
    }

    /// Whether the user only asks if something is stale.
    pub fn is_check(&self) -> bool {
        self.check
    }

    pub fn writes(&self) -> bool {
        !(self.dry_run || self.diff || self.check)
    }

    /// Shows the outcome, and applies the plan unless the user only wants to see it.
    pub fn finish(
        &self,
        outcome: &CommandResult<'_>,
        terminal: &Terminal,
    ) -> Result<Exit, Failure> {
        let plan = &outcome.plan;
        let refused = outcome.evolution.is_refused();
        let uncommitted = if self.writes() {
            disk::uncommitted(outcome.root, plan.edited())
        } else {
            vec![]
        };
        let blocked = refused || !plan.conflicts.is_empty();
        if self.writes() && !blocked {
            terminal.working("writing");
            disk::apply(outcome.root, plan)?;
        }
        match self.format {
            Format::Json => terminal.print(&format!("{:#}\n", self.json(outcome)))?,
            Format::Human => {
                self.human(outcome, terminal)?;
                if !blocked && !uncommitted.is_empty() {
                    terminal.status(&format!(
                        "note: your uncommitted changes are kept in {}",
                        uncommitted.join(", ")
                    ));
                }
            }
        }
        let stale = self.check && !(plan.is_empty() && outcome.is_complete());
        Ok(match (refused, blocked || stale) {
            (true, _) => Exit::Breaking,
            (false, true) => Exit::Drift,
            (false, false) => Exit::Clean,
        })
    }

    fn print_up_to_date(&self, outcome: &CommandResult<'_>, terminal: &Terminal) {
        let warnings = outcome.warnings;
        if warnings > 0 {
            terminal.status(&format!(
                "note: the CRDs have warnings ({warnings}); `cargo operator inspect` shows them"
            ));
        }
        terminal.status(self.up_to_date_line(outcome));
    }

    fn up_to_date_line(&self, outcome: &CommandResult<'_>) -> &'static str {
        match (self.check, outcome.pending.len()) {
            _ if !outcome.is_complete() => "a file that the generated code needs is missing",
            (true, 0) => "up to date",
            (false, 0) => "nothing to do",
            (true, _) => "up to date, except for what is yours to edit",
            (false, _) => "nothing to generate; the rest is yours to edit",
        }
    }

    /// Prints the plan and its reports as text.
    fn human(&self, outcome: &CommandResult<'_>, terminal: &Terminal) -> Result<(), Failure> {
        let plan = &outcome.plan;
        if self.diff {
            terminal.print(
                &plan
                    .changes
                    .iter()
                    .filter(|change| !change.is_bookkeeping())
                    .map(|change| change.diff())
                    .collect::<String>(),
            )?;
        } else if plan.conflicts.is_empty() && !outcome.evolution.is_refused() || self.check {
            terminal.print(&lines::list(plan, self.check))?;
        }
        terminal.status_lines(&outcome.evolution.lines());
        // if nothing changes, an earlier command has printed all other reports; `inspect` prints them again
        let is_new = |report: &&Report| !plan.is_empty() || report.code == Some(Code::LocalRuntime);
        let reports = outcome.reports.iter().filter(is_new);
        terminal.report(&reports.cloned().collect::<Vec<_>>());
        terminal.report(&outcome.pending);
        let written = self.writes() && !outcome.evolution.is_refused() && plan.conflicts.is_empty();
        let is_decision = |note: &&Note| matches!(note, Note::Adopted(_) | Note::Marked(_));
        let notes = plan.notes.iter();
        let notes: Vec<&Note> = notes.filter(|note| written || !is_decision(note)).collect();
        terminal.status_lines(&lines::notes(&notes, outcome.fix.after()));
        for conflict in &plan.conflicts {
            terminal.status(&lines::conflict(conflict, outcome.fix));
        }
        if plan.conflicts.len() > 1 {
            terminal.status("help: repeat --adopt and --reset to resolve all of these at once");
        }
        terminal.report(&outcome.evolution.reports());
        if outcome.evolution.is_refused() || !plan.conflicts.is_empty() {
            return Ok(());
        }
        match (self.check, plan.is_empty()) {
            (_, true) => self.print_up_to_date(outcome, terminal),
            (true, false) => terminal.status(match outcome.fix {
                FixCommand::Regenerate if outcome.evolution.breaks() => {
                    "stale: run `cargo operator regenerate --allow-breaking` and commit the result"
                }
                FixCommand::Regenerate => {
                    "stale: run `cargo operator regenerate` and commit the result"
                }
                FixCommand::SameCommand | FixCommand::Types => {
                    "stale: run the command without --check and commit the result"
                }
            }),
            (false, false) if self.writes() => {
                terminal.status(&format!("{}\nnext: {}", outcome.summary, outcome.next()));
            }
            (false, false) => terminal.status("nothing was written"),
        }
        Ok(())
    }

    fn json(&self, outcome: &CommandResult<'_>) -> Value {
        let plan = &outcome.plan;
        let changes: Vec<Value> = plan
            .changes
            .iter()
            .map(|change| {
                let mut value =
                    json!({"path": change.path, "act": change.action, "owner": change.owner, "part": part(&change.path)});
                if self.diff {
                    value["diff"] = change.diff().into();
                }
                value
            })
            .collect();
        let reports = outcome.reports.iter().chain(&outcome.standing);
        let diagnostics: Vec<Value> = reports.chain(&outcome.pending).map(Report::json).collect();
        let notes: Vec<Value> = plan
            .notes
            .iter()
            .map(|note| json!({"path": note.path(), "note": note_kind(note)}))
            .collect();
        let conflicts: Vec<Value> = plan
            .conflicts
            .iter()
            .map(|conflict| json!({"path": conflict.path, "code": conflict_code(conflict.cause).as_str(), "cause": conflict.cause, "diff": conflict.diff}))
            .collect();
        let blocked = !plan.conflicts.is_empty() || outcome.evolution.is_refused();
        let (summary, next) = match (blocked, plan.is_empty()) {
            (true, _) => ("nothing was written", Value::Null),
            (false, true) => (self.up_to_date_line(outcome), Value::Null),
            (false, false) if self.writes() => (outcome.summary.as_str(), outcome.next().into()),
            (false, false) => ("nothing was written", Value::Null),
        };
        json!({
            "written": self.writes() && !blocked,
            "evolution": outcome.evolution.json(),
            "changes": changes, "conflicts": conflicts, "notes": notes, "diagnostics": diagnostics,
            "summary": summary, "next": next,
        })
    }
}
