//! `operator.toml` as a file: parsed into [`Config`], and edited in place, so that comments and the order are kept.

use std::{
    fmt,
    ops::{Deref, Range},
};

use toml_edit::{Array, DocumentMut, Item, Table, Value, value};

use super::{
    check::{ConfigError, ConfigProblem},
    marker::is_marked,
    owned::Owned,
    place::Place,
    renamed::Renamed,
    runtime::Runtime,
    table::{Config, FORMAT, Kind, NamedController, Packaging, WatchedCache},
    webhook::{Webhook, WebhookTable},
};
use crate::{scaffold::ExistingScaffold, types::SchemaMode};

/// The text of `operator.toml`, with its formatting and comments, and its parsed content.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    document: DocumentMut,
    pub config: Config,
}

impl ConfigFile {
    /// Creates a project without kinds, for this version of the tool and this source of the runtime.
    pub fn new(
        name: &str,
        tool: &str,
        runtime: &Runtime,
        workspace: Option<&str>,
    ) -> Result<Self, Vec<ConfigError>> {
        let workspace = workspace.map(|path| format!("workspace = {path:?}\n"));
        Self::read(&format!(
            "# Describes this project. Run `cargo operator regenerate` after you edit it.\n\
             format = {FORMAT}\n\
             name = {name:?}\n\
             runtime = {runtime}\n\
             tool = {tool:?}\n\
             {workspace}\
             namespaces = \"all\"\n",
            workspace = workspace.unwrap_or_default()
        ))
    }

    /// Parses and checks the text of `operator.toml`. Conflict markers, another format, and a table instead of a list of tables have their
    /// own errors, because the errors of the parser do not explain them.
    pub fn read(text: &str) -> Result<Self, Vec<ConfigError>> {
        if is_marked(text) {
            let start = text.find("<<<<<<<").unwrap_or_default();
            return Err(vec![ConfigProblem::Marked.at_bytes(start..start + 7)]);
        }
        let invalid = |message: &str, span: Option<Range<usize>>| {
            let error = match single_table(text) {
                Some((key, place)) => ConfigProblem::NotAList(key).at_bytes(place),
                None => {
                    let message = keyed(message.lines().next().unwrap_or_default());
                    ConfigProblem::Invalid(message).at_bytes(span.unwrap_or_default())
                }
            };
            vec![error]
        };
        let document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| invalid(error.message(), error.span()))?;
        let format = document.get("format").and_then(Item::as_integer);
        if let Some(format) = format.and_then(|format| u32::try_from(format).ok())
            && format != FORMAT
        {
            return Err(vec![ConfigProblem::Format(format).at(Place::of("format"))]);
        }
        for key in ["kind", "controller", "webhook"] {
            let tables = document.get(key);
            if tables.is_some_and(|tables| !tables.is_array_of_tables()) {
                let error = match single_table(text) {
                    Some((key, place)) => ConfigProblem::NotAList(key).at_bytes(place),
                    None => ConfigProblem::NotAList(key).at(Place::of(key)),
                };
                return Err(vec![error]);
            }
        }
        let config: Config = toml_edit::de::from_str(text)
            .map_err(|error| invalid(error.message(), error.span()))?;
        config.check()?;
        Ok(Self { document, config })
    }

    /// Adds a kind.
    pub fn add_kind(&mut self, kind: Kind) {
        self.add_table("kind", kind_table(&kind));
        self.config.kinds.push(kind);
    }

    /// Adds a controller.
    pub fn add_controller(&mut self, controller: NamedController) {
        self.add_table("controller", controller_table(&controller));
        self.config.controllers.push(controller);
    }

    /// Adds a kind that has only webhooks.
    pub fn add_webhook_table(&mut self, webhook: WebhookTable) {
        let mut table = Table::new();
        table.decor_mut().set_prefix("\n");
        table["kind"] = value(&webhook.kind);
        if let Some(module) = &webhook.module {
            table["as"] = value(module);
        }
        table["webhooks"] = value(names(&webhook.webhooks).collect::<Array>());
        self.add_table("webhook", table);
        self.config.webhooks.push(webhook);
    }

    /// Adds webhooks with the default options to the table `[[kind]]` or `[[webhook]]` at `index`.
    pub fn add_webhooks(&mut self, key: &str, index: usize, new: Vec<Webhook>) {
        let tables = self
            .document
            .get_mut(key)
            .and_then(Item::as_array_of_tables_mut);
        if let Some(table) = tables.and_then(|tables| tables.get_mut(index)) {
            match table.get_mut("webhooks").and_then(Item::as_array_mut) {
                Some(present) => names(&new).for_each(|name| present.push(name)),
                None => table["webhooks"] = value(names(&new).collect::<Array>()),
            }
        }
        match key {
            "kind" => self.config.kinds[index].webhooks.extend(new),
            _ => self.config.webhooks[index].webhooks.extend(new),
        }
    }

    /// Removes the webhooks of the kind at `index`, but not the kind.
    pub fn remove_webhooks(&mut self, index: usize) {
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        if let Some(table) = tables.and_then(|tables| tables.get_mut(index)) {
            table.remove("webhooks");
        }
        self.config.kinds[index].webhooks.clear();
    }

    /// Removes the `[[webhook]]` at `index`, with its comments.
    pub fn remove_webhook_table(&mut self, index: usize) -> WebhookTable {
        self.remove_table("webhook", index);
        self.config.webhooks.remove(index)
    }

    fn add_table(&mut self, key: &str, table: Table) {
        let present = self.document.remove(key).unwrap_or_default();
        let mut tables = present.into_array_of_tables().unwrap_or_default();
        tables.push(table);
        self.document.insert(key, Item::ArrayOfTables(tables));
    }

    /// Removes the kind at `index`, with its comments.
    pub fn remove_kind(&mut self, index: usize) -> Kind {
        self.remove_table("kind", index);
        self.config.kinds.remove(index)
    }

    /// Removes the controller at `index`, with its comments.
    pub fn remove_controller(&mut self, index: usize) -> NamedController {
        self.remove_table("controller", index);
        self.config.controllers.remove(index)
    }

    /// Removes a table from a list of tables, and the list with the last table.
    fn remove_table(&mut self, key: &str, index: usize) {
        let tables = self
            .document
            .get_mut(key)
            .and_then(Item::as_array_of_tables_mut);
        if let Some(tables) = tables {
            tables.remove(index);
            if tables.is_empty() {
                self.document.remove(key);
            }
        }
    }

    /// Sets the versions of the kind at `index`.
    pub fn set_versions(&mut self, index: usize, versions: Vec<String>) {
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        let table = tables.and_then(|tables| tables.get_mut(index));
        if let Some(array) = table.and_then(|table| table["versions"].as_array_mut()) {
            array.retain(|item| {
                item.as_str()
                    .is_some_and(|item| versions.iter().any(|version| version == item))
            });
            for version in &versions {
                if !array.iter().any(|item| item.as_str() == Some(version)) {
                    array.push(version);
                }
            }
        }
        self.config.kinds[index].versions = versions;
    }

    /// Sets the hub of the kind at `index`. A new key is below `versions`.
    pub fn set_hub(&mut self, index: usize, hub: &str) {
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        if let Some(table) = tables.and_then(|tables| tables.get_mut(index)) {
            let mut known: Vec<String> = table.iter().map(|(key, _)| key.to_owned()).collect();
            table["hub"] = value(hub);
            let after = known.iter().position(|key| key == "versions");
            known.insert(after.map_or(known.len(), |at| at + 1), "hub".into());
            let rank = |key: &str| known.iter().position(|it| it == key);
            table.sort_values_by(|a, _, b, _| rank(a.get()).cmp(&rank(b.get())));
        }
        self.config.kinds[index].hub = Some(hub.to_owned());
    }

    /// Copies the renames of the version `from` of the kind at `index` for the new version.
    pub fn copy_renames(&mut self, index: usize, from: &str, version: &str) {
        let copy = |renamed: &Renamed| Renamed {
            version: version.to_owned(),
            ..renamed.clone()
        };
        let renames = &mut self.config.kinds[index].renames;
        let copies = renames.iter().filter(|it| it.version == from).map(copy);
        let copies: Vec<Renamed> = copies.collect();
        if copies.is_empty() {
            return;
        }
        renames.extend(copies);
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        let table = tables.and_then(|tables| tables.get_mut(index));
        match table.and_then(|table| table.get_mut("renames")) {
            Some(Item::Value(Value::Array(renames))) => {
                let of_version = |it: &Value| {
                    let table = it.as_inline_table()?;
                    (table.get("version")?.as_str()? == from).then(|| it.clone())
                };
                for mut copy in renames.iter().filter_map(of_version).collect::<Vec<_>>() {
                    if let Some(name) = copy
                        .as_inline_table_mut()
                        .and_then(|it| it.get_mut("version"))
                    {
                        let decor = name.decor().clone();
                        *name = version.into();
                        *name.decor_mut() = decor;
                    }
                    renames.push_formatted(copy);
                }
            }
            Some(Item::ArrayOfTables(renames)) => {
                let of_version =
                    |it: &&Table| it.get("version").and_then(Item::as_str) == Some(from);
                for mut copy in renames
                    .iter()
                    .filter(of_version)
                    .cloned()
                    .collect::<Vec<_>>()
                {
                    copy["version"] = value(version);
                    renames.push(copy);
                }
            }
            _ => {}
        }
    }

    /// Adds `owns` with the child of the example controller, and `unused` with the fields that it does not use, to the kind at `index`,
    /// where it does not have these keys.
    pub fn follow_example(&mut self, index: usize, child: Option<&str>, unused: Vec<String>) {
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        let table = tables.and_then(|tables| tables.get_mut(index));
        let Some(table) = table else {
            return;
        };
        if let Some(child) = child.filter(|_| !table.contains_key("owns")) {
            table["owns"] = value(Array::from_iter([child]));
            self.config.kinds[index].owns = vec![Owned::new(child)];
        }
        if !unused.is_empty() && !table.contains_key("unused") {
            table["unused"] = value(unused.iter().collect::<Array>());
            self.config.kinds[index].unused = unused;
        }
    }

    pub fn set_image(&mut self, image: &str) {
        set_keeping_decor(&mut self.document["image"], image);
        self.config.image = Some(image.to_owned());
    }

    /// Adds a form of packaging.
    pub fn add_packaging(&mut self, new: Packaging) {
        let packaging = &mut self.config.packaging;
        if packaging.contains(&new) {
            return;
        }
        packaging.push(new);
        let names = packaging.iter().map(|it| it.name());
        match self
            .document
            .get_mut("packaging")
            .and_then(Item::as_array_mut)
        {
            Some(present) => present.push(new.name()),
            None => self.document["packaging"] = value(names.collect::<Array>()),
        }
    }

    /// Sets the version of the tool to this one. If the tool came from the same registry or repository as the runtime, sets the runtime to
    /// the one of this tool, too.
    pub fn set_tool(&mut self, version: &str, origin: Option<&Runtime>) {
        let is_new = self.config.tool != version;
        if is_new {
            set_keeping_decor(&mut self.document["tool"], version);
            self.config.tool = version.to_owned();
        }
        match (&mut self.config.runtime, origin) {
            (Runtime::Version(present), _) if is_new => {
                set_keeping_decor(&mut self.document["runtime"]["version"], version);
                *present = version.to_owned();
            }
            (
                Runtime::Git { url, rev },
                Some(Runtime::Git {
                    url: from,
                    rev: new,
                }),
            ) if url == from => {
                set_keeping_decor(&mut self.document["runtime"]["rev"], new);
                rev.clone_from(new);
            }
            _ => {}
        }
    }

    /// Rejects a project that was last written by a newer version of this tool.
    pub fn check_tool(&self, version: &str) -> Result<(), ConfigError> {
        let parse = |version: &str| semver::Version::parse(version).ok();
        match (parse(&self.config.tool), parse(version)) {
            (Some(wrote), Some(this)) if wrote > this => {
                Err(ConfigProblem::Newer(self.config.tool.clone()).at(Place::of("tool")))
            }
            (None, _) => Err(ConfigProblem::Tool(self.config.tool.clone()).at(Place::of("tool"))),
            _ => Ok(()),
        }
    }
}

impl Deref for ConfigFile {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.config
    }
}

impl fmt::Display for ConfigFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(f)
    }
}

/// The header of a table that should be one of a list: `[controller]` instead of `[[controller]]`. To be called only for an invalid text,
/// because a string in a valid one may have such a line.
fn single_table(text: &str) -> Option<(&'static str, Range<usize>)> {
    const LISTS: [&str; 5] = [
        "kind",
        "controller",
        "webhook",
        "kind.rules",
        "controller.rules",
    ];
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default().trim();
        let name = code.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        if let Some(key) = LISTS.into_iter().find(|key| name == Some(key)) {
            let start = start + line.find('[').unwrap_or_default();
            return Some((key, start..start + code.len()));
        }
        start += line.len();
    }
    None
}

/// Extends serde's message about an unknown key or value with the most similar known one; if none is similar, with all keys.
fn keyed(message: &str) -> String {
    let unknown = |kind: &str| {
        let rest = message.strip_prefix(kind)?.strip_prefix(" `")?;
        let (found, known) = rest.split_once("`, expected ")?;
        let likeness = |known: &str| strsim::jaro_winkler(found, known);
        let nearest = known
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|known| likeness(known) >= ALIKE)
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        let nearest = nearest.map(|nearest| format!("; the nearest is `{nearest}`"));
        Some((found, known, nearest))
    };
    if let Some((found, known, nearest)) = unknown("unknown field") {
        if found == "spec" && known.contains("`crd`") {
            return "unknown key `spec`; the path of the CRD is the key `crd`".into();
        }
        let rest = nearest.unwrap_or_else(|| format!(", expected {known}"));
        return format!("unknown key `{found}`{rest}");
    }
    match unknown("unknown variant") {
        Some(("controller", known, _)) if known.contains("`reconciler`") => format!(
            "unknown value `controller`, expected {known}; a controller of a kind that exists already has a table [[controller]]"
        ),
        Some((found, known, nearest)) => format!(
            "unknown value `{found}`, expected {known}{}",
            nearest.unwrap_or_default()
        ),
        None => message.replace("expected u16", "expected a number from 0 to 65535"),
    }
}

/// The minimum similarity of a key to the one that was probably meant, from 0 to 1.
const ALIKE: f64 = 0.7;

/// Sets a value, and keeps the blanks and the comment around the old one.
fn set_keeping_decor(item: &mut Item, text: &str) {
    match item.as_value_mut() {
        Some(old) => {
            let decor = old.decor().clone();
            *old = text.into();
            *old.decor_mut() = decor;
        }
        None => *item = value(text),
    }
}

/// The entries of webhooks without options.
fn names(webhooks: &[Webhook]) -> impl Iterator<Item = &'static str> {
    webhooks.iter().map(|it| it.webhook.name())
}

fn controller_table(controller: &NamedController) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    table["name"] = value(&controller.name);
    table["kind"] = value(&controller.kind);
    if controller.scaffold != ExistingScaffold::default() {
        table["scaffold"] = value(controller.scaffold.name());
    }
    if controller.cache == Some(WatchedCache::Metadata) {
        table["cache"] = value("metadata");
    }
    if controller.cleanup {
        table["cleanup"] = value(true);
    }
    table
}

fn kind_table(kind: &Kind) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    let list = |items: &[String]| value(items.iter().collect::<Array>());
    table["kind"] = value(&kind.kind);
    table["group"] = value(&kind.group);
    table["crd"] = value(&kind.crd);
    table["versions"] = list(&kind.versions);
    if let Some(module) = &kind.module {
        table["as"] = value(module);
    }
    if let Some(scaffold) = kind.scaffold {
        table["scaffold"] = value(scaffold.name);
    }
    if kind.schema == SchemaMode::Embed {
        table["schema"] = value("embed");
    }
    if kind.cleanup {
        table["cleanup"] = value(true);
    }
    if kind.has_controller() {
        table["owns"] = value(kind.owns.iter().map(|owned| &owned.kind).collect::<Array>());
    }
    if !kind.unused.is_empty() {
        table["unused"] = list(&kind.unused);
    }
    table
}
