//! `inspect`: describes the project, kind by kind, and its named controllers.

use serde_json::json;

use crate::{
    advice::{
        bundle_limits,
        kept_fields::{self, Listing},
        pending, pending_answers,
    },
    cli::output::view::Format,
    config::{Certificates, NamedController, Owned, Read, Rule, Webhook, WebhookTable},
    crd::Scope,
    diagnostic::{Exit, Failure, Report},
    disk::RecoveryMode,
    operator::{Controller, DefinedKind, KindId},
    plan::Plan,
    scaffold::EXISTING,
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
            // those of a kind that the project does not define
            named = all.clone();
            named.retain(|(it, _)| is_named(name, &it.resource.kind, &it.resource.group));
        }
        if chosen.is_empty() && named.is_empty() && tables.is_empty() {
            return Err(KindError::Unknown(name.clone(), open.names()).into());
        }
    }
    let reconciling = |id: KindId| {
        all.iter()
            .filter(|(it, _)| it.kind == Some(id))
            .map(|(_, named)| named.name.as_str())
            .collect::<Vec<_>>()
    };
    let is_chosen = |name: &String| {
        chosen.iter().any(|kind| *name == kind.table.full_name())
            || named.iter().any(|(_, named)| *name == named.name)
            || tables.iter().any(|table| *name == table.kind)
    };
    // a plan that changes nothing retypes nothing
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
    if args.format == Format::Json {
        let kinds: Vec<_> = chosen
            .iter()
            .map(|DefinedKind { id, table: kind, crd: api, .. }| {
                json!({
                    "kind": kind.kind, "group": kind.group, "plural": api.names.plural, "scope": scope(api.scope),
                    "versions": kind.versions, "hub": kind.hub, "module": format!("api::{}", kind.module_name()), "spec": kind.spec,
                    "scaffold": kind.scaffold, "schema": kind.schema, "cleanup": kind.cleanup,
                    "owns": kind.owns, "watches": kind.watches, "reads": kind.reads, "keeps": kind.keeps,
                    "rules": kind.rules, "controllers": reconciling(*id), "webhooks": kind.webhooks,
                    "diagnostics": reports.iter().filter(|report| report.subject == Some(kind.full_name()))
                        .map(Report::json).collect::<Vec<_>>(),
                })
            })
            .collect();
        let controllers: Vec<_> = named
            .iter()
            .map(|(controller, named)| {
                json!({
                    "name": named.name, "kind": named.kind, "scope": scope(controller.scope()),
                    "module": format!("controllers::{}", controller.module), "scaffold": EXISTING,
                    "cache": named.cache, "cleanup": named.cleanup,
                    "owns": named.owns, "watches": named.watches, "reads": named.reads, "keeps": named.keeps,
                    "rules": named.rules,
                    "diagnostics": reports.iter().filter(|report| report.subject.as_ref() == Some(&named.name))
                        .map(Report::json).collect::<Vec<_>>(),
                })
            })
            .collect();
        let admitted: Vec<_> = tables
            .iter()
            .map(|table| {
                json!({
                    "kind": table.kind, "module": format!("controllers::webhooks::{}", table.module_name()),
                    "webhooks": table.webhooks,
                    "diagnostics": reports.iter().filter(|report| report.subject.as_ref() == Some(&table.kind))
                        .map(Report::json).collect::<Vec<_>>(),
                })
            })
            .collect();
        terminal.print(&format!(
            "{:#}\n",
            json!({
                "name": config.name, "image": config.image, "kinds": kinds, "controllers": controllers,
                "webhooks": admitted, "certificates": config.certificates,
            })
        ))?;
        return Ok(Exit::Clean);
    }
    let mut text = format!(
        "{}{}\n",
        config.name,
        config
            .image
            .as_ref()
            .map(|image| format!(" ({image})"))
            .unwrap_or_default()
    );
    for DefinedKind {
        id,
        table: kind,
        crd: api,
        ..
    } in chosen
    {
        text += &format!(
            "\n{}\n  scope     {}\n  versions  {}\n  spec      {}\n  types     src/api/{}/\n",
            kind.full_name(),
            scope(api.scope),
            list(&kind.versions),
            kind.spec,
            kind.module_name()
        );
        if let Some(hub) = &kind.hub {
            text += &format!("  hub       {hub}\n");
        }
        match kind.scaffold {
            None => {
                text += "  types only, its CRD is not installed\n";
                let names = reconciling(*id);
                if !names.is_empty() {
                    text += &format!("  reconciled by {}\n", names.join(", "));
                }
            }
            Some(scaffold) => {
                let path = format!("src/controllers/{}.rs", kind.module_name());
                text += &format!("  scaffold  {}\n", scaffold.name);
                text += &controls(&path, kind.cleanup, &kind.owns);
                text += &related(&kind.watches, &kind.reads, &kind.keeps, &kind.rules);
            }
        }
        text += &webhooks(&kind.webhooks, &kind.module_name());
    }
    for (controller, named) in &named {
        let metadata = if controller.watches_metadata {
            ", metadata only"
        } else {
            ""
        };
        text += &format!(
            "\n{}\n  kind      {}{metadata}\n  scope     {}\n  scaffold  {EXISTING}\n",
            named.name,
            named.kind,
            scope(controller.scope()),
        );
        text += &controls(&controller.path(), named.cleanup, &named.owns);
        text += &related(&named.watches, &named.reads, &named.keeps, &named.rules);
    }
    for table in &tables {
        text += &format!("\n{}\n", table.kind);
        text += &webhooks(&table.webhooks, &table.module_name());
    }
    if operator.has_webhooks() && args.name.is_none() {
        let certificates = match config.certificates {
            Certificates::Managed => "managed",
            Certificates::CertManager => "cert-manager",
        };
        text += &format!("\ncertificates of the webhooks: {certificates}\n");
    }
    terminal.print(&text)?;
    terminal.report(&reports);
    Ok(Exit::Clean)
}

/// The file of a controller, and its children.
fn controls(path: &str, cleanup: bool, owns: &[Owned]) -> String {
    let owns: Vec<String> = owns.iter().map(ToString::to_string).collect();
    let cleanup = if cleanup { ", with cleanup" } else { "" };
    format!("  controls  {path}{cleanup}\n  owns      {}\n", list(&owns))
}

/// The other kinds of a controller, and its own rules.
fn related(watches: &[String], reads: &[Read], keeps: &[String], rules: &[Rule]) -> String {
    let reads: Vec<String> = reads.iter().map(ToString::to_string).collect();
    let lists = [("watches", watches), ("reads", &reads), ("keeps", keeps)];
    let lists = lists
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(name, names)| (name, list(names)));
    let rules = rules.iter().map(|rule| ("rule", rule.to_string()));
    lists
        .chain(rules)
        .map(|(name, text)| format!("  {name:<9} {text}\n"))
        .collect()
}

/// The webhooks of a kind, and the file with their code.
fn webhooks(webhooks: &[Webhook], module: &str) -> String {
    let lines = webhooks.iter().map(|it| format!("  webhook   {it}\n"));
    let code = (!webhooks.is_empty()).then(|| format!("  admits    src/webhooks/{module}.rs\n"));
    lines.chain(code).collect()
}

fn list(names: &[String]) -> String {
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(", ")
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    }
}
