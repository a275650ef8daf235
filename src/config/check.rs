//! Validates `operator.toml`: the rules that the rest of the program relies on, and the errors.

use std::ops::Range;

use super::{
    deployment::{self, DeploymentPlace, DeploymentProblem},
    image::{IMAGE_HELP, Image, is_image},
    name::{is_controller_name, is_label, is_module_name, is_package_name, is_plain},
    rule::Rule,
    table::{Config, FORMAT, Kind, NamedController, Namespaces, Packaging},
    webhook_check::{self, WebhookPlace, WebhookProblem},
};

/// The reason why `operator.toml` is invalid.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("{message}")]
    Invalid {
        /// In bytes of the text.
        place: Range<usize>,
        message: String,
    },
    #[error("`{key}` is one table, but operator.toml has a list of them")]
    NotAList {
        /// Of its name or its header, in bytes of the text.
        place: Range<usize>,
        key: &'static str,
    },
    #[error("operator.toml has the conflict markers of a merge")]
    Marked,
    #[error("operator.toml has the format {0}, but this tool supports the format {FORMAT}")]
    Format(u32),
    #[error("`{0}` is not a package name")]
    Name(String),
    #[error("the {0} {1} is listed twice")]
    Twice(&'static str, String),
    #[error("the module {0} is listed twice")]
    TwiceModule(String),
    #[error("the controller `{0}` would have the same module or name as that of {1}")]
    ControllerModule(String, String),
    #[error("`{0}` is not the name of a controller")]
    ControllerName(String),
    #[error("`{0}` has characters that are not allowed in a path, a version or an address")]
    Word(String),
    #[error("`{0}` is not a module name")]
    Module(String),
    #[error("{0} has no versions")]
    NoVersions(String),
    #[error("`packaging` has no \"kustomize\"")]
    NoKustomize,
    #[error("the tag of the image `{0}` is not a version, but a bundle of OLM has one")]
    OlmVersion(String),
    #[error("the name of the bundle, `{name}`, has more than 63 characters")]
    OlmName { image: String, name: String },
    #[error("both OLM and the operator would install the CRDs")]
    OlmEnsuresCrds,
    #[error("`namespaces` is an empty list")]
    NoNamespaces,
    #[error("`{0}` is not the name of a namespace")]
    Namespace(String),
    #[error("`{0}` is not the name of an image")]
    Image(String),
    #[error("a rule of {subject} has no `{key}`, so it permits nothing")]
    Rule {
        /// `kind` or `controller`.
        table: &'static str,
        /// The position of the table, and of the rule in it.
        index: usize,
        number: usize,
        /// Whose rule it is.
        subject: String,
        /// The key that is missing or empty.
        key: &'static str,
    },
    #[error("[deployment]: {problem}")]
    Deployment {
        place: DeploymentPlace,
        problem: Box<DeploymentProblem>,
    },
    #[error("{subject}: {problem}")]
    Webhook {
        place: WebhookPlace,
        /// Whose webhook it is.
        subject: String,
        problem: Box<WebhookProblem>,
    },
    #[error("the module `{0}` of the webhooks of {1} is already in use by those of {2}")]
    WebhookModule(String, String, String),
    #[error("the test `{0}` of the webhooks of {1} would have the name of the test of {2}")]
    WebhookTest(String, String, String),
    #[error("operator.toml was written by cargo-operator {0}, which is newer than this one, {this}", this = env!("CARGO_PKG_VERSION"))]
    Newer(String),
    #[error("`{0}` is not a version of cargo-operator")]
    Tool(String),
    #[error("there is no Cargo.toml of a cargo workspace for this project in the folder `{0}`")]
    NoWorkspace(String),
    #[error("the spec `{0}` of {1} is outside of the folder crds/")]
    SpecPath(String, String),
}

impl ConfigError {
    /// The error, with its byte range in the text, if it concerns one place.
    pub fn place(&self, text: &str) -> Option<Range<usize>> {
        let word = match self {
            Self::Invalid { place, .. } | Self::NotAList { place, .. } => {
                return Some(place.clone());
            }
            Self::Marked => "<<<<<<<".to_owned(),
            Self::Format(_) => "format".to_owned(),
            Self::NoNamespaces => "namespaces".to_owned(),
            Self::NoKustomize => "packaging".to_owned(),
            Self::OlmEnsuresCrds => "ensure-crds".to_owned(),
            Self::Rule {
                table,
                index,
                number,
                key,
                ..
            } => {
                let document = toml_edit::Document::parse(text).ok()?;
                let rule = document.get(table)?.get(index)?.get("rules")?.get(number)?;
                return rule.get(key).unwrap_or(rule).span();
            }
            Self::Webhook { place, .. } => return place.range(text),
            Self::Deployment { place, .. } => return place.range(text),
            Self::WebhookModule(_, kind, _) | Self::WebhookTest(_, kind, _) => {
                let kind = kind.split('.').next().unwrap_or_default();
                format!("{kind:?}")
            }
            Self::NoVersions(kind) => {
                format!("{:?}", kind.split('.').next().unwrap_or_default())
            }
            Self::Twice(_, word)
            | Self::TwiceModule(word)
            | Self::ControllerModule(word, _)
            | Self::ControllerName(word)
            | Self::Name(word)
            | Self::Word(word)
            | Self::Module(word)
            | Self::Namespace(word)
            | Self::Image(word)
            | Self::OlmVersion(word)
            | Self::OlmName { image: word, .. }
            | Self::Newer(word)
            | Self::Tool(word)
            | Self::NoWorkspace(word)
            | Self::SpecPath(word, _) => format!("{word:?}"),
        };
        let start = match self {
            Self::Twice(..)
            | Self::TwiceModule(_)
            | Self::ControllerModule(..)
            | Self::WebhookModule(..) => text.rfind(&word),
            _ => text.find(&word),
        };
        start.map(|start| start..start + word.len())
    }

    pub fn help(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => concat!(
                env!("CARGO_PKG_REPOSITORY"),
                "/blob/main/docs/operator-toml.md lists the keys"
            ),
            Self::NotAList { key, .. } => match *key {
                "kind" => "write each kind as its own table: [[kind]]",
                "controller" => "write each controller as its own table: [[controller]]",
                "webhook" => "write the webhooks of each kind as their own table: [[webhook]]",
                "kind.rules" => "write each rule as its own table: [[kind.rules]]",
                _ => "write each rule as its own table: [[controller.rules]]",
            },
            Self::Marked => {
                "keep the changes of both sides, with a [[kind]] table for each kind; then run `cargo operator regenerate`"
            }
            Self::Format(format) if *format > FORMAT => "install a newer cargo-operator",
            Self::Format(_) => "write `format = 1`",
            Self::Name(_) => {
                "use lower-case letters, digits and `-`, starting with a letter, and no word that Rust, cargo, Windows or a dependency has: `my-operator`"
            }
            Self::TwiceModule(_) => {
                "give one of the kinds another module name with `as` (--as NAME)"
            }
            Self::ControllerModule(..) => "choose another `name` (--as NAME)",
            Self::ControllerName(_) => {
                "use at most 50 lower-case letters, digits and `-`, beginning with a letter and with a letter after each `-`: `pod-printer`"
            }
            Self::Twice(..) => "remove or rename one of the two",
            Self::Word(_) => "use letters, digits and . _ - / : @ + ~",
            Self::Module(_) => "use lower-case letters, digits and `_`, beginning with a letter",
            Self::NoVersions(_) => "list those that get types: `versions = [\"v1\"]`",
            Self::NoKustomize => {
                "add it to the list: the tests and `cargo operator dev` read manifests/"
            }
            Self::OlmVersion(_) => {
                "choose one, in small letters and without `+`: cargo operator gen-manifests --image NAME:0.2.0"
            }
            Self::OlmName { .. } => {
                "choose a shorter tag: OLM labels objects with the name of the operator and its version"
            }
            Self::OlmEnsuresCrds => {
                "remove `ensure-crds`: the operator would take back the conversion that OLM adds to the CRDs; or remove \"olm\" from `packaging`"
            }
            Self::NoNamespaces => "write \"all\", \"own\" or at least one name",
            Self::Namespace(_) => "use at most 63 lower-case letters, digits and `-`",
            Self::Image(_) => IMAGE_HELP,
            Self::Rule { key, .. } => match *key {
                "verbs" => "list what it permits: `verbs = [\"get\"]`",
                "resources" => "list the resources by their plurals: `resources = [\"pods\"]`",
                _ => {
                    "list the groups of the resources: `apiGroups = [\"apps\"]`, or `[\"\"]` for the core group"
                }
            },
            Self::Webhook { problem, .. } => problem.help(),
            Self::Deployment { problem, .. } => problem.help(),
            Self::WebhookModule(..) | Self::WebhookTest(..) => {
                "give it another module name with `as`"
            }
            Self::Newer(_) => "install that version, or change `tool` if you mean to go back",
            Self::Tool(_) => {
                "write the version that last generated the project: `tool = \"0.1.0\"`"
            }
            Self::NoWorkspace(_) => {
                "write the relative path of the folder, or remove the key for a project that is no member"
            }
            Self::SpecPath(..) => "move it to crds/<plural>.<group>.yaml",
        }
    }
}

impl Config {
    /// Checks everything on which the rest of the program relies. A command that changes the config calls this again.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !is_package_name(&self.name) {
            return Err(ConfigError::Name(self.name.clone()));
        }
        let words = self.runtime.words().into_iter().chain(&self.workspace);
        let mut words = words.chain([&self.tool]);
        if let Some(word) = words.find(|word| !is_plain(word)) {
            return Err(ConfigError::Word(word.clone()));
        }
        if let Namespaces::Listed(names) = &self.namespaces {
            if names.is_empty() {
                return Err(ConfigError::NoNamespaces);
            }
            if let Some(name) = names.iter().find(|name| !is_label(name)) {
                return Err(ConfigError::Namespace(name.clone()));
            }
        }
        if let Some(image) = self.image.as_ref().filter(|image| !is_image(image)) {
            return Err(ConfigError::Image(image.clone()));
        }
        if !self.packaging.contains(&Packaging::Kustomize) {
            return Err(ConfigError::NoKustomize);
        }
        self.check_bundle()?;
        if let Some((place, problem)) = deployment::problem(&self.deployment) {
            let problem = problem.into();
            return Err(ConfigError::Deployment { place, problem });
        }
        for (index, kind) in self.kinds.iter().enumerate() {
            if kind.versions.is_empty() {
                return Err(ConfigError::NoVersions(kind.full_name()));
            }
            check_rules("kind", index, kind.full_name(), &kind.rules)?;
            let earlier = &self.kinds[..index];
            if earlier
                .iter()
                .any(|other| other.full_name() == kind.full_name())
            {
                return Err(ConfigError::Twice("kind", kind.full_name()));
            }
            if earlier.iter().any(|other| other.spec == kind.spec) {
                return Err(ConfigError::Twice("spec", kind.spec.clone()));
            }
            if earlier
                .iter()
                .any(|other| other.module_name() == kind.module_name())
            {
                return Err(ConfigError::TwiceModule(kind.module_name()));
            }
            if !is_module_name(&kind.module_name()) {
                return Err(ConfigError::Module(kind.module_name()));
            }
            let mut versions = kind.versions.iter().enumerate();
            if let Some((_, version)) =
                versions.find(|(at, version)| kind.versions[..*at].contains(version))
            {
                return Err(ConfigError::Twice("version", version.clone()));
            }
            let file = kind.spec.strip_prefix("crds/");
            if !file
                .is_some_and(|file| is_plain(file) && !file.contains('/') && !file.starts_with('.'))
            {
                return Err(ConfigError::SpecPath(kind.spec.clone(), kind.kind.clone()));
            }
        }
        self.check_controllers()?;
        self.check_webhooks()
    }

    /// Checks what OLM could not install.
    fn check_bundle(&self) -> Result<(), ConfigError> {
        if !self.packaging.contains(&Packaging::Olm) {
            return Ok(());
        }
        if self.ensure_crds {
            return Err(ConfigError::OlmEnsuresCrds);
        }
        let Some(image) = self.image.clone() else {
            return Ok(());
        };
        let Some(version) = Image::of(&image).version() else {
            return Err(ConfigError::OlmVersion(image));
        };
        // the value of a label
        let name = format!("{}.v{version}", self.name);
        match name.len() {
            ..=63 => Ok(()),
            _ => Err(ConfigError::OlmName { image, name }),
        }
    }

    fn check_controllers(&self) -> Result<(), ConfigError> {
        for (index, controller) in self.controllers.iter().enumerate() {
            let NamedController { name, rules, .. } = controller;
            if !is_controller_name(name) {
                return Err(ConfigError::ControllerName(name.clone()));
            }
            let mut earlier = self.controllers[..index].iter();
            if earlier.any(|other| other.name == *name) {
                return Err(ConfigError::Twice("controller", name.clone()));
            }
            let module = controller.module_name();
            // the name of a kind's own controller is the kind in lower case
            let is_like = |kind: &&Kind| {
                let is_alike = kind.module_name() == module || kind.kind.to_lowercase() == *name;
                kind.has_controller() && is_alike
            };
            if let Some(kind) = self.kinds.iter().find(is_like) {
                return Err(ConfigError::ControllerModule(
                    name.clone(),
                    kind.full_name(),
                ));
            }
            check_rules("controller", index, name.clone(), rules)?;
        }
        Ok(())
    }
}

impl Config {
    /// Checks the webhooks, and that each module and each test has one user.
    fn check_webhooks(&self) -> Result<(), ConfigError> {
        let kinds = self.kinds.iter().enumerate();
        let kinds = kinds.map(|(index, kind)| {
            let (module, subject) = (kind.module_name(), kind.full_name());
            ("kind", index, module, subject, &kind.webhooks)
        });
        let tables = self.webhooks.iter().enumerate();
        let tables = tables.map(|(index, table)| {
            let (module, subject) = (table.module_name(), table.kind.clone());
            ("webhook", index, module, subject, &table.webhooks)
        });
        let mut modules: Vec<(String, String)> = vec![];
        for (table, index, module, subject, webhooks) in kinds.chain(tables) {
            if let Some((place, problem)) = webhook_check::problem(table, index, webhooks) {
                return Err(ConfigError::Webhook {
                    place,
                    subject,
                    problem: problem.into(),
                });
            }
            if webhooks.is_empty() {
                continue;
            }
            if !is_module_name(&module) {
                return Err(ConfigError::Module(module));
            }
            if modules.iter().any(|(_, known)| *known == subject) {
                return Err(ConfigError::Twice("[[webhook]] of", subject));
            }
            if let Some((_, other)) = modules.iter().find(|(known, _)| *known == module) {
                return Err(ConfigError::WebhookModule(module, subject, other.clone()));
            }
            let test = format!("{module}_webhook");
            if let Some(other) = self.controller_of_module(&test) {
                return Err(ConfigError::WebhookTest(test, subject, other));
            }
            modules.push((module, subject));
        }
        Ok(())
    }

    /// What has a controller with this module.
    fn controller_of_module(&self, module: &str) -> Option<String> {
        let mut kinds = self.kinds.iter();
        let kind = kinds.find(|kind| kind.has_controller() && kind.module_name() == module);
        let mut named = self.controllers.iter();
        let named = named.find(|controller| controller.module_name() == module);
        let named = named.map(|controller| controller.name.clone());
        kind.map(Kind::full_name).or(named)
    }
}

/// Checks that each rule names what it permits: roles have no rule without one of these keys.
fn check_rules(
    table: &'static str,
    index: usize,
    subject: String,
    rules: &[Rule],
) -> Result<(), ConfigError> {
    for (number, rule) in rules.iter().enumerate() {
        let keys = [
            ("apiGroups", &rule.api_groups),
            ("resources", &rule.resources),
            ("verbs", &rule.verbs),
        ];
        if let Some((key, _)) = keys.into_iter().find(|(_, names)| names.is_empty()) {
            return Err(ConfigError::Rule {
                table,
                index,
                number,
                subject,
                key,
            });
        }
    }
    Ok(())
}
