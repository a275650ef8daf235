//! The contents of `operator.toml`: the project and its kinds.

use super::{owned::Owned, read::Read};
use crate::{rust::module_name, scaffold::Scaffold, types::SchemaMode};
use serde::{Deserialize, Serialize};

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
    /// Whether the operator applies its own CRDs.
    #[serde(default, rename = "ensure-crds")]
    pub ensure_crds: bool,
    #[serde(default, rename = "kind")]
    pub kinds: Vec<Kind>,
    #[serde(default, rename = "controller")]
    pub controllers: Vec<NamedController>,
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
    /// Not known: the CI does without it.
    None,
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
#[serde(
    untagged,
    expecting = "write \"all\", \"own\" or a list of names, such as [\"team-a\"]"
)]
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
    pub scaffold: Option<&'static Scaffold>,
    #[serde(default)]
    pub schema: SchemaMode,
    /// Whether the controller has a method for deleted objects, and its objects therefore a finalizer.
    #[serde(default)]
    pub cleanup: bool,
    /// Kinds of children.
    #[serde(default)]
    pub owns: Vec<Owned>,
    /// Kinds that are watched and mapped to objects of this kind.
    #[serde(default)]
    pub watches: Vec<String>,
    /// Kinds that are read without a watch.
    #[serde(default)]
    pub reads: Vec<Read>,
    /// Kinds of which objects may remain after the deletion of an object.
    #[serde(default)]
    pub keeps: Vec<String>,
    /// What the reconciliation of its sample fails with, as it lacks something that no test provides.
    #[serde(default, rename = "sample-fails")]
    pub sample_fails: Option<String>,
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

    /// Whether the operator reconciles its objects.
    pub fn has_controller(&self) -> bool {
        self.scaffold.is_some()
    }

    /// A kind without a controller is used by those of others.
    pub fn source(&self) -> Source {
        match self.scaffold {
            Some(_) => Source::Own,
            None => Source::Foreign,
        }
    }

    /// `KIND.GROUP`.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.kind, self.group)
    }
}

/// A controller of a kind that exists without the operator: a built-in one, or one of which the project has only types.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedController {
    /// Distinguishes it in metrics, field managers and finalizers, because a kind may have several controllers.
    pub name: String,
    /// The kind that it reconciles, as in `owns`.
    pub kind: String,
    /// What it caches of the objects; the whole object, where it is absent.
    #[serde(default)]
    pub cache: Option<WatchedCache>,
    /// Whether it has a method for deleted objects, and the objects therefore a finalizer.
    #[serde(default)]
    pub cleanup: bool,
    /// The other keys are those of a kind.
    #[serde(default)]
    pub owns: Vec<Owned>,
    #[serde(default)]
    pub watches: Vec<String>,
    #[serde(default)]
    pub reads: Vec<Read>,
    #[serde(default)]
    pub keeps: Vec<String>,
    #[serde(default, rename = "sample-fails")]
    pub sample_fails: Option<String>,
    #[serde(default)]
    pub rules: Vec<Rule>,
}

impl NamedController {
    /// The module of the controller.
    pub fn module_name(&self) -> String {
        module_name(&self.name)
    }
}

/// What a controller caches of the objects that it reconciles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchedCache {
    /// The metadata alone.
    Metadata,
}

/// Whose the CRD of a kind is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The operator's: its manifests install it.
    Own,
    /// Another operator's: the project has Rust types of it, and never installs it.
    Foreign,
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
