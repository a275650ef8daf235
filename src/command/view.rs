//! One plan, many views: apply it, or show it, compare with it, print it as JSON.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::{Exit, evolve::Evolution, failure::Failure};
use crate::{
    diagnostic::{Code, Report},
    disk::{self, Seen},
    plan::{Act, Cause, Change, Conflict, Note, Plan},
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
    pub evolution: Evolution,
    /// What the project is now, in a line.
    pub summary: String,
    /// The command to type next.
    pub next: String,
    pub cure: Cure,
    /// What the project is once the plan is applied, if `regenerate` has nothing to say of it then.
    pub settled: Option<Seen>,
}

/// What brings a stale project up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cure {
    Regenerate,
    /// The command that found it stale, with its own arguments.
    SameCommand,
    /// So it is, and there is no project: the command resolves conflicts itself.
    Types,
}

impl Cure {
    /// The command that takes `--adopt` and `--reset`.
    fn resolver(self) -> &'static str {
        match self {
            Self::Regenerate => "cargo operator regenerate",
            Self::SameCommand | Self::Types => "the same command with",
        }
    }
}

impl View {
    /// Whether it is only asked if something is stale.
    pub fn is_check(&self) -> bool {
        self.check
    }

    pub fn writes(&self) -> bool {
        !(self.dry_run || self.diff || self.check)
    }

    /// Shows the outcome, and applies the plan unless the user only wants to see it.
    pub fn finish(&self, outcome: &Outcome<'_>, terminal: &Terminal) -> Result<Exit, Failure> {
        let plan = &outcome.plan;
        let refused = outcome.evolution.is_refused();
        let uncommitted = match self.writes() {
            true => disk::uncommitted(outcome.root, plan.replaced()),
            false => vec![],
        };
        let blocked = refused || !plan.conflicts.is_empty();
        if self.writes() && !blocked {
            disk::apply(outcome.root, plan)?;
        }
        if let Some(settled) = &outcome.settled
            && !refused
            && (self.writes() || plan.is_empty())
        {
            settled.remember(outcome.root);
        }
        match self.format {
            Format::Json => terminal.print(&format!("{:#}\n", self.json(outcome)))?,
            Format::Human => {
                self.human(outcome, terminal)?;
                if !blocked && !uncommitted.is_empty() {
                    terminal.tell(&format!(
                        "note: these had changes that are not committed, and have them still: {}",
                        uncommitted.join(", ")
                    ));
                }
            }
        }
        let stale = self.check && !plan.is_empty();
        Ok(match (refused, blocked || stale) {
            (true, _) => Exit::Breaking,
            (false, true) => Exit::Drift,
            (false, false) => Exit::Clean,
        })
    }

    /// Says that a project is as it should be; `None` as JSON, in which there is more to say.
    pub fn at_rest(&self, terminal: &Terminal) -> Option<Exit> {
        (self.format == Format::Human).then(|| {
            terminal.tell(self.rest());
            Exit::Clean
        })
    }

    fn rest(&self) -> &'static str {
        if self.check {
            "up to date"
        } else {
            "nothing to do"
        }
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
        } else if plan.conflicts.is_empty() && !outcome.evolution.is_refused() || self.check {
            terminal.print(&list(plan, self.check))?;
        }
        terminal.tell_lines(&outcome.evolution.told());
        // of a project that stays as it is, all has been said before; `inspect` says it again
        if !plan.is_empty() {
            terminal.report(&outcome.reports);
        }
        let written = self.writes() && !outcome.evolution.is_refused() && plan.conflicts.is_empty();
        let is_true = |note: &&Note| written || matches!(note, Note::Orphan(_) | Note::Removed(_));
        for note in plan.notes.iter().filter(is_true) {
            terminal.tell(&noted(note, outcome.cure));
        }
        for conflict in &plan.conflicts {
            terminal.tell(&told(conflict, outcome.cure));
        }
        terminal.report(&outcome.evolution.reports());
        if outcome.evolution.is_refused() || !plan.conflicts.is_empty() {
            return Ok(());
        }
        match (self.check, plan.is_empty()) {
            (_, true) => terminal.tell(self.rest()),
            (true, false) => terminal.tell(match outcome.cure {
                Cure::Regenerate => "stale: run `cargo operator regenerate` and commit the result",
                Cure::SameCommand | Cure::Types => {
                    "stale: run the command without --check and commit the result"
                }
            }),
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
                    json!({"path": change.path, "act": change.act, "owner": change.owner, "part": part(&change.path)});
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
            .map(|note| json!({"path": note.path(), "note": word(note)}))
            .collect();
        let conflicts: Vec<Value> = plan
            .conflicts
            .iter()
            .map(|conflict| json!({"path": conflict.path, "code": code(conflict.cause).as_str(), "cause": conflict.cause, "diff": conflict.diff}))
            .collect();
        json!({
            "written": self.writes() && plan.conflicts.is_empty() && !outcome.evolution.is_refused(),
            "evolution": outcome.evolution.json(),
            "changes": changes, "conflicts": conflicts, "notes": notes, "diagnostics": diagnostics,
            "summary": outcome.summary, "next": outcome.next,
        })
    }
}

/// A line for each file that people care for, and one for the many of the runtime. Of a check, what is stale.
fn list(plan: &Plan, check: bool) -> String {
    let mut lines = String::new();
    let mut vendored = 0;
    let is_told = |change: &&Change| check || !change.is_bookkeeping();
    for change in plan.changes.iter().filter(is_told) {
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
        lines += &match check {
            true => format!(
                "stale {}: {} {}\n",
                part(&change.path),
                act.trim(),
                change.path
            ),
            false => format!("{act} {}\n", change.path),
        };
    }
    if vendored > 0 {
        let start = if check { "stale runtime:" } else { "      " };
        lines += &format!("{start} crates/ ({vendored} files of the runtime)\n");
    }
    lines
}

/// What a file is to the project.
fn part(path: &str) -> &'static str {
    match path.split_once('/') {
        Some(("src", rest)) if rest.starts_with("api/") => "types",
        Some(("src", _)) => "code",
        Some(("tests", _)) => "tests",
        Some(("manifests" | "crds", _)) => "manifests",
        Some(("crates", _)) => "runtime",
        Some((".operator", _)) => "record",
        _ if path == "operator.lock" => "record",
        _ if path == "operator.toml" => "state",
        _ => "file",
    }
}

fn word(note: &Note) -> &'static str {
    match note {
        Note::Orphan(_) => "orphan",
        Note::Removed(_) => "removed",
        Note::Adopted(_) => "adopted",
        Note::Marked(_) => "marked",
    }
}

fn noted(note: &Note, cure: Cure) -> String {
    let path = note.path();
    match note {
        Note::Orphan(_) => format!(
            "note: {path} stays, as it is yours; nothing that is generated uses it any more: move what you need of it elsewhere, then remove it"
        ),
        Note::Removed(_) => format!(
            "note: {path} was deleted and stays so; `{} --reset {path}` brings it back",
            cure.resolver()
        ),
        Note::Adopted(_) => format!(
            "note: {path} is yours from now on, and no longer brought up to date; `{} --reset {path}` gives it back",
            cure.resolver()
        ),
        Note::Marked(_) => format!("note: {path} has conflict markers now: choose between them"),
    }
}

fn code(cause: Cause) -> Code {
    match cause {
        Cause::Edited | Cause::Unneeded => Code::EditedFile,
        Cause::Both | Cause::Unresolved => Code::MergeConflict,
    }
}

fn told(conflict: &Conflict, cure: Cure) -> String {
    let Conflict { path, cause, diff } = conflict;
    let command = cure.resolver();
    let (what, help) = match cause {
        Cause::Edited => (
            "is made by cargo-operator and was edited",
            format!(
                "`{command} --adopt {path}` makes it yours for good, `{command} --reset {path}` loses the edit"
            ),
        ),
        Cause::Unneeded => (
            "is made by cargo-operator and was edited, and the project no longer needs it",
            format!(
                "`{command} --adopt {path}` keeps it as yours, `{command} --reset {path}` removes it"
            ),
        ),
        Cause::Both => (
            "was changed in the same place by you and by its template",
            format!(
                "`{command} --write-conflicts` puts both into the file, `--adopt {path}` keeps yours for good, `--reset {path}` takes the template's"
            ),
        ),
        Cause::Unresolved => (
            "still has the conflict markers of a merge",
            format!("choose between them, or `{command} --reset {path}`"),
        ),
    };
    let diff = if *cause == Cause::Unresolved {
        ""
    } else {
        diff
    };
    let code = code(*cause).as_str();
    format!("conflict[{code}]: {path} {what}; nothing was written\n  help: {help}\n{diff}")
}
