//! The contents of `operator.toml`: the project and its kinds.

use super::{
    deployment::DeploymentSettings,
    monitoring::Monitoring,
    owned::{self, Owned},
    place::Place,
    read::{self, Read},
    renamed::Renamed,
    rule::Rule,
    runtime::Runtime,
    webhook::{self, Certificates, Webhook, WebhookTable},
};
use crate::{
    rust::module_name,
    scaffold::{ExistingScaffold, Scaffold},
    types::SchemaMode,
};
use serde::{Deserialize, Serialize};

/// The format of `operator.toml` that this tool reads and writes.
pub const FORMAT: u32 = 1;

/// The desired state of a project.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub format: u32,
    /// The name of the package, the binary, the field manager, and the objects that run the operator.
    pub name: String,
    /// The source of the runtime, and of the tool that the generated CI installs.
    pub runtime: Runtime,
    /// The path from the project to the root of the cargo workspace of which it is a member.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The version of this tool that the generated CI installs.
    pub tool: String,
    #[serde(default)]
    pub namespaces: Namespaces,
    #[serde(default)]
    pub image: Option<String>,
    /// Whether the operator applies its own CRDs.
    #[serde(default, rename = "ensure-crds")]
    pub ensure_crds: bool,
    /// Whether the operator rewrites stored objects when the storage version of their CRD has changed.
    #[serde(default, rename = "migrate-storage")]
    pub migrate_storage: bool,
    #[serde(default)]
    pub certificates: Certificates,
    /// How the operator is packaged.
    #[serde(default = "kustomize")]
    pub packaging: Vec<Packaging>,
    #[serde(default)]
    pub deployment: DeploymentSettings,
    #[serde(default)]
    pub monitoring: Monitoring,
    #[serde(default, rename = "kind")]
    pub kinds: Vec<Kind>,
    #[serde(default, rename = "controller")]
    pub controllers: Vec<NamedController>,
    #[serde(default, rename = "webhook")]
    pub webhooks: Vec<WebhookTable>,
}

/// A form in which the objects of the operator are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Packaging {
    /// `manifests/`, which the tests and `dev` read, too.
    Kustomize,
    /// A chart in `charts/`.
    Helm,
    /// A bundle for the Operator Lifecycle Manager in `bundle/`.
    Olm,
}

impl Packaging {
    pub fn name(self) -> &'static str {
        match self {
            Self::Kustomize => "kustomize",
            Self::Helm => "helm",
            Self::Olm => "olm",
        }
    }
}

fn kustomize() -> Vec<Packaging> {
    vec![Packaging::Kustomize]
}

/// The namespaces that the operator watches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "RawNamespaces")]
pub enum Namespaces {
    #[default]
    All,
    /// The namespace in which the operator runs.
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

impl Config {
    /// The paths of further samples, and where they are written.
    pub fn samples(&self) -> impl Iterator<Item = (Place, &String)> {
        fn of<'a>(
            table: &'static str,
            lists: impl Iterator<Item = &'a Vec<String>>,
        ) -> impl Iterator<Item = (Place, &'a String)> {
            lists.enumerate().flat_map(move |(index, samples)| {
                let place = Place::of(table).then(index).then("samples");
                let paths = samples.iter().enumerate();
                paths.map(move |(number, path)| (place.clone().then(number), path))
            })
        }
        let kinds = of("kind", self.kinds.iter().map(|it| &it.samples));
        let controllers = of("controller", self.controllers.iter().map(|it| &it.samples));
        kinds.chain(controllers)
    }
}

/// One kind of the project.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    pub kind: String,
    pub group: String,
    /// The path of its CRD file.
    pub crd: String,
    /// The versions with Rust types.
    pub versions: Vec<String>,
    /// The name of the module, if the default name is already in use.
    #[serde(default, rename = "as")]
    pub module: Option<String>,
    /// The scaffold of the controller; if absent, the kind has only types.
    #[serde(default)]
    pub scaffold: Option<&'static Scaffold>,
    #[serde(default)]
    pub schema: SchemaMode,
    /// Whether the controller has a cleanup method, so that its objects have a finalizer.
    #[serde(default)]
    pub cleanup: bool,
    /// Kinds of children.
    #[serde(default, deserialize_with = "owned::distinct")]
    pub owns: Vec<Owned>,
    /// Kinds that are watched and mapped to objects of this kind.
    #[serde(default)]
    pub watches: Vec<String>,
    /// Kinds that are read without a watch.
    #[serde(default, deserialize_with = "read::list")]
    pub reads: Vec<Read>,
    /// Kinds whose objects may remain after an object is deleted.
    #[serde(default)]
    pub keeps: Vec<String>,
    /// A part of the error of its sample's reconciliation, if that must fail because it needs something that no test provides.
    #[serde(default, rename = "sample-fails")]
    pub sample_fails: Option<String>,
    /// The files of further samples, which the tests use as they use the generated one.
    #[serde(default)]
    pub samples: Vec<String>,
    /// The fields that the controller does not use, such as `spec.contact`.
    #[serde(default)]
    pub unused: Vec<String>,
    /// The version to and from which all others are converted. It does not change with the storage version.
    #[serde(default)]
    pub hub: Option<String>,
    /// Fields that have another path in the hub.
    #[serde(default)]
    pub renames: Vec<Renamed>,
    /// The paths of fields whose values a conversion never keeps in an annotation.
    #[serde(default)]
    pub sensitive: Vec<String>,
    /// Additional RBAC rules.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Admission webhooks.
    #[serde(default, deserialize_with = "webhook::list")]
    pub webhooks: Vec<Webhook>,
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

    /// The owner of the kind: a kind without a controller belongs to another operator.
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

/// A controller of a kind that does not belong to the operator: a built-in kind, or one for which the project has only types.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedController {
    /// Distinguishes it in metrics, field managers and finalizers, because a kind may have several controllers.
    pub name: String,
    /// The kind that it reconciles, as in `owns`.
    pub kind: String,
    #[serde(default)]
    pub scaffold: ExistingScaffold,
    /// The part of the objects that it caches; whole objects if absent.
    #[serde(default)]
    pub cache: Option<WatchedCache>,
    /// Whether it has a cleanup method, so that its objects have a finalizer.
    #[serde(default)]
    pub cleanup: bool,
    /// This key and those below are the same as in [`Kind`].
    #[serde(default, deserialize_with = "owned::distinct")]
    pub owns: Vec<Owned>,
    #[serde(default)]
    pub watches: Vec<String>,
    #[serde(default, deserialize_with = "read::list")]
    pub reads: Vec<Read>,
    #[serde(default)]
    pub keeps: Vec<String>,
    #[serde(default, rename = "sample-fails")]
    pub sample_fails: Option<String>,
    #[serde(default)]
    pub samples: Vec<String>,
    #[serde(default)]
    pub rules: Vec<Rule>,
}

impl NamedController {
    /// The module of the controller.
    pub fn module_name(&self) -> String {
        module_name(&self.name)
    }
}

/// The part of the reconciled objects that a controller caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchedCache {
    /// The metadata alone.
    Metadata,
}

/// The owner of the CRD of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The operator, whose manifests install it.
    Own,
    /// Another operator. The project has Rust types of the kind, but does not install its CRD.
    Foreign,
}
