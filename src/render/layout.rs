//! The list of the files of a project, with their owners.

use k8s_openapi::api::rbac::v1::PolicyRule;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde::Serialize;
use serde_json::Value;

use super::{
    RenderError, cargo_lock, fault_test,
    generated_test::{self, Typed},
    registry::{self, Registry, Watched},
    sample::sample,
    vendor,
};
use crate::{
    crd::{Api, Conversion},
    diagnostic::{Code, Diagnostic, Severity},
    manifests,
    package::kustomize,
    plan::Tree,
    project::{
        Kind, Namespaces, Owner, Project, ResourceType, Rule, Runtime, Source, State, ToolSource,
    },
    rust::version_module,
    rustfmt::{is_wide, version_order},
    scaffold::{Scaffold, Subject},
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
    kind_names: String,
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
    let files: Vec<_> = kinds
        .par_iter()
        .map(|(kind, api)| {
            let mut files = Rendered::default();
            let made = kind_files(&mut files, project, kind, api)?;
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
    let vendored = state.runtime == Runtime::Vendored;
    let controlled = || project.kinds().filter(|(kind, _)| kind.has_controller());
    let mut controllers: Vec<String> = controlled().map(|(kind, _)| kind.module_name()).collect();
    controllers.sort_by(|a, b| version_order(a, b));
    let scaffolds = scaffolds(state);
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
        kind_names: enumeration(controlled().map(|(kind, _)| kind.kind.as_str())),
        controllers,
        has_controllers: controlled().next().is_some(),
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
    if let Some(text) = fault_test::text(project, made.iter().flat_map(|made| &made.typed))? {
        tree.insert("tests/faults.rs", Owner::Tool, text);
    }
    if made.iter().any(|made| made.sample.is_some()) {
        let path = "tests/support/mod.rs";
        tree.insert(path, Owner::Tool, fill(&format!("{path}.j2"), &whole));
        let path = "tests/support/flags.rs";
        tree.insert(path, Owner::User, plain(path));
    }
    vendor::add(tree, &state.runtime);
    let operator = operator(project, &made)?;
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

/// The scaffolds of a project's kinds, or the default scaffold if it has no kinds.
fn scaffolds(state: &State) -> Vec<&'static Scaffold> {
    let has = |scaffold: &&Scaffold| {
        state
            .kinds
            .iter()
            .any(|kind| kind.scaffold == Some(scaffold))
    };
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
) -> Result<Made, RenderError> {
    let module = kind.module_name();
    let name = kind.full_name();
    let mut say = |diagnostics: Vec<Diagnostic>| {
        rendered
            .diagnostics
            .extend(diagnostics.into_iter().map(|it| (name.clone(), it)))
    };
    let mut made = Made::default();
    let watched = Watched::of(kind, &project.apis)?;
    let keeps: Vec<String> = watched.keeps.iter().map(ResourceType::name).collect();
    let owns = watched.owns.iter().zip(&kind.owns);
    let waiting = owns.filter(|(_, owned)| owned.update.waits_for_deletion());
    let waiting: Vec<String> = waiting.map(|((found, _), _)| found.name()).collect();
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
            fails: kind.sample_fails.clone(),
            has_provider: kind.scaffold.is_some_and(|scaffold| scaffold.has_provider),
            keeps: keeps.clone(),
            waiting: waiting.clone(),
            unused: None,
        };
        if let Some(scaffold) = kind.scaffold.filter(|_| version.storage) {
            match sample(api, version) {
                Ok(sample) => made.sample = Some(sample),
                Err(diagnostic) => say(vec![diagnostic]),
            }
            let file = format!("{}.yaml", api.name());
            let is_there = !project
                .removed
                .contains(&format!("manifests/samples/{file}"));
            typed.sample = made.sample.as_ref().filter(|_| is_there).map(|_| file);
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
            if made.has_status && !files.writes_status {
                typed.unused = Some(PolicyRule {
                    api_groups: Some(vec![api.group.clone()]),
                    resources: Some(vec![format!("{}/status", api.names.plural)]),
                    verbs: vec!["patch".to_owned()],
                    ..PolicyRule::default()
                });
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

/// The properties of a kind that files of the whole project need.
#[derive(Default)]
struct Made {
    typed: Vec<Typed>,
    /// The modules of versions that rustfmt must skip.
    wide: Vec<String>,
    sample: Option<Value>,
    has_status: bool,
}

const HEADER: &str =
    "// Generated by `cargo operator regenerate` from the CRD in crds/. Do not edit.\n";

fn operator(project: &Project, made: &[Made]) -> Result<manifests::Operator, RenderError> {
    let mut kinds = vec![];
    for ((kind, api), made) in project.kinds().zip(made) {
        let Watched {
            owns,
            watches,
            reads,
            keeps: _,
        } = Watched::of(kind, &project.apis)?;
        kinds.push(manifests::Kind {
            group: api.group.clone(),
            kind: api.names.kind.clone(),
            plural: api.names.plural.clone(),
            scope: api.scope,
            crd_path: kind.spec.clone(),
            installed: kind.source() == Source::Own,
            controlled: kind.has_controller(),
            finalizer: true,
            has_status: made.has_status,
            has_provider: kind.scaffold.is_some_and(|scaffold| scaffold.has_provider),
            owns,
            watches,
            reads,
            rules: kind.rules.iter().map(policy_rule).collect(),
            sample: made.sample.clone(),
        });
    }
    Ok(manifests::Operator {
        name: project.state.name.clone(),
        image: project.state.image.clone(),
        namespaces: project.state.namespaces.clone(),
        kinds,
        ensured_crds: ensured_crds(project).map(Api::name).collect(),
    })
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
