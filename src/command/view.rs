//! One plan, many views: apply it, or show it, compare with it, print it as JSON.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Exit, failure::Failure};
use crate::{
    diagnostic::Report,
    disk,
    plan::{Act, Note, Plan},
    terminal::Terminal,
};

/// What to do with a plan.
#[derive(Args, Clone, Debug, Default, PartialEq)]
#[command(next_help_heading = "Output")]
pub struct View {
    /// Shows what would be written, and writes nothing
    #[arg(long, conflicts_with_all = ["diff", "check"])]
    dry_run: bool,
    /// Shows the differences that would be written, and writes nothing
    #[arg(long, conflicts_with = "check")]
    diff: bool,
    /// Writes nothing, and exits with 1 if something would be written
    #[arg(long)]
    check: bool,
    /// How the result is told
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    pub format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Human,
    Json,
}

/// What a command has come to.
pub struct Outcome<'a> {
    pub root: &'a Path,
    pub plan: Plan,
    pub reports: Vec<Report>,
    /// What the project is now, in a line.
    pub summary: String,
    /// The command to type next.
    pub next: String,
    pub cure: Cure,
}

/// What brings a stale project up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    Regenerate,
    /// The command that found it stale, with its own arguments.
    SameCommand,
}

impl View {
    pub fn writes(&self) -> bool {
        !(self.dry_run || self.diff || self.check)
    }

    /// Shows the outcome, and applies the plan unless the user only wants to see it.
    pub fn finish(&self, outcome: &Outcome<'_>, terminal: &Terminal) -> Result<Exit, Failure> {
        let plan = &outcome.plan;
        let blocked = !plan.conflicts.is_empty();
        if self.writes() && !blocked {
            disk::apply(outcome.root, plan)?;
        }
        match self.format {
            Format::Json => terminal.print(&format!("{:#}\n", self.json(outcome)))?,
            Format::Human => self.human(outcome, terminal)?,
        }
        let stale = self.check && !plan.is_empty();
        Ok(if blocked || stale {
            Exit::Drift
        } else {
            Exit::Clean
        })
    }

    fn human(&self, outcome: &Outcome<'_>, terminal: &Terminal) -> Result<(), Failure> {
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
        } else if plan.conflicts.is_empty() {
            terminal.print(&list(plan))?;
        }
        // of a project that stays as it is, all has been said before; `inspect` says it again
        if !plan.is_empty() {
            terminal.report(&outcome.reports);
        }
        for note in &plan.notes {
            terminal.tell(&noted(note));
        }
        for conflict in &plan.conflicts {
            let help = match conflict.theirs {
                Some(_) => format!(
                    "move the edit to a file of your own, then `rm {}` and run the command again",
                    conflict.path
                ),
                None => format!(
                    "the project no longer needs the file: save what you want to keep, then `rm {}`",
                    conflict.path
                ),
            };
            terminal.tell(&format!(
                "conflict: {} is made by cargo-operator and was edited; nothing was written\n  help: {help}\n{}",
                conflict.path,
                conflict.diff()
            ));
        }
        if !plan.conflicts.is_empty() {
            return Ok(());
        }
        match (self.check, plan.is_empty()) {
            (true, true) => terminal.tell("up to date"),
            (true, false) => terminal.tell(match outcome.cure {
                Cure::Regenerate => "stale: run `cargo operator regenerate` and commit the result",
                Cure::SameCommand => "stale: run the command without --check and commit the result",
            }),
            (false, true) => terminal.tell("nothing to do"),
            (false, false) if self.writes() => {
                terminal.tell(&format!("{}\nnext: {}", outcome.summary, outcome.next))
            }
            (false, false) => terminal.tell("nothing was written"),
        }
        Ok(())
    }

    fn json(&self, outcome: &Outcome<'_>) -> Value {
        let plan = &outcome.plan;
        let changes: Vec<Value> = plan
            .changes
            .iter()
            .map(|change| {
                let mut value =
                    json!({"path": change.path, "act": change.act, "owner": change.owner});
                if self.diff {
                    value["diff"] = change.diff().into();
                }
                value
            })
            .collect();
        let diagnostics: Vec<Value> = outcome.reports.iter().map(Report::json).collect();
        let notes: Vec<Value> = plan
            .notes
            .iter()
            .map(|note| match note {
                Note::Kept { path, diff } => json!({"path": path, "note": "kept", "diff": diff}),
                Note::Orphan { path } => json!({"path": path, "note": "orphan"}),
            })
            .collect();
        let conflicts: Vec<Value> = plan
            .conflicts
            .iter()
            .map(|conflict| json!({"path": conflict.path, "diff": conflict.diff()}))
            .collect();
        json!({
            "written": self.writes() && plan.conflicts.is_empty(),
            "changes": changes, "conflicts": conflicts, "notes": notes, "diagnostics": diagnostics,
            "summary": outcome.summary, "next": outcome.next,
        })
    }
}

/// A line for each file that people care for, and one for each folder with many new files.
fn list(plan: &Plan) -> String {
    let mut lines = String::new();
    let mut vendored = 0;
    for change in plan
        .changes
        .iter()
        .filter(|change| !change.is_bookkeeping())
    {
        if change.path.starts_with("crates/") {
            vendored += 1;
            continue;
        }
        let act = match change.act {
            Act::Create => "create",
            Act::Update => "update",
            Act::Merge => " merge",
            Act::Remove => "remove",
        };
        lines += &format!("{act} {}\n", change.path);
    }
    if vendored > 0 {
        lines += &format!("       crates/ ({vendored} files of the runtime)\n");
    }
    lines
}

fn noted(note: &Note) -> String {
    match note {
        Note::Kept { path, diff } => format!(
            "note[file-kept]: {path} stays as you edited it, although the template changed in the same place:\n{diff}"
        ),
        Note::Orphan { path } => {
            format!(
                "note: {path} stays, as it is yours; nothing that it is about is made any more, so it may not compile: `rm {path}`"
            )
        }
    }
}
