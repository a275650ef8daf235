//! `inspect`: describes the project, kind by kind, and its named controllers.

use crate::{
    advice::{
        bundle_limits,
        kept_fields::{self, Listing},
        pending, pending_answers,
    },
    cli::output::{inspection::Inspection, view::Format},
    config::{NamedController, WebhookTable},
    diagnostic::{Exit, Failure},
    disk::RecoveryMode,
    operator::{Controller, DefinedKind},
    plan::Plan,
    terminal::Terminal,
    workspace::{
        kind_error::KindError,
        kinds::is_named,
        open::{OpenProject, ProjectArgs},
    },
};

/// Show the kinds and controllers of the project with their versions, modules and permissions, and the diagnostics of their schemas
#[derive(clap::Args)]
pub struct Args {
    /// Only this kind, as KIND or KIND.GROUP or in a [[webhook]], the controller of this name, or the controllers of this kind
    #[arg(value_name = "KIND|CONTROLLER")]
    name: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    format: Format,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let open = OpenProject::at(&args.project, RecoveryMode::Refuse, terminal)?;
    let config = &open.config;
    let rendered = open.render(terminal)?;
    let operator = open.operator()?;
    let all: Vec<(&Controller, &NamedController)> = operator
        .controllers
        .iter()
        .filter(|controller| !controller.is_own())
        .zip(&config.controllers)
        .collect();
    let chosen: Vec<_> = operator
        .kinds
        .iter()
        .filter(|DefinedKind { table, .. }| {
            args.name
                .as_ref()
                .is_none_or(|name| is_named(name, &table.kind, &table.group))
        })
        .collect();
    let mut named = all.clone();
    let mut tables: Vec<&WebhookTable> = config.webhooks.iter().collect();
    if let Some(name) = &args.name {
        named.retain(|(_, it)| it.name == *name);
        tables.retain(|table| table.kind == *name);
        if chosen.is_empty() && named.is_empty() && tables.is_empty() {
            // the named controllers of a kind that the project does not define
            named = all.clone();
            named.retain(|(it, _)| is_named(name, &it.resource.kind, &it.resource.group));
        }
        if chosen.is_empty() && named.is_empty() && tables.is_empty() {
            return Err(KindError::Unknown(name.clone(), open.names()).into());
        }
    }
    let is_chosen = |name: &String| {
        chosen.iter().any(|kind| *name == kind.table.full_name())
            || named.iter().any(|(_, named)| *name == named.name)
            || tables.iter().any(|table| *name == table.kind)
    };
    // with an empty plan, the diagnostics of all kinds are in the second list
    let (_, mut reports) = open.reports(rendered.diagnostics, &Plan::default());
    reports.extend(bundle_limits::reports(&open));
    reports.extend(pending::reports(&open, &Plan::default())?);
    reports.extend(pending_answers::reports(
        &open,
        &Plan::default(),
        &rendered.converted,
    )?);
    let converted = rendered.converted.iter();
    reports.extend(kept_fields::reports(
        &open,
        &Plan::default(),
        converted,
        Listing::Complete,
    )?);
    reports.retain(|report| report.subject.as_ref().is_some_and(is_chosen));
    let inspection = Inspection {
        operator: &operator,
        all: &all,
        kinds: chosen,
        controllers: named,
        webhooks: tables,
        is_whole: args.name.is_none(),
    };
    if args.format == Format::Json {
        terminal.print(&format!("{:#}\n", inspection.json(&reports)))?;
        return Ok(Exit::Clean);
    }
    terminal.print(&inspection.text())?;
    terminal.report(&reports);
    Ok(Exit::Clean)
}
