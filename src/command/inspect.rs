//! `inspect`: describes the project, kind by kind.

use serde_json::json;

use super::{
    Exit,
    failure::Failure,
    kinds::{self, KindError, is_named},
    open::{OpenProject, ProjectArgs},
    pending,
    view::Format,
};
use crate::{crd::Scope, diagnostic::Report, disk::RecoveryMode, plan::Plan, terminal::Terminal};

/// Shows the kinds of the project, their versions, modules and rights, and what is odd about their schemas
#[derive(clap::Args)]
pub struct Args {
    /// One kind alone, as KIND or KIND.GROUP
    kind: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    /// How the result is told
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORMAT")]
    format: Format,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let open = OpenProject::at(&args.project, RecoveryMode::Refuse, terminal)?;
    let state = &open.state.state;
    let rendered = open.render(terminal)?;
    let chosen: Vec<_> = state
        .kinds
        .iter()
        .zip(&open.apis)
        .filter(|(kind, _)| {
            args.kind
                .as_ref()
                .is_none_or(|name| is_named(name, &kind.kind, &kind.group))
        })
        .collect();
    if let Some(name) = args.kind.as_ref().filter(|_| chosen.is_empty()) {
        return Err(KindError::Unknown(
            name.clone(),
            kinds::list(state.kinds.iter().map(|kind| kind.kind.as_str())),
        )
        .into());
    }
    let is_chosen = |name: &String| chosen.iter().any(|(kind, _)| *name == kind.full_name());
    // a plan that changes nothing retypes nothing
    let (_, mut reports) = open.reports(rendered.diagnostics, &Plan::default());
    reports.extend(pending::reports(&open, &Plan::default())?);
    reports.retain(|report| report.subject.as_ref().is_some_and(is_chosen));
    if args.format == Format::Json {
        let kinds: Vec<_> = chosen
            .iter()
            .map(|(kind, api)| {
                json!({
                    "kind": kind.kind, "group": kind.group, "plural": api.names.plural, "scope": scope(api.scope),
                    "versions": kind.versions, "module": format!("api::{}", kind.module_name()), "spec": kind.spec,
                    "scaffold": kind.scaffold, "schema": kind.schema, "cleanup": kind.cleanup,
                    "owns": kind.owns, "watches": kind.watches, "reads": kind.reads, "keeps": kind.keeps,
                    "diagnostics": reports.iter().filter(|report| report.subject == Some(kind.full_name()))
                        .map(Report::json).collect::<Vec<_>>(),
                })
            })
            .collect();
        terminal.print(&format!(
            "{:#}\n",
            json!({"name": state.name, "image": state.image, "kinds": kinds})
        ))?;
        return Ok(Exit::Clean);
    }
    let mut text = format!(
        "{}{}\n",
        state.name,
        state
            .image
            .as_ref()
            .map(|image| format!(" ({image})"))
            .unwrap_or_default()
    );
    for (kind, api) in chosen {
        let list = |names: &[String]| {
            if names.is_empty() {
                "-".to_owned()
            } else {
                names.join(", ")
            }
        };
        text += &format!(
            "\n{}\n  scope     {}\n  versions  {}\n  spec      {}\n  types     src/api/{}/\n",
            kind.full_name(),
            scope(api.scope),
            list(&kind.versions),
            kind.spec,
            kind.module_name()
        );
        match kind.scaffold {
            None => text += "  types only: no controller, and its CRD is not installed\n",
            Some(_) => {
                text += &format!(
                    "  controls  src/controllers/{}.rs{}\n  owns      {}\n",
                    kind.module_name(),
                    if kind.cleanup { ", with cleanup" } else { "" },
                    list(
                        &kind
                            .owns
                            .iter()
                            .map(ToString::to_string)
                            .collect::<Vec<_>>()
                    )
                );
                let reads: Vec<String> = kind.reads.iter().map(ToString::to_string).collect();
                for (name, names) in [
                    ("watches", &kind.watches),
                    ("reads", &reads),
                    ("keeps", &kind.keeps),
                ] {
                    if !names.is_empty() {
                        text += &format!("  {name:<9} {}\n", list(names));
                    }
                }
            }
        }
    }
    terminal.print(&text)?;
    terminal.report(&reports);
    Ok(Exit::Clean)
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    }
}
