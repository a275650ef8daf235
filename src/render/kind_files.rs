//! The files of one kind, and those of one controller that has a name.

use k8s_openapi::api::rbac::v1::PolicyRule;

use super::{
    artifacts::{KindArtifacts, RECORD, Rendered, SPECS, STYLES, UserFiles},
    conversion::conversion_files,
    fault_test::Case,
    generated_test::Typed,
    sample::{sample, unevaluated_rules},
};
use crate::{
    config::{Kind, Namespaces, Source},
    conversion::different_versions,
    crd::{Api, Conversion},
    diagnostic::{Code, Diagnostic, Severity},
    operator::{Controller, DefinedKind, KindId, Operator, ResourceType, Subject},
    plan::{Owner, Tree},
    rust::{code::untouched, version_module},
    scaffold::{self, Existing, Scaffold, existing_files},
    template::fill,
    types,
};

/// The files of one kind.
pub fn kind_files(
    rendered: &mut Rendered,
    operator: &Operator<'_>,
    user_files: &UserFiles,
    kind: &DefinedKind<'_>,
) -> KindArtifacts {
    let DefinedKind {
        id,
        table,
        crd: api,
        conversions,
    } = kind;
    let module = table.module_name();
    let subject = Subject::Kind(*id);
    let mut say = |diagnostics: Vec<Diagnostic>| {
        let about = diagnostics.into_iter().map(|it| (subject, it));
        rendered.diagnostics.extend(about);
    };
    let mut made = KindArtifacts::default();
    let spec = format!("{SPECS}{}.yaml", api.name());
    rendered.tree.insert(spec, Owner::Tool, api.text.as_str());
    say(api.server_fields.diagnostic().into_iter().collect());
    say(api.warnings());
    let mut facts = vec![];
    for version_name in &table.versions {
        let version = api
            .version(version_name)
            .expect("resolved operators have known versions");
        let file = version_module(version_name);
        let schema_file = format!("{file}.schema.json");
        let module_of_version = types::module_with_file(api, version, table.schema, &schema_file);
        say(module_of_version.diagnostics);
        let mut typed = Typed {
            module: module.clone(),
            version: file.clone(),
            root: module_of_version.facts.root.clone(),
            spec: table.spec.clone(),
            sample: None,
        };
        let is_this = |kind: Option<KindId>, resource: &ResourceType| {
            kind == Some(*id) && resource.version == *version_name
        };
        let mut reconciling = operator
            .controllers
            .iter()
            .filter(|it| is_this(it.kind, &it.resource));
        let resource = reconciling
            .clone()
            .next()
            .map(|controller| &controller.resource)
            .or_else(|| {
                let mut admissions = operator.admissions.iter();
                let admission = admissions.find(|it| is_this(it.kind, &it.resource))?;
                Some(&admission.resource)
            });
        if let Some(resource) = resource {
            typed.sample = sample_file(user_files, resource);
            made.sample = Some(match sample(api, version) {
                Ok(sample) => {
                    say(unevaluated_rules(version, &sample));
                    sample
                }
                Err(none) => {
                    let file = typed.sample.iter();
                    let file = file.map(|file| format!("manifests/samples/{file}"));
                    // the tests check one that the user wrote
                    let file = file.filter(|it| !user_files.adopted.contains(it));
                    say(file.map(|it| none.diagnostic(version, &it)).collect());
                    none.closest
                }
            });
        }
        let own = reconciling.find(|it| it.is_own());
        if let Some(controller) = own {
            let scaffold = controller.scaffold;
            if scaffold != Scaffold::first() {
                let owns = table.owns.iter().map(|owned| format!("{}\n", owned.kind));
                let path = format!("{STYLES}{}/{module}", scaffold.name);
                rendered
                    .tree
                    .insert(path, Owner::Tool, owns.collect::<String>());
            }
            let files = (scaffold.files)(&scaffold::Subject {
                operator: &operator.config.name,
                module: module.clone(),
                in_namespaces: operator.config.namespaces != Namespaces::All,
                cleanup: controller.cleanup,
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
            if controller.has_status && !files.writes_status {
                // The example knows no field of the status.
                unused.push(rule(format!("{plural}/status"), "patch"));
            }
            if controller.has_status
                && controller.cleanup
                && controller.owns.is_empty()
                && !scaffold.has_provider
            {
                // To see whether the object still exists when its status cannot be written: the tests remove no object with a finalizer then.
                unused.push(rule(plural.clone(), "get"));
            }
            let case = Case::new(controller, typed.sample.clone());
            made.case = Some(case.with_unused(unused));
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
    if let Some(conversions) = conversions {
        let converted = conversion_files(&mut rendered.tree, table, api, conversions, &facts);
        made.converted = Some(converted);
    }
    if table.source() == Source::Own && api.conversion == Conversion::Webhook {
        rendered.diagnostics.push((
            subject,
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
    if table.source() == Source::Own
        && is_unconverted
        && let Some([a, b]) = different_versions(api)
    {
        rendered.diagnostics.push((
            subject,
            Diagnostic {
                code: Code::ConversionNotServed,
                severity: Severity::Warning,
                pointer: "/spec/versions".into(),
                message: format!("the schemas of {a} and {b} differ, and nothing converts between them"),
                instead: Some("the API server changes only apiVersion, and prunes fields that a version does not have".into()),
                help: Some(format!(
                    "set `hub = {:?}`{} in the kind's table in operator.toml to derive the conversion",
                    api.storage_version().name,
                    all_versions(table, api)
                )),
            },
        ));
    }
    made
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
pub(super) fn sample_file(user_files: &UserFiles, resource: &ResourceType) -> Option<String> {
    let file = format!("{}.yaml", resource.name());
    let path = format!("manifests/samples/{file}");
    (!user_files.removed.contains(&path)).then_some(file)
}

/// The files of a controller that has this name, and how it is tested.
pub fn named_files(
    tree: &mut Tree,
    operator: &Operator<'_>,
    controller: &Controller,
    name: &str,
    made: &[KindArtifacts],
    sample: Option<String>,
) -> Case {
    let resource = &controller.resource;
    let (types, root) = types_of(controller.api_module.as_deref(), resource, made);
    let finalizer = controller.finalizer(&operator.config.name);
    let files = existing_files(&Existing {
        operator: &operator.config.name,
        name,
        module: &controller.module,
        types,
        root,
        kind: &resource.kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        in_namespaces: operator.config.namespaces != Namespaces::All,
        finalizer: controller.cleanup.then_some(finalizer),
        metadata: controller.watches_metadata,
        sample: sample.as_deref(),
        fill,
    });
    tree.insert(controller.path(), Owner::User, files.controller);
    if let Some(test) = files.test {
        let path = format!("tests/all/{}.rs", controller.module);
        tree.insert(path, Owner::User, test);
    }
    Case::new(controller, sample)
}

/// The module of a kind's type, and the type's name there.
pub(super) fn types_of(
    api_module: Option<&str>,
    resource: &ResourceType,
    made: &[KindArtifacts],
) -> (String, String) {
    let Some(module) = api_module else {
        return resource.foreign_type().unwrap_or_default();
    };
    let root = made
        .iter()
        .flat_map(|made| &made.typed)
        .find(|it| format!("{}::{}", it.module, it.version) == module)
        .map(|typed| typed.root.clone());
    (format!("crate::api::{module}"), root.unwrap_or_default())
}

const HEADER: &str =
    "// Generated by `cargo operator regenerate` from the CRD in crds/. Do not edit.\n";
