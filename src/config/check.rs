//! Checks the rules for `operator.toml` that the rest of the program relies on.

use std::{fmt, ops::Range};

use super::{
    deployment::{self, DeploymentProblem},
    image::{IMAGE_HELP, Image, is_image},
    name::{is_controller_name, is_label, is_module_name, is_package_name, is_plain},
    place::Place,
    rule::Rule,
    table::{Config, FORMAT, Kind, NamedController, Namespaces, Packaging},
    webhook_check::{self, WebhookProblem},
};
use crate::diagnostic::Explain;

/// A mistake in `operator.toml`, with its place and its cure.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct ConfigError {
    pub place: ErrorPlace,
    pub message: String,
    pub help: String,
}

/// The place of a mistake.
#[derive(Clone, Debug)]
pub enum ErrorPlace {
    Value(Place),
    /// The bytes of a text that cannot be read.
    Bytes(Range<usize>),
}

/// A mistake in `operator.toml`, without its place.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ConfigProblem {
    #[error("{0}")]
    Invalid(String),
    #[error("`{0}` is one table, but operator.toml has a list of them")]
    NotAList(&'static str),
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
    #[error("the name of the bundle, `{0}`, has more than 63 characters")]
    OlmName(String),
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
        /// The kind or the controller with the rule.
        subject: String,
        /// The key that is missing or empty.
        key: &'static str,
    },
    #[error("[deployment]: {0}")]
    Deployment(Box<DeploymentProblem>),
    #[error("{subject}: {problem}")]
    Webhook {
        /// The kind with the webhook.
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
    #[error("the CRD `{0}` of {1} is outside of the folder crds/")]
    CrdPath(String, String),
}

impl ConfigProblem {
    pub fn at(&self, place: Place) -> ConfigError {
        ConfigError::at(place, self, self.help())
    }

    pub fn at_bytes(&self, range: Range<usize>) -> ConfigError {
        ConfigError {
            place: ErrorPlace::Bytes(range),
            ..self.at(Place::default())
        }
    }

    fn help(&self) -> &'static str {
        match self {
            Self::Invalid(_) => concat!(
                env!("CARGO_PKG_REPOSITORY"),
                "/blob/main/docs/operator-toml.md lists the keys"
            ),
            Self::NotAList(key) => match *key {
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
            Self::OlmName(_) => {
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
            Self::Deployment(problem) => problem.help(),
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
            Self::CrdPath(..) => "move it to crds/<plural>.<group>.yaml",
        }
    }
}

impl Explain for ConfigError {
    fn help(&self) -> String {
        self.help.clone()
    }
}

impl ConfigError {
    pub fn at(place: Place, message: impl fmt::Display, help: impl Into<String>) -> Self {
        Self {
            place: ErrorPlace::Value(place),
            message: message.to_string(),
            help: help.into(),
        }
    }

    /// The range of the mistake in the text, in bytes; `None` if the text does not have the value.
    pub fn range(&self, text: &str) -> Option<Range<usize>> {
        match &self.place {
            ErrorPlace::Value(place) => place.range(text),
            ErrorPlace::Bytes(range) => Some(range.clone()),
        }
    }
}

impl Config {
    /// Returns all mistakes. The rest of the program relies on their absence, so a command that changes the config checks it again.
    pub fn check(&self) -> Result<(), Vec<ConfigError>> {
        let mut errors = vec![];
        self.check_settings(&mut errors);
        self.check_bundle(&mut errors);
        if let Some((place, problem)) = deployment::problem(&self.deployment) {
            errors.push(ConfigProblem::Deployment(problem.into()).at(place));
        }
        for (index, kind) in self.kinds.iter().enumerate() {
            self.check_kind(index, kind, &mut errors);
        }
        for (index, controller) in self.controllers.iter().enumerate() {
            self.check_controller(index, controller, &mut errors);
        }
        self.check_webhooks(&mut errors);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// Checks the keys of the whole project.
    fn check_settings(&self, errors: &mut Vec<ConfigError>) {
        if !is_package_name(&self.name) {
            errors.push(ConfigProblem::Name(self.name.clone()).at(Place::of("name")));
        }
        let runtime = self.runtime.words().into_iter().map(|it| ("runtime", it));
        let workspace = self.workspace.iter().map(|it| ("workspace", it));
        for (key, word) in runtime.chain(workspace).chain([("tool", &self.tool)]) {
            if !is_plain(word) {
                errors.push(ConfigProblem::Word(word.clone()).at(Place::of(key)));
            }
        }
        if let Namespaces::Listed(names) = &self.namespaces {
            let place = Place::of("namespaces");
            if names.is_empty() {
                errors.push(ConfigProblem::NoNamespaces.at(place.clone()));
            }
            for (index, name) in names.iter().enumerate().filter(|(_, it)| !is_label(it)) {
                let problem = ConfigProblem::Namespace(name.clone());
                errors.push(problem.at(place.clone().then(index)));
            }
        }
        if let Some(image) = self.image.as_ref().filter(|image| !is_image(image)) {
            errors.push(ConfigProblem::Image(image.clone()).at(Place::of("image")));
        }
        if !self.packaging.contains(&Packaging::Kustomize) {
            errors.push(ConfigProblem::NoKustomize.at(Place::of("packaging")));
        }
    }

    /// Checks what OLM could not install.
    fn check_bundle(&self, errors: &mut Vec<ConfigError>) {
        if !self.packaging.contains(&Packaging::Olm) {
            return;
        }
        if self.ensure_crds {
            errors.push(ConfigProblem::OlmEnsuresCrds.at(Place::of("ensure-crds")));
        }
        let Some(image) = self.image.as_ref().filter(|it| is_image(it)) else {
            return;
        };
        let problem = match Image::of(image).version() {
            None => ConfigProblem::OlmVersion(image.clone()),
            Some(version) => match format!("{}.v{version}", self.name) {
                // OLM labels objects with this name, and the value of a label has at most 63 characters
                name if name.len() <= 63 => return,
                name => ConfigProblem::OlmName(name),
            },
        };
        errors.push(problem.at(Place::of("image")));
    }

    fn check_kind(&self, index: usize, kind: &Kind, errors: &mut Vec<ConfigError>) {
        let place = Place::of("kind").then(index);
        let mut report = |problem: ConfigProblem, key: &str| {
            errors.push(problem.at(place.clone().then(key)));
        };
        let module = kind.module_name();
        let module_key = if kind.module.is_some() { "as" } else { "kind" };
        let earlier = &self.kinds[..index];
        if kind.versions.is_empty() {
            report(ConfigProblem::NoVersions(kind.full_name()), "versions");
        }
        if earlier.iter().any(|it| it.full_name() == kind.full_name()) {
            report(ConfigProblem::Twice("kind", kind.full_name()), "kind");
        } else if earlier.iter().any(|it| it.module_name() == module) {
            report(ConfigProblem::TwiceModule(module.clone()), module_key);
        }
        if earlier.iter().any(|it| it.crd == kind.crd) {
            report(ConfigProblem::Twice("CRD", kind.crd.clone()), "crd");
        }
        if !is_module_name(&module) {
            report(ConfigProblem::Module(module), module_key);
        }
        let is_file = |file: &str| is_plain(file) && !file.contains('/') && !file.starts_with('.');
        if !kind.crd.strip_prefix("crds/").is_some_and(is_file) {
            let problem = ConfigProblem::CrdPath(kind.crd.clone(), kind.kind.clone());
            report(problem, "crd");
        }
        for (at, version) in kind.versions.iter().enumerate() {
            if kind.versions[..at].contains(version) {
                let problem = ConfigProblem::Twice("version", version.clone());
                errors.push(problem.at(place.clone().then("versions").then(at)));
            }
        }
        check_rules(&place, &kind.full_name(), &kind.rules, errors);
    }

    /// Checks a `[[controller]]`, whose module and name must differ from those of all other controllers.
    fn check_controller(
        &self,
        index: usize,
        controller: &NamedController,
        errors: &mut Vec<ConfigError>,
    ) {
        let place = Place::of("controller").then(index);
        let (name, module) = (&controller.name, controller.module_name());
        // the name of a kind's own controller is the kind in lower case
        let is_like = |kind: &&Kind| {
            let is_alike = kind.module_name() == module || kind.kind.to_lowercase() == *name;
            kind.has_controller() && is_alike
        };
        let mut earlier = self.controllers[..index].iter();
        let problem = if !is_controller_name(name) {
            Some(ConfigProblem::ControllerName(name.clone()))
        } else if earlier.any(|other| other.name == *name) {
            Some(ConfigProblem::Twice("controller", name.clone()))
        } else {
            let kind = self.kinds.iter().find(is_like);
            kind.map(|kind| ConfigProblem::ControllerModule(name.clone(), kind.full_name()))
        };
        errors.extend(problem.map(|it| it.at(place.clone().then("name"))));
        check_rules(&place, name, &controller.rules, errors);
    }

    /// Checks the webhooks, and that no two kinds share a module or a test.
    fn check_webhooks(&self, errors: &mut Vec<ConfigError>) {
        let kinds = self.kinds.iter().enumerate().map(|(index, kind)| {
            let place = Place::of("kind").then(index);
            (
                place,
                false,
                kind.module_name(),
                kind.full_name(),
                &kind.webhooks,
            )
        });
        let tables = self.webhooks.iter().enumerate().map(|(index, table)| {
            let place = Place::of("webhook").then(index);
            (
                place,
                true,
                table.module_name(),
                table.kind.clone(),
                &table.webhooks,
            )
        });
        let mut modules: Vec<(String, String)> = vec![];
        for (place, is_own, module, subject, webhooks) in kinds.chain(tables) {
            for (place, problem) in webhook_check::problems(&place, is_own, webhooks) {
                let (subject, problem) = (subject.clone(), problem.into());
                errors.push(ConfigProblem::Webhook { subject, problem }.at(place));
            }
            if webhooks.is_empty() {
                continue;
            }
            let known = |module: &str| {
                modules
                    .iter()
                    .find(|(known, _)| known == module)
                    .map(|(_, subject)| subject.clone())
            };
            let test = format!("{module}_webhook");
            let problem = if !is_module_name(&module) {
                // the module of a [[kind]] is already checked with the kind
                is_own.then(|| ConfigProblem::Module(module.clone()))
            } else if modules.iter().any(|(_, known)| *known == subject) {
                Some(ConfigProblem::Twice("[[webhook]] of", subject.clone()))
            } else if let Some(other) = known(&module) {
                Some(ConfigProblem::WebhookModule(
                    module.clone(),
                    subject.clone(),
                    other,
                ))
            } else {
                let other = self.controller_of_module(&test);
                other.map(|other| ConfigProblem::WebhookTest(test, subject.clone(), other))
            };
            errors.extend(problem.map(|it| it.at(place.then("kind"))));
            modules.push((module, subject));
        }
    }

    /// The kind, or the name, of the controller with this module.
    fn controller_of_module(&self, module: &str) -> Option<String> {
        let kind = self
            .kinds
            .iter()
            .find(|kind| kind.has_controller() && kind.module_name() == module);
        let named = self
            .controllers
            .iter()
            .find(|controller| controller.module_name() == module)
            .map(|controller| controller.name.clone());
        kind.map(Kind::full_name).or(named)
    }
}

/// Checks that each rule has all required keys: the API server refuses a role with a rule that lacks one of them.
fn check_rules(table: &Place, subject: &str, rules: &[Rule], errors: &mut Vec<ConfigError>) {
    for (number, rule) in rules.iter().enumerate() {
        let keys = [
            ("apiGroups", &rule.api_groups),
            ("resources", &rule.resources),
            ("verbs", &rule.verbs),
        ];
        let missing = keys.into_iter().find(|(_, names)| names.is_empty());
        errors.extend(missing.map(|(key, _)| {
            let subject = subject.to_owned();
            let place = table.clone().then("rules").then(number).then(key);
            ConfigProblem::Rule { subject, key }.at(place)
        }));
    }
}
