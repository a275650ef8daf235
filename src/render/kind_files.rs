//! The files of one kind, and those of one controller that has a name.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::{
    RenderError,
    artifacts::{KindArtifacts, RECORD, Rendered, SPECS, STYLES},
    conversion::conversion_files,
    fault_test::Case,
    generated_test::Typed,
    registry::Watched,
    sample::{sample, unevaluated_rules},
};
use crate::{
    config::{Kind, NamedController, Namespaces, Source},
    conversion::different_versions,
    crd::{Api, Conversion},
    diagnostic::{Code, Diagnostic, Severity},
    operator::{Admission, Controller, Project, ResourceType, conversions},
    plan::{Owner, Tree},
    rust::{code::untouched, version_module},
    scaffold::{Existing, Scaffold, Subject, existing_files},
    template::fill,
    types,
};

/// The files of one kind.
pub fn kind_files(
    rendered: &mut Rendered,
    project: &Project,
    kind: &Kind,
    api: &Api,
    controllers: &[Controller<'_>],
    admissions: &[Admission<'_>],
) -> Result<KindArtifacts, RenderError> {
    let module = kind.module_name();
    let name = kind.full_name();
    let mut say = |diagnostics: Vec<Diagnostic>| {
        rendered
            .diagnostics
            .extend(diagnostics.into_iter().map(|it| (name.clone(), it)))
    };
    let mut made = KindArtifacts::default();
    let spec = format!("{SPECS}{}.yaml", api.name());
    rendered.tree.insert(spec, Owner::Tool, api.text.as_str());
    say(api.server_fields.diagnostic().into_iter().collect());
    say(api.warnings());
    let conversions = conversions(kind, api)?;
    let mut facts = vec![];
    for version_name in &kind.versions {
        let version = api
            .version(version_name)
            .ok_or_else(|| RenderError::Version {
                kind: kind.kind.clone(),
                version: version_name.clone(),
            })?;
        let file = version_module(version_name);
        let schema_file = format!("{file}.schema.json");
        let module_of_version = types::module_with_file(api, version, kind.schema, &schema_file);
        say(module_of_version.diagnostics);
        let mut typed = Typed {
            module: module.clone(),
            version: file.clone(),
            root: module_of_version.facts.root.clone(),
            spec: kind.spec.clone(),
            sample: None,
        };
        let is_reconciled = |controller: &Controller<'_>| {
            let definition = controller.definition.map(|(kind, _)| kind.full_name());
            definition.as_ref() == Some(&name) && controller.resource.version == *version_name
        };
        let mut reconciling = controllers.iter().filter(|it| is_reconciled(it));
        let mut admitted = admissions.iter().filter(|admission| {
            let definition = admission.definition.map(|(kind, _)| kind.full_name());
            definition.as_ref() == Some(&name) && admission.resource.version == *version_name
        });
        let resource = reconciling
            .next()
            .map(|controller| &controller.resource)
            .or_else(|| Some(&admitted.next()?.resource));
        if let Some(resource) = resource {
            typed.sample = sample_file(project, resource);
            made.sample = Some(match sample(api, version) {
                Ok(sample) => {
                    say(unevaluated_rules(version, &sample));
                    sample
                }
                Err(none) => {
                    let file = typed.sample.iter();
                    let file = file.map(|file| format!("manifests/samples/{file}"));
                    // the tests check one that the user wrote
                    let file = file.filter(|it| !project.adopted.contains(it));
                    say(file.map(|it| none.diagnostic(version, &it)).collect());
                    none.closest
                }
            });
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
                operator: &project.config.name,
                module: module.clone(),
                in_namespaces: project.config.namespaces != Namespaces::All,
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
                    .insert(format!("tests/all/{module}.rs"), Owner::User, files.test);
            }
        }
        made.typed.push(typed);
        let text = untouched(&format!("{HEADER}\n{}", module_of_version.text));
        let path = format!("src/api/{module}/{file}.rs");
        rendered.tree.insert(path, Owner::Tool, text);
        if let Some(text) = module_of_version.schema_file {
            let path = format!("src/api/{module}/{schema_file}");
            rendered.tree.insert(path, Owner::Tool, text);
        }
        rendered.tree.insert(
            format!("{RECORD}{module}/{file}"),
            Owner::Tool,
            module_of_version.facts.record(),
        );
        facts.push((version_name.clone(), module_of_version.facts));
    }
    if let Some(conversions) = &conversions {
        let converted = conversion_files(&mut rendered.tree, kind, api, conversions, &facts);
        made.converted = Some(converted);
    }
    if kind.source() == Source::Own && api.conversion == Conversion::Webhook {
        rendered.diagnostics.push((
            name,
            Diagnostic {
                code: Code::ConversionNotServed,
                severity: Severity::Warning,
                pointer: "/spec/conversion".into(),
                message: "the spec asks for a conversion webhook".into(),
                instead: Some(
                    match conversions {
                        Some(_) => "the CRD that is installed has the operator's webhook instead",
                        None => "the operator does not serve it",
                    }
                    .into(),
                ),
                help: Some(
                    match conversions {
                        Some(_) => "remove `conversion` from the spec, or `hub` from the kind in operator.toml",
                        None => "set `hub` of the kind in operator.toml, with all versions in `versions`, to derive the conversion, or serve one version and set `strategy: None`, or run the webhook beside the operator",
                    }
                    .into(),
                ),
            },
        ));
    }
    let is_unconverted = conversions.is_none() && api.conversion == Conversion::None;
    if kind.source() == Source::Own
        && is_unconverted
        && let Some([a, b]) = different_versions(api)
    {
        rendered.diagnostics.push((
            kind.full_name(),
            Diagnostic {
                code: Code::ConversionNotServed,
                severity: Severity::Warning,
                pointer: "/spec/versions".into(),
                message: format!("the schemas of {a} and {b} differ, and nothing converts between them"),
                instead: Some("the API server changes only apiVersion, and prunes fields that a version does not have".into()),
                help: Some(format!(
                    "set `hub = {:?}`{} in the kind's table in operator.toml to derive the conversion",
                    api.storage_version().name,
                    all_versions(kind, api)
                )),
            },
        ));
    }
    Ok(made)
}

/// Asks for `versions` with all versions of the CRD, because those that are converted need types. Empty if none is missing.
fn all_versions(kind: &Kind, api: &Api) -> String {
    let names = api.versions.iter().map(|version| &version.name);
    let missing: Vec<&String> = names.filter(|name| !kind.versions.contains(name)).collect();
    if missing.is_empty() {
        String::new()
    } else {
        let all: Vec<&String> = kind.versions.iter().chain(missing).collect();
        format!(" and `versions = {all:?}`")
    }
}

/// The file in `manifests/samples/`, unless the user deleted it.
pub(super) fn sample_file(project: &Project, resource: &ResourceType) -> Option<String> {
    let file = format!("{}.yaml", resource.name());
    let path = format!("manifests/samples/{file}");
    (!project.removed.contains(&path)).then_some(file)
}

/// The files of a controller that has a name, and how it is tested.
pub fn named_files(
    tree: &mut Tree,
    project: &Project,
    controller: &Controller<'_>,
    named: &NamedController,
    made: &[KindArtifacts],
    sample: Option<&Value>,
) -> Result<Case, RenderError> {
    let resource = &controller.resource;
    let (types, root) = match controller.api_module() {
        None => controller.foreign_type().unwrap_or_default(),
        Some(module) => {
            let typed = made
                .iter()
                .flat_map(|made| &made.typed)
                .find(|it| format!("{}::{}", it.module, it.version) == module);
            let root = typed.map(|typed| typed.root.clone()).unwrap_or_default();
            (format!("crate::api::{module}"), root)
        }
    };
    let file = sample.and_then(|_| sample_file(project, resource));
    let finalizer = controller.finalizer(&project.config.name);
    let files = existing_files(&Existing {
        operator: &project.config.name,
        name: &named.name,
        module: &controller.module,
        types,
        root,
        kind: &resource.kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        in_namespaces: project.config.namespaces != Namespaces::All,
        finalizer: controller.cleanup.then_some(finalizer),
        metadata: controller.watches_metadata(),
        sample: file.as_deref(),
        fill,
    });
    tree.insert(controller.path(), Owner::User, files.controller);
    if let Some(test) = files.test {
        let path = format!("tests/all/{}.rs", controller.module);
        tree.insert(path, Owner::User, test);
    }
    let watched = Watched::of(controller, &project.apis)?;
    Ok(Case::new(controller, &watched, file))
}

const HEADER: &str =
    "// Generated by `cargo operator regenerate` from the CRD in crds/. Do not edit.\n";
