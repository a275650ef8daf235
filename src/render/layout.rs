//! The list of the files of a project, with their owners.

use k8s_openapi::api::rbac::v1::PolicyRule;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use serde_json::Value;

use super::{
    RenderError, cargo_lock,
    fault_test::{self, Case},
    generated_test::{self, Typed},
    operator::{Made, Samples, made_of, operator},
    registry::{self, Registry, Watched},
    sample::{builtin_sample, sample},
    vendor,
};
use crate::{
    crd::{Api, Conversion},
    diagnostic::{Code, Diagnostic, Severity},
    manifests,
    package::kustomize,
    plan::Tree,
    project::{
        Controller, Kind, NamedController, Namespaces, Owner, Project, ResourceType, Rule, Runtime,
        Source, ToolSource,
    },
    rust::version_module,
    rustfmt::{is_wide, version_order},
    scaffold::{Existing, Scaffold, Subject, existing_files},
    template::{fill, plain},
    types,
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
    let files: Vec<_> = kinds
        .par_iter()
        .map(|(kind, api)| {
            let mut files = Rendered::default();
            let made = kind_files(&mut files, project, kind, api, &all)?;
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
        let sample = match made_of(project, controller, &made) {
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
        runtime: vendor::dependency("operator-runtime", &state.runtime),
        testing: vendor::dependency("operator-testing", &state.runtime),
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
                let module = kind.module_name();
                KindNames { module, versions }
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
        foreign_specs: fault_test::foreign_specs(&all),
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
    if !ensured.is_empty() {
        let crds: Vec<_> = ensured.iter().map(|api| api.definition()).collect();
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
    if let Some(text) = fault_test::text(project, &all, cases)? {
        tree.insert("tests/faults.rs", Owner::Tool, text);
    }
    if samples.0.iter().any(|(_, sample)| sample.is_some()) {
        let path = "tests/support/mod.rs";
        tree.insert(path, Owner::Tool, fill(&format!("{path}.j2"), &whole));
        let path = "tests/support/flags.rs";
        tree.insert(path, Owner::User, plain(path));
    }
    vendor::add(tree, &state.runtime);
    let operator = operator(project, &all, &made, samples)?;
    for (path, text) in
        kustomize::files(&operator, manifests::manifests(&operator), &project.removed)?
    {
        tree.insert(path, Owner::Tool, text);
    }
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

/// The files of one kind.
fn kind_files(
    rendered: &mut Rendered,
    project: &Project,
    kind: &Kind,
    api: &Api,
    controllers: &[Controller<'_>],
) -> Result<Made, RenderError> {
    let module = kind.module_name();
    let name = kind.full_name();
    let mut say = |diagnostics: Vec<Diagnostic>| {
        rendered
            .diagnostics
            .extend(diagnostics.into_iter().map(|it| (name.clone(), it)))
    };
    let mut made = Made::default();
    let spec = format!("{SPECS}{}.yaml", api.name());
    rendered.tree.insert(spec, Owner::Tool, api.text.as_str());
    for version_name in &kind.versions {
        let version = api
            .version(version_name)
            .ok_or_else(|| RenderError::Version {
                kind: kind.kind.clone(),
                version: version_name.clone(),
            })?;
        let module_of_version = types::module(api, version, kind.schema);
        say(module_of_version.diagnostics);
        let mut typed = Typed {
            module: module.clone(),
            version: version_module(version_name),
            root: module_of_version.facts.root.clone(),
            spec: kind.spec.clone(),
            sample: None,
        };
        let is_reconciled = |controller: &Controller<'_>| {
            let definition = controller.definition.map(|(kind, _)| kind.full_name());
            definition.as_ref() == Some(&name) && controller.resource.version == *version_name
        };
        let mut reconciling = controllers.iter().filter(|it| is_reconciled(it));
        if let Some(controller) = reconciling.next() {
            match sample(api, version) {
                Ok(sample) => made.sample = Some(sample),
                Err(diagnostic) => say(vec![diagnostic]),
            }
            typed.sample = made
                .sample
                .as_ref()
                .and_then(|_| sample_file(project, &controller.resource));
        }
        if let Some(scaffold) = kind.scaffold.filter(|_| version.storage) {
            made.has_status = version.status_subresource;
            if scaffold != Scaffold::first() {
                let owns = kind.owns.iter().map(|owned| format!("{}\n", owned.kind));
                let path = format!("{STYLES}{}/{module}", scaffold.name);
                rendered
                    .tree
                    .insert(path, Owner::Tool, owns.collect::<String>());
            }
            let files = (scaffold.files)(&Subject {
                operator: &project.state.name,
                module: module.clone(),
                in_namespaces: project.state.namespaces != Namespaces::All,
                cleanup: kind.cleanup,
                api,
                facts: &module_of_version.facts,
                sample: made.sample.as_ref(),
                fill,
            });
            let rule = |resource: String, verb: &str| PolicyRule {
                api_groups: Some(vec![api.group.clone()]),
                resources: Some(vec![resource]),
                verbs: vec![verb.to_owned()],
                ..PolicyRule::default()
            };
            let plural = &api.names.plural;
            let mut unused = vec![];
            if made.has_status && !files.writes_status {
                // The example knows no field of the status.
                unused.push(rule(format!("{plural}/status"), "patch"));
            }
            if made.has_status && kind.cleanup && kind.owns.is_empty() && !scaffold.has_provider {
                // To see whether the object still exists when its status cannot be written: the tests remove no object with a finalizer then.
                unused.push(rule(plural.clone(), "get"));
            }
            for controller in controllers.iter().filter(|it| is_reconciled(it)) {
                let watched = Watched::of(controller, &project.apis)?;
                let case = Case::new(controller, &watched, typed.sample.clone());
                made.case = Some(case.with_unused(unused.clone()));
            }
            rendered.tree.insert(
                format!("src/controllers/{module}.rs"),
                Owner::User,
                files.controller,
            );
            if made.sample.is_some() {
                rendered
                    .tree
                    .insert(format!("tests/{module}.rs"), Owner::User, files.test);
            }
        }
        made.typed.push(typed);
        let text = format!("{HEADER}{}", module_of_version.text);
        if is_wide(&text) {
            made.wide.push(version_module(version_name));
        }
        rendered.tree.insert(
            format!("src/api/{module}/{}.rs", version_module(version_name)),
            Owner::Tool,
            text,
        );
        rendered.tree.insert(
            format!("{RECORD}{module}/{}", version_module(version_name)),
            Owner::Tool,
            module_of_version.facts.record(),
        );
    }
    if kind.source() == Source::Own && api.conversion == Conversion::Webhook {
        rendered.diagnostics.push((
            name,
            Diagnostic {
                code: Code::ConversionNotServed,
                severity: Severity::Warning,
                pointer: "/spec/conversion".into(),
                message: "the spec asks for a conversion webhook".into(),
                instead: Some("the operator does not serve it".into()),
                help: Some("serve one version and set `strategy: None`, or run the webhook beside the operator".into()),
            },
        ));
    }
    Ok(made)
}

/// The file in `manifests/samples/`, unless the user deleted it.
fn sample_file(project: &Project, resource: &ResourceType) -> Option<String> {
    let file = format!("{}.yaml", resource.name());
    let path = format!("manifests/samples/{file}");
    (!project.removed.contains(&path)).then_some(file)
}

/// The files of a controller that has a name, and how it is tested.
fn named_files(
    tree: &mut Tree,
    project: &Project,
    controller: &Controller<'_>,
    named: &NamedController,
    made: &[Made],
    sample: Option<&Value>,
) -> Result<Case, RenderError> {
    let resource = &controller.resource;
    let (types, root) = match controller.api_module() {
        None => controller.foreign_type().unwrap_or_default(),
        Some(module) => {
            let mut typed = made.iter().flat_map(|made| &made.typed);
            let typed = typed.find(|it| format!("{}::{}", it.module, it.version) == module);
            let root = typed.map(|typed| typed.root.clone()).unwrap_or_default();
            (format!("crate::api::{module}"), root)
        }
    };
    let file = sample.and_then(|_| sample_file(project, resource));
    let finalizer = controller.finalizer(&project.state.name);
    let files = existing_files(&Existing {
        operator: &project.state.name,
        name: &named.name,
        module: &controller.module,
        types,
        root,
        kind: &resource.kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        in_namespaces: project.state.namespaces != Namespaces::All,
        finalizer: controller.cleanup.then_some(finalizer),
        metadata: controller.watches_metadata(),
        sample: file.as_deref(),
        fill,
    });
    tree.insert(controller.path(), Owner::User, files.controller);
    if let Some(test) = files.test {
        let path = format!("tests/{}.rs", controller.module);
        tree.insert(path, Owner::User, test);
    }
    let watched = Watched::of(controller, &project.apis)?;
    Ok(Case::new(controller, &watched, file))
}

const HEADER: &str =
    "// Generated by `cargo operator regenerate` from the CRD in crds/. Do not edit.\n";

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
