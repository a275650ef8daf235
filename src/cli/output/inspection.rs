//! How `inspect` shows kinds, named controllers and webhooks: as text and as JSON.

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    config::{Certificates, NamedController, Owned, Read, Rule, Webhook, WebhookTable},
    crd::Scope,
    diagnostic::Report,
    operator::{Controller, DefinedKind, KindId, Operator},
};

/// A named controller, as resolved and as written.
type Named<'a> = (&'a Controller, &'a NamedController);

/// The parts of an operator that `inspect` shows.
pub struct Inspection<'a> {
    pub operator: &'a Operator<'a>,
    /// All named controllers.
    pub all: &'a [Named<'a>],
    pub kinds: Vec<&'a DefinedKind<'a>>,
    pub controllers: Vec<Named<'a>>,
    pub webhooks: Vec<&'a WebhookTable>,
    /// Whether all parts of the operator are shown.
    pub is_whole: bool,
}

impl Inspection<'_> {
    /// The named controllers of a kind.
    fn reconciling(&self, id: KindId) -> Vec<&str> {
        self.all
            .iter()
            .filter(|(it, _)| it.kind == Some(id))
            .map(|(_, named)| named.name.as_str())
            .collect()
    }

    /// Formats everything as JSON, each item with the reports about it.
    pub fn json(&self, reports: &[Report]) -> Value {
        let about = |subject: &str| -> Vec<Value> {
            reports
                .iter()
                .filter(|report| report.subject.as_deref() == Some(subject))
                .map(Report::json)
                .collect()
        };
        let kind = |DefinedKind {
                        id,
                        table: kind,
                        crd: api,
                        ..
                    }: &&DefinedKind<'_>| {
            json!({
                "kind": kind.kind, "group": kind.group, "plural": api.names.plural, "scope": scope(api.scope),
                "versions": kind.versions, "hub": kind.hub, "module": format!("api::{}", kind.module_name()), "crd": kind.crd,
                "scaffold": kind.scaffold, "schema": kind.schema, "cleanup": kind.cleanup,
                "owns": entries(&kind.owns), "watches": kind.watches, "reads": entries(&kind.reads), "keeps": kind.keeps,
                "rules": kind.rules, "controllers": self.reconciling(*id), "webhooks": kind.webhooks,
                "diagnostics": about(&kind.full_name()),
            })
        };
        let controller = |(controller, named): &Named<'_>| {
            json!({
                "name": named.name, "kind": named.kind, "scope": scope(controller.scope()),
                "module": format!("controllers::{}", controller.module), "scaffold": named.scaffold,
                "cache": named.cache, "cleanup": named.cleanup,
                "owns": entries(&named.owns), "watches": named.watches, "reads": entries(&named.reads), "keeps": named.keeps,
                "rules": named.rules,
                "diagnostics": about(&named.name),
            })
        };
        let admitted = |table: &&WebhookTable| {
            json!({
                "kind": table.kind, "module": format!("controllers::webhooks::{}", table.module_name()),
                "webhooks": table.webhooks,
                "diagnostics": about(&table.kind),
            })
        };
        let config = &self.operator.config;
        json!({
            "name": config.name, "image": config.image,
            "kinds": self.kinds.iter().map(kind).collect::<Vec<_>>(),
            "controllers": self.controllers.iter().map(controller).collect::<Vec<_>>(),
            "webhooks": self.webhooks.iter().map(admitted).collect::<Vec<_>>(),
            "certificates": config.certificates,
        })
    }

    pub fn text(&self) -> String {
        let config = &self.operator.config;
        let image = config.image.as_ref().map(|image| format!(" ({image})"));
        let mut text = format!("{}{}\n", config.name, image.unwrap_or_default());
        text.extend(self.kinds.iter().map(|kind| self.kind(kind)));
        text.extend(self.controllers.iter().map(|named| controller(*named)));
        for table in &self.webhooks {
            text += &format!("\n{}\n", table.kind);
            text += &webhooks(&table.webhooks, &table.module_name());
        }
        if self.operator.has_webhooks() && self.is_whole {
            let certificates = match config.certificates {
                Certificates::Managed => "managed",
                Certificates::CertManager => "cert-manager",
            };
            text += &format!("\ncertificates of the webhooks: {certificates}\n");
        }
        text
    }

    fn kind(&self, kind: &DefinedKind<'_>) -> String {
        let DefinedKind {
            id,
            table: kind,
            crd: api,
            ..
        } = kind;
        let mut text = format!(
            "\n{}\n  scope     {}\n  versions  {}\n  crd       {}\n  types     src/api/{}/\n",
            kind.full_name(),
            scope(api.scope),
            list(&kind.versions),
            kind.crd,
            kind.module_name()
        );
        if let Some(hub) = &kind.hub {
            text += &format!("  hub       {hub}\n");
        }
        match kind.scaffold {
            None => {
                text += "  types only, its CRD is not installed\n";
                let names = self.reconciling(*id);
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
        text + &webhooks(&kind.webhooks, &kind.module_name())
    }
}

fn controller((controller, named): Named<'_>) -> String {
    let metadata = if controller.watches_metadata {
        ", metadata only"
    } else {
        ""
    };
    format!(
        "\n{}\n  kind      {}{metadata}\n  scope     {}\n  scaffold  {}\n{}{}",
        named.name,
        named.kind,
        scope(controller.scope()),
        named.scaffold.name(),
        controls(&controller.path(), named.cleanup, &named.owns),
        related(&named.watches, &named.reads, &named.keeps, &named.rules),
    )
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

/// Entries as they are written: the name alone, if nothing else is set.
fn entries<T: Serialize>(entries: &[T]) -> Vec<Value> {
    let written = |entry: &T| match json!(entry) {
        Value::Object(mut table) if table.len() == 1 => table["kind"].take(),
        table => table,
    };
    entries.iter().map(written).collect()
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
