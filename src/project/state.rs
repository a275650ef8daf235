//! `operator.toml`: read into [`State`], edited in place so that comments and order stay.

use std::{fmt, ops::Range};

use super::keyword::is_keyword;
use serde::{Deserialize, Serialize};
use toml_edit::{Array, DocumentMut, Item, Table, value};

/// The format of `operator.toml` that this tool writes.
pub const FORMAT: u32 = 1;

/// What a project should be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    pub format: u32,
    /// Of the package, the binary, the field manager and the objects that run it.
    pub name: String,
    #[serde(default)]
    pub runtime: Runtime,
    /// The version of this tool that the generated CI installs.
    pub tool: String,
    #[serde(default, rename = "tool-source")]
    pub tool_source: ToolSource,
    #[serde(default)]
    pub namespaces: Namespaces,
    #[serde(default)]
    pub image: Option<String>,
    #[serde(default, rename = "kind")]
    pub kinds: Vec<Kind>,
}

/// Where the crates of the runtime come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Runtime {
    /// Their sources lie in `crates/` of the project.
    #[default]
    Vendored,
    /// The folder that holds this tool's repository, from the project.
    Path(String),
    /// Of a registry.
    Version(String),
}

/// Where the generated CI gets this tool from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ToolSource {
    /// A registry, by the version of `tool`.
    #[default]
    Registry,
    Git {
        url: String,
        rev: String,
    },
    Path(String),
}

/// The namespaces that the operator watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "RawNamespaces")]
pub enum Namespaces {
    #[default]
    All,
    /// That in which it runs.
    Own,
    Listed(Vec<String>),
}

/// `"all"`, `"own"`, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawNamespaces {
    Word(NamespaceWord),
    List(Vec<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum NamespaceWord {
    All,
    Own,
}

impl From<RawNamespaces> for Namespaces {
    fn from(raw: RawNamespaces) -> Self {
        match raw {
            RawNamespaces::Word(NamespaceWord::All) => Self::All,
            RawNamespaces::Word(NamespaceWord::Own) => Self::Own,
            RawNamespaces::List(names) => Self::Listed(names),
        }
    }
}

/// One kind of the project.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub kind: String,
    pub group: String,
    /// The path of its CustomResourceDefinition.
    pub spec: String,
    /// Those that have Rust types.
    pub versions: Vec<String>,
    /// The module's name where the kind's own is taken.
    #[serde(default, rename = "as")]
    pub module: Option<String>,
    /// Types alone, and no controller, where it is absent.
    #[serde(default)]
    pub scaffold: Option<Scaffold>,
    #[serde(default)]
    pub schema: SchemaMode,
    /// Whether the reconciler has a `cleanup`, and its objects therefore a finalizer.
    #[serde(default)]
    pub cleanup: bool,
    /// Kinds of children, `GROUP/VERSION/KIND`.
    #[serde(default)]
    pub owns: Vec<String>,
    /// Kinds that are watched and mapped to objects of this kind.
    #[serde(default)]
    pub watches: Vec<String>,
    /// Kinds that are read without a watch.
    #[serde(default)]
    pub reads: Vec<String>,
    /// Rights beyond these.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

impl Kind {
    /// The module of its types and of its controller.
    pub fn module_name(&self) -> String {
        self.module
            .clone()
            .unwrap_or_else(|| module_name(&self.kind))
    }

    /// `KIND.GROUP`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }
}

/// A kind's module where nothing else is said: `HTTPRoute` lives in `http_route`.
pub fn module_name(kind: &str) -> String {
    use heck::ToSnakeCase;
    let name = kind.to_snake_case();
    if is_keyword(&name) || name == "generated" {
        name + "_"
    } else {
        name
    }
}

/// The module of a version: `v1-alpha` lives in `v1_alpha`.
pub fn version_module(version: &str) -> String {
    let name = version.replace('-', "_");
    if is_keyword(&name) { name + "_" } else { name }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scaffold {
    Reconciler,
}

/// How `crd()` of a type comes about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SchemaMode {
    /// By kube-derive and schemars.
    #[default]
    Derive,
    /// The spec's own schema is part of the module.
    Embed,
}

/// A rule of a Role (<https://kubernetes.io/docs/reference/access-authn-authz/rbac/>).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Rule {
    #[serde(default)]
    pub api_groups: Vec<String>,
    #[serde(default)]
    pub resources: Vec<String>,
    #[serde(default)]
    pub resource_names: Vec<String>,
    pub verbs: Vec<String>,
}

/// Why `operator.toml` can't be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StateError {
    #[error("operator.toml:{line}: {message}")]
    Invalid { line: usize, message: String },
    #[error("operator.toml has the format {0}, and this tool knows the format {FORMAT}")]
    Format(u32),
    #[error("operator.toml: `{0}` is not a package name")]
    Name(String),
    #[error("operator.toml: the {0} {1} stands there twice")]
    Twice(&'static str, String),
    #[error(
        "operator.toml: `{0}` has characters that a path, a version or an address here cannot have"
    )]
    Word(String),
    #[error("operator.toml: `{0}` is not a module name")]
    Module(String),
    #[error("operator.toml: the spec `{0}` of {1} lies outside the folder crds/")]
    SpecPath(String, String),
}

impl StateError {
    pub fn help(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "docs/operator-toml.md of cargo-operator lists the keys",
            Self::Format(_) => "install a newer cargo-operator: `cargo install cargo-operator`",
            Self::Name(_) => "use lower-case letters, digits and `-`, beginning with a letter",
            Self::Twice("module", _) => "give one of the kinds another with `as` (--as NAME)",
            Self::Twice(..) => "remove or rename one of the two",
            Self::Word(_) => "use letters, digits and . _ - / : @ + ~",
            Self::Module(_) => "use lower-case letters, digits and `_`, beginning with a letter",
            Self::SpecPath(..) => "move it to crds/<plural>.<group>.yaml",
        }
    }
}

/// `operator.toml` as text that keeps what people wrote, beside its reading.
#[derive(Clone, Debug)]
pub struct StateFile {
    document: DocumentMut,
    pub state: State,
}

impl StateFile {
    /// A new project without kinds.
    pub fn new(name: &str, tool: &str) -> Self {
        let text = format!(
            "# What this project should be. Edit it, then run `cargo operator regenerate`.\n\
             format = {FORMAT}\n\
             name = {name:?}\n\
             runtime = \"vendored\"\n\
             tool = {tool:?}\n\
             namespaces = \"all\"\n"
        );
        Self::read(&text).expect("the text is made of a valid name and version")
    }

    pub fn read(text: &str) -> Result<Self, StateError> {
        let invalid = |message: &str, span: Option<Range<usize>>| StateError::Invalid {
            line: span.map_or(1, |span| {
                text[..span.start.min(text.len())].matches('\n').count() + 1
            }),
            message: message.lines().next().unwrap_or_default().to_owned(),
        };
        let document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| invalid(error.message(), error.span()))?;
        let format = document.get("format").and_then(Item::as_integer);
        if let Some(format) = format.and_then(|format| u32::try_from(format).ok())
            && format > FORMAT
        {
            return Err(StateError::Format(format));
        }
        let state: State = toml_edit::de::from_str(text)
            .map_err(|error| invalid(error.message(), error.span()))?;
        state.check()?;
        Ok(Self { document, state })
    }

    /// Adds a kind, or replaces the entry of the same kind.
    pub fn add_kind(&mut self, kind: Kind) {
        let present = self.document.remove("kind").unwrap_or_default();
        let mut tables = present.into_array_of_tables().unwrap_or_default();
        tables.push(table(&kind));
        self.document.insert("kind", Item::ArrayOfTables(tables));
        self.state.kinds.push(kind);
    }

    /// Sets the versions of the kind at `index`.
    pub fn set_versions(&mut self, index: usize, versions: Vec<String>) {
        let tables = self
            .document
            .get_mut("kind")
            .and_then(Item::as_array_of_tables_mut);
        if let Some(table) = tables.and_then(|tables| tables.get_mut(index)) {
            table["versions"] = value(versions.iter().collect::<Array>());
        }
        self.state.kinds[index].versions = versions;
    }

    pub fn set_image(&mut self, image: &str) {
        set_keeping_decor(&mut self.document, "image", image);
        self.state.image = Some(image.to_owned());
    }

    /// Names the version of this tool as the one that CI installs.
    pub fn set_tool(&mut self, version: &str) {
        set_keeping_decor(&mut self.document, "tool", version);
        self.state.tool = version.to_owned();
    }
}

impl fmt::Display for StateFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.document.fmt(f)
    }
}

fn set_keeping_decor(document: &mut DocumentMut, key: &str, text: &str) {
    match document.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = text.into();
            *old.decor_mut() = decor;
        }
        None => document[key] = value(text),
    }
}

fn table(kind: &Kind) -> Table {
    let mut table = Table::new();
    table.decor_mut().set_prefix("\n");
    let list = |items: &[String]| value(items.iter().collect::<Array>());
    table["kind"] = value(&kind.kind);
    table["group"] = value(&kind.group);
    table["spec"] = value(&kind.spec);
    table["versions"] = list(&kind.versions);
    if let Some(module) = &kind.module {
        table["as"] = value(module);
    }
    if kind.scaffold == Some(Scaffold::Reconciler) {
        table["scaffold"] = value("reconciler");
    }
    if kind.schema == SchemaMode::Embed {
        table["schema"] = value("embed");
    }
    if kind.cleanup {
        table["cleanup"] = value(true);
    }
    if kind.scaffold.is_some() {
        table["owns"] = list(&kind.owns);
    }
    table
}

impl State {
    /// What the rest of the program relies on; a command that changed the state asks again.
    pub fn check(&self) -> Result<(), StateError> {
        if !is_package_name(&self.name) {
            return Err(StateError::Name(self.name.clone()));
        }
        let places = match (&self.runtime, &self.tool_source) {
            (Runtime::Path(path) | Runtime::Version(path), _) => vec![path],
            _ => vec![],
        };
        let sources = match &self.tool_source {
            ToolSource::Registry => vec![],
            ToolSource::Git { url, rev } => vec![url, rev],
            ToolSource::Path(path) => vec![path],
        };
        let mut words = places.into_iter().chain(sources).chain([&self.tool]);
        if let Some(word) = words.find(|word| !is_plain(word)) {
            return Err(StateError::Word(word.clone()));
        }
        for (index, kind) in self.kinds.iter().enumerate() {
            let earlier = &self.kinds[..index];
            if earlier
                .iter()
                .any(|other| other.full_name() == kind.full_name())
            {
                return Err(StateError::Twice("kind", kind.full_name()));
            }
            if earlier.iter().any(|other| other.spec == kind.spec) {
                return Err(StateError::Twice("spec", kind.spec.clone()));
            }
            if earlier
                .iter()
                .any(|other| other.module_name() == kind.module_name())
            {
                return Err(StateError::Twice("module", kind.module_name()));
            }
            if !is_module_name(&kind.module_name()) {
                return Err(StateError::Module(kind.module_name()));
            }
            let mut versions = kind.versions.iter().enumerate();
            if let Some((_, version)) =
                versions.find(|(at, version)| kind.versions[..*at].contains(version))
            {
                return Err(StateError::Twice("version", version.clone()));
            }
            let file = kind.spec.strip_prefix("crds/");
            if !file
                .is_some_and(|file| is_plain(file) && !file.contains('/') && !file.starts_with('.'))
            {
                return Err(StateError::SpecPath(kind.spec.clone(), kind.kind.clone()));
            }
        }
        Ok(())
    }
}

/// Of characters that mean nothing to a shell, to YAML, TOML or Rust.
fn is_plain(word: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-/:@+~".contains(&b);
    !word.is_empty() && word.bytes().all(plain)
}

/// Names that Cargo, or a package in every project, has taken.
const RESERVED: [&str; 12] = [
    "alloc",
    "build",
    "core",
    "deps",
    "examples",
    "incremental",
    "kube",
    "operator-runtime",
    "operator-schema",
    "operator-testing",
    "std",
    "test",
];

/// Whether Cargo takes it for a package and Kubernetes for a label's value and an object's name.
pub fn is_package_name(name: &str) -> bool {
    name.len() <= 50
        && !RESERVED.contains(&name)
        && !is_keyword(name)
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn is_module_name(name: &str) -> bool {
    !is_keyword(name)
        && name != "generated"
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}
