//! `add-webhook`: adds admission webhooks to a kind of the project, or to a built-in kind.

use super::{finish::Ending, resolve::Resolve};
use crate::{
    cli::output::view::View,
    config::{Kind, Webhook, WebhookTable, WebhookType},
    diagnostic::{Exit, Failure},
    operator::resolve_admitted,
    terminal::Terminal,
    workspace::{
        kind_error::KindError,
        kinds::{is_named, list},
        open::{OpenProject, ProjectArgs},
    },
};

/// Add admission webhooks for a kind of the project or a built-in kind
#[derive(clap::Args)]
#[command(after_help = "Examples:
  cargo operator add-webhook Memcached --validate --mutate
  cargo operator add-webhook v1/Pod --mutate")]
pub struct Args {
    /// The kind: KIND or KIND.GROUP for one of the project, and GROUP/VERSION/KIND, or VERSION/KIND for the core group, for a built-in one
    kind: String,
    /// Add a webhook that accepts or refuses requests
    #[arg(long)]
    validate: bool,
    /// Add a webhook that changes objects before they are stored
    #[arg(long)]
    mutate: bool,
    /// The name of the module, for a built-in kind [default: the name of the kind, such as `replica_set`]
    #[arg(long = "as", value_name = "NAME")]
    module: Option<String>,
    #[command(flatten)]
    project: ProjectArgs,
    #[command(flatten)]
    resolve: Resolve,
    #[command(flatten)]
    view: View,
}

pub fn exec(args: Args, terminal: &Terminal) -> Result<Exit, Failure> {
    let wanted = [
        (args.validate, WebhookType::Validate),
        (args.mutate, WebhookType::Mutate),
    ];
    let wanted = wanted.into_iter().filter(|(is_wanted, _)| *is_wanted);
    let wanted: Vec<WebhookType> = wanted.map(|(_, type_)| type_).collect();
    if wanted.is_empty() {
        return Err(KindError::NoWebhook.into());
    }
    let mut open = OpenProject::at(&args.project, args.view.recovery_mode(), terminal)?;
    open.resolution = args.resolve.into();
    let kind = open.add_webhooks(&args.kind, args.module, &wanted)?;
    let names: Vec<&str> = wanted.iter().map(|it| it.name()).collect();
    let names = names.join(", ");
    let summary = format!("{}: webhooks of {kind} added: {names}", open.config.name);
    open.finish(Ending::of(&args.view, summary), terminal)
}

impl OpenProject {
    /// Adds webhooks to a kind. Returns how `operator.toml` names the kind.
    fn add_webhooks(
        &mut self,
        name: &str,
        module: Option<String>,
        wanted: &[WebhookType],
    ) -> Result<String, Failure> {
        let own = self.own_kind(name)?;
        let config = &self.config;
        let (kind, present) = match own {
            Some(index) => {
                let kind = &config.kinds[index];
                if module.is_some() {
                    return Err(KindError::WebhookModule(kind.full_name()).into());
                }
                (kind.full_name(), Some(&kind.webhooks))
            }
            None => {
                if !name.contains('/') {
                    return Err(KindError::NoSuchKind(name.into(), self.names()).into());
                }
                let table = config.webhooks.iter().find(|table| table.kind == name);
                (name.to_owned(), table.map(|table| &table.webhooks))
            }
        };
        let mut present = present.into_iter().flatten();
        if let Some(webhook) = present.find(|it| wanted.contains(&it.webhook)) {
            return Err(KindError::WebhookPresent(kind, webhook.webhook.name()).into());
        }
        let new = wanted.iter().map(|type_| Webhook::new(*type_)).collect();
        match own {
            Some(index) => self.config.add_webhooks("kind", index, new),
            None => {
                let mut tables = self.config.webhooks.iter();
                match tables.position(|table| table.kind == name) {
                    Some(index) => self.config.add_webhooks("webhook", index, new),
                    None => {
                        let resource = resolve_admitted(name, &self.config.kinds, &self.apis);
                        resource.map_err(KindError::Admission)?;
                        self.config.add_webhook_table(WebhookTable {
                            kind: name.to_owned(),
                            module,
                            webhooks: new,
                        });
                    }
                }
            }
        }
        self.config.check()?;
        Ok(kind)
    }

    /// The index of the kind of the project that a name means: KIND, KIND.GROUP or GROUP/VERSION/KIND. Fails if it means several kinds.
    pub fn own_kind(&self, name: &str) -> Result<Option<usize>, KindError> {
        let kinds = self.config.kinds.iter().enumerate();
        let is_meant = |kind: &Kind| match name.split('/').collect::<Vec<_>>().as_slice() {
            [group, _, name] => (kind.group.as_str(), kind.kind.as_str()) == (*group, *name),
            _ => is_named(name, &kind.kind, &kind.group),
        };
        let found: Vec<(usize, &Kind)> = kinds.filter(|(_, kind)| is_meant(kind)).collect();
        match found.as_slice() {
            [] => Ok(None),
            [(index, _)] => Ok(Some(*index)),
            several => {
                let names: Vec<String> = several.iter().map(|(_, it)| it.full_name()).collect();
                let names = list(names.iter().map(String::as_str));
                Err(KindError::Several(name.into(), names))
            }
        }
    }
}
