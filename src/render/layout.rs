//! The list of the files of a project, with their owners.

use k8s_openapi::api::rbac::v1::PolicyRule;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;

use super::{
    RenderError, cargo_lock,
    conversion::{Converted, conversion_tests},
    fault_test::{self, Case},
    generated_test,
    kind_files::{kind_files, named_files},
    operator::{Samples, made_of, operator},
    registry::{self, Registry},
    sample::builtin_sample,
    vendor,
    webhook_files::{add_webhook_files, webhook_host},
};
use crate::{
    crd::Api,
    diagnostic::Diagnostic,
    manifests::{self, conversion_stanza},
    package::kustomize,
    plan::Tree,
    project::{Controller, Kind, Owner, Project, Rule, Runtime, Source, ToolSource},
    rust::version_module,
    rustfmt::version_order,
    scaffold::Scaffold,
    template::{fill, plain},
};

/// The folder with the records of the types of fields.
pub const RECORD: &str = ".operator/types/";

/// The folder with the specs from which the project was last generated, with which changed specs are compared.
pub const SPECS: &str = ".operator/specs/";

/// For each scaffold but the first, a folder with a file for each kind whose controller was generated from it; the file lists what the kind
/// owns.
pub const STYLES: &str = ".operator/scaffolds/";

/// The files of a project, and their diagnostics.
#[derive(Clone, Debug, Default)]
pub struct Rendered {
    pub tree: Tree,
    /// The diagnostics, by the kind (`KIND.GROUP`) or the project's name.
    pub diagnostics: Vec<(String, Diagnostic)>,
    /// The kinds with conversions.
    pub converted: Vec<Converted>,
}

/// The values for the templates of the whole project.
#[derive(Serialize)]
struct Whole<'a> {
    name: &'a str,
    crate_name: String,
    members: &'static str,
    runtime: String,
    testing: String,
    kinds: Vec<KindNames>,
    /// Those that have a controller.
    kind_names: String,
    /// The CRDs that the manifests do not install, as a statement of the tests; empty where there are none.
    foreign_specs: String,
    controllers: Vec<String>,
    has_controllers: bool,
    /// The methods that controllers of each scaffold have, with a rule for AGENTS.md.
    methods: String,
    rules: Vec<&'static str>,
    registry: Registry,
    /// Whether the operator applies its own CRDs.
    ensures_crds: bool,
    /// Whether the operator serves webhooks, and under which host.
    has_webhooks: bool,
    webhook_host: String,
    tool: &'a str,
    installs_tool: bool,
    /// The arguments for `cargo install` that install this tool.
    tool_install: String,
    vendored: bool,
    /// Whether the tests need flags from the user.
    flags: bool,
    watched_namespaces: String,
}

#[derive(Serialize)]
struct KindNames {
    module: String,
    /// Whether the kind has conversions, and whether rustfmt must skip their module.
    is_converted: bool,
    is_skipped: bool,
    versions: Vec<VersionName>,
}

#[derive(Serialize)]
struct VersionName {
    module: String,
    /// Whether rustfmt must skip the module.
    is_skipped: bool,
}

/// Generates all files of a project.
pub fn render(project: &Project) -> Result<Rendered, RenderError> {
    let state = &project.state;
    let mut rendered = Rendered::default();
    let mut made = vec![];
    let kinds: Vec<(&Kind, &Api)> = project.kinds().collect();
    let all = project.controllers()?;
    let admissions = project.admissions()?;
    let files: Vec<_> = kinds
        .par_iter()
        .map(|(kind, api)| {
            let mut files = Rendered::default();
            let made = kind_files(&mut files, project, kind, api, &all, &admissions)?;
            Ok::<_, RenderError>((files, made))
        })
        .collect();
    for files in files {
        let (files, of_kind) = files?;
        rendered.diagnostics.extend(files.diagnostics);
        rendered.tree.extend(files.tree);
        made.push(of_kind);
    }
    let tree = &mut rendered.tree;
    let mut cases: Vec<Case> = made.iter().filter_map(|made| made.case.clone()).collect();
    let mut samples = Samples::default();
    for controller in &all {
        let sample = match made_of(project, controller.definition, &made) {
            Some(made) => made.sample.clone(),
            None => builtin_sample(&controller.resource),
        };
        if let Some(named) = controller.named() {
            let sample = sample.as_ref();
            cases.push(named_files(
                tree, project, controller, named, &made, sample,
            )?);
        }
        samples.add(&controller.resource, sample);
    }
    let admitted: Vec<_> = admissions
        .iter()
        .map(
            |admission| match made_of(project, admission.definition, &made) {
                Some(made) => made.sample.clone(),
                None => builtin_sample(&admission.resource),
            },
        )
        .collect();
    for (admission, sample) in admissions.iter().zip(&admitted) {
        samples.add(&admission.resource, sample.clone());
    }
    add_webhook_files(tree, project, &admissions, &made, &admitted);
    let has_webhooks = project.has_webhooks();
    let vendored = state.runtime == Runtime::Vendored;
    let mut controllers: Vec<String> = all.iter().map(|it| it.module.clone()).collect();
    controllers.sort_by(|a, b| version_order(a, b));
    let scaffolds = scaffolds(&all);
    let ensured: Vec<&Api> = ensured_crds(project).collect();
    let whole = Whole {
        methods: scaffolds
            .iter()
            .map(|scaffold| format!("`{}`", scaffold.interface.wanted.method))
            .collect::<Vec<_>>()
            .join(" or "),
        rules: scaffolds.iter().map(|scaffold| scaffold.rule).collect(),
        name: &state.name,
        crate_name: state.name.replace('-', "_"),
        members: if vendored {
            "members = [\"crates/*\"]"
        } else {
            ""
        },
        runtime: vendor::dependency(
            "operator-runtime",
            &state.runtime,
            if has_webhooks { &["webhook"] } else { &[] },
        ),
        testing: vendor::dependency(
            "operator-testing",
            &state.runtime,
            if has_webhooks { &["cel"] } else { &[] },
        ),
        has_webhooks,
        webhook_host: webhook_host(&state.name),
        kinds: project
            .kinds()
            .zip(&made)
            .map(|((kind, _), made)| {
                let versions = kind.versions.iter().map(|version| {
                    let module = version_module(version);
                    let is_skipped = made.wide.contains(&module);
                    VersionName { module, is_skipped }
                });
                let mut versions: Vec<VersionName> = versions.collect();
                versions.sort_by(|a, b| version_order(&a.module, &b.module));
                KindNames {
                    module: kind.module_name(),
                    is_converted: made.converted.is_some(),
                    is_skipped: made.converted.as_ref().is_some_and(|it| it.is_wide),
                    versions,
                }
            })
            .collect(),
        kind_names: {
            let mut names: Vec<&str> = vec![];
            for controller in &all {
                let name = controller.resource.kind.as_str();
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            enumeration(names.into_iter())
        },
        has_controllers: !controllers.is_empty(),
        controllers,
        foreign_specs: fault_test::foreign_specs(&all, &admissions),
        registry: registry::registry(project, made.iter().flat_map(|made| &made.typed))?,
        ensures_crds: !ensured.is_empty(),
        tool: &state.tool,
        installs_tool: state.tool_source != ToolSource::None,
        tool_install: match &state.tool_source {
            ToolSource::None => String::new(),
            ToolSource::Registry => format!("cargo-operator --version {}", state.tool),
            ToolSource::Git { url, rev } => format!("--git {url} --rev {rev} cargo-operator"),
            ToolSource::Path(path) => format!("--path {path}"),
        },
        vendored,
        flags: !project.removed.contains("tests/support/flags.rs"),
        watched_namespaces: fault_test::watched_namespaces(&state.namespaces),
    };
    for (path, owner) in [
        ("src/main.rs", Owner::User),
        ("src/lib.rs", Owner::User),
        ("src/api/mod.rs", Owner::Tool),
        ("src/controllers/mod.rs", Owner::Tool),
        ("Cargo.toml", Owner::Keys),
        ("README.md", Owner::Merged),
        ("Dockerfile", Owner::Merged),
        (".github/workflows/ci.yaml", Owner::Merged),
        (".gitattributes", Owner::Merged),
        ("AGENTS.md", Owner::Merged),
        (".vscode/launch.json", Owner::User),
    ] {
        tree.insert(path, owner, fill(&format!("{path}.j2"), &whole));
    }
    let has_samples = samples.0.iter().any(|(_, sample)| sample.is_some());
    let operator = operator(project, &all, &admissions, &made, samples)?;
    if !ensured.is_empty() {
        let crds = ensured.iter().map(|api| {
            let mut definition = api.definition();
            let converted = operator.webhooks.iter().flat_map(|it| &it.converted);
            if converted.into_iter().any(|name| *name == api.name()) {
                definition["spec"]["conversion"] = conversion_stanza(&state.name);
            }
            definition
        });
        let crds: Vec<_> = crds.collect();
        let crds = serde_json::to_string_pretty(&crds).expect("values with string keys");
        tree.insert("src/controllers/crds.json", Owner::Tool, crds + "\n");
    }
    for path in [".gitignore", ".dockerignore", "deny.toml"] {
        tree.insert(path, Owner::Merged, plain(path));
    }
    tree.insert("Cargo.lock", Owner::User, cargo_lock::lock(&state.name));
    tree.insert(
        "tests/generated.rs",
        Owner::Tool,
        generated_test::text(project, made.iter().flat_map(|made| &made.typed)),
    );
    let converted: Vec<&Converted> = made.iter().filter_map(|it| it.converted.as_ref()).collect();
    if let Some(text) = conversion_tests(&whole.crate_name, &converted) {
        tree.insert("tests/conversions.rs", Owner::Tool, text);
    }
    if let Some(text) = fault_test::text(project, &all, &admissions, cases)? {
        tree.insert("tests/faults.rs", Owner::Tool, text);
    }
    if has_samples {
        let path = "tests/support/mod.rs";
        tree.insert(path, Owner::Tool, fill(&format!("{path}.j2"), &whole));
        let path = "tests/support/flags.rs";
        tree.insert(path, Owner::User, plain(path));
    }
    vendor::add(tree, &state.runtime);
    for (path, text) in
        kustomize::files(&operator, manifests::manifests(&operator), &project.removed)?
    {
        tree.insert(path, Owner::Tool, text);
    }
    rendered.converted = made.into_iter().filter_map(|it| it.converted).collect();
    Ok(rendered)
}

/// The CRDs that the operator applies itself.
pub(super) fn ensured_crds(project: &Project) -> impl Iterator<Item = &Api> {
    let kinds = project.kinds();
    let own = kinds.filter(|(kind, _)| kind.source() == Source::Own);
    let is_on = project.state.ensure_crds;
    own.map(|(_, api)| api).filter(move |_| is_on)
}

/// Joins texts: `A`, `A and B`, or `A, B and C`.
fn enumeration<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.as_slice() {
        [earlier @ .., last] if !earlier.is_empty() => format!("{} and {last}", earlier.join(", ")),
        names => names.concat(),
    }
}

/// The scaffolds of a project's controllers, or the default scaffold if it has none.
fn scaffolds(controllers: &[Controller<'_>]) -> Vec<&'static Scaffold> {
    let has = |scaffold: &&Scaffold| controllers.iter().any(|it| it.scaffold == *scaffold);
    let scaffolds: Vec<_> = Scaffold::all().filter(has).collect();
    match scaffolds.is_empty() {
        true => vec![Scaffold::first()],
        false => scaffolds,
    }
}

/// Formats a rule as in a role.
pub(super) fn policy_rule(rule: &Rule) -> PolicyRule {
    let some = |list: &[String]| (!list.is_empty()).then(|| list.to_vec());
    PolicyRule {
        api_groups: some(&rule.api_groups),
        resources: some(&rule.resources),
        resource_names: some(&rule.resource_names),
        verbs: rule.verbs.clone(),
        ..PolicyRule::default()
    }
}
