//! The files of one kind, and those of one controller that has a name.

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::Value;

use super::{
    artifacts::{
        CRDS, KindArtifacts, RECORD, Rendered, SCAFFOLD_RECORDS, UserFiles, snapshot_path,
    },
    conversion::conversion_files,
    fault_test::Case,
    generated_test::VersionModule,
    sample::{sample, unevaluated_rules},
};
use crate::{
    config::{Kind, Namespaces, Source},
    conversion::different_versions,
    crd::{Api, Conversion, Version},
    diagnostic::{Code, Diagnostic, Severity},
    operator::{Controller, DefinedKind, KindId, Operator, ResourceType, Subject},
    plan::{Owner, Tree},
    rust::{code::untouched, version_module},
    scaffold::{self, Existing, ExistingScaffold, Scaffold, Target, existing_files},
    types::{self, KindFacts},
};

/// The files of one kind.
pub fn kind_files(
    rendered: &mut Rendered,
    operator: &Operator<'_>,
    user_files: &UserFiles,
    kind: &DefinedKind<'_>,
) -> KindArtifacts {
    let DefinedKind {
        table,
        crd: api,
        conversions,
        ..
    } = kind;
    let mut artifacts = KindArtifacts::default();
    let crd = format!("{CRDS}{}.yaml", api.name());
    rendered.tree.insert(crd, Owner::Tool, api.text.as_str());
    let mut files = KindFiles {
        operator,
        user_files,
        kind,
        tree: &mut rendered.tree,
        diagnostics: vec![],
    };
    files.diagnostics.extend(
        api.server_fields
            .diagnostic()
            .into_iter()
            .chain(api.warnings()),
    );
    let mut facts = vec![];
    for version_name in &table.versions {
        let version = api
            .version(version_name)
            .expect("resolved operators have known versions");
        facts.push((
            version_name.clone(),
            files.of_version(version, &mut artifacts),
        ));
    }
    if let Some(conversions) = conversions {
        let converted = conversion_files(files.tree, table, api, conversions, &facts);
        artifacts.converted = Some(converted);
    }
    let mut diagnostics = files.diagnostics;
    if table.source() == Source::Own {
        diagnostics.extend(own_webhook(kind));
        diagnostics.extend(unconverted(kind));
    }
    let about = diagnostics
        .into_iter()
        .map(|it| (Subject::Kind(kind.id), it));
    rendered.diagnostics.extend(about);
    artifacts
}

/// The files of a kind while they are rendered.
struct KindFiles<'a> {
    operator: &'a Operator<'a>,
    user_files: &'a UserFiles,
    kind: &'a DefinedKind<'a>,
    tree: &'a mut Tree,
    diagnostics: Vec<Diagnostic>,
}

impl KindFiles<'_> {
    /// Renders the types of a version. If a controller or webhooks use this version, also the sample, and the files of the kind's own
    /// controller.
    fn of_version(&mut self, version: &Version, artifacts: &mut KindArtifacts) -> KindFacts {
        let DefinedKind {
            id,
            table,
            crd: api,
            ..
        } = self.kind;
        let (module, file) = (table.module_name(), version_module(&version.name));
        let schema_file = format!("{file}.schema.json");
        let types = types::module_with_file(api, version, table.schema, &schema_file);
        self.diagnostics.extend(types.diagnostics);
        let mut typed = VersionModule {
            module: module.clone(),
            version: file.clone(),
            root: types.facts.root.clone(),
            crd: table.crd.clone(),
            sample: None,
        };
        let operator = self.operator;
        let is_this = |kind: Option<KindId>, resource: &ResourceType| {
            kind == Some(*id) && resource.version == version.name
        };
        let reconciling = || {
            let controllers = operator.controllers.iter();
            controllers.filter(|it| is_this(it.kind, &it.resource))
        };
        let reconciled = reconciling().map(|it| &it.resource);
        let admitted = operator.admissions.iter();
        let admitted = admitted
            .filter(|it| is_this(it.kind, &it.resource))
            .map(|it| &it.resource);
        if let Some(resource) = reconciled.chain(admitted).next() {
            typed.sample = sample_file(self.user_files, resource);
            artifacts.sample = Some(self.sample(version, typed.sample.as_deref()));
        }
        if let Some(controller) = reconciling().find(|it| it.is_own()) {
            let case = self.controller(controller, &types.facts, artifacts.sample.as_ref());
            artifacts.case = Some(case);
        }
        artifacts.typed.push(typed);
        let text = untouched(&format!("{HEADER}\n{}", types.text));
        let path = format!("src/api/{module}/{file}.rs");
        self.tree.insert(path, Owner::Tool, text);
        if let Some(text) = types.schema_file {
            let path = format!("src/api/{module}/{schema_file}");
            self.tree.insert(path, Owner::Tool, text);
        }
        let record = format!("{RECORD}{module}/{file}");
        self.tree.insert(record, Owner::Tool, types.facts.record());
        types.facts
    }

    /// The sample of a version, or the closest object. `file` is the name of its file, unless the user deleted that.
    fn sample(&mut self, version: &Version, file: Option<&str>) -> Value {
        match sample(self.kind.crd, version) {
            Ok(sample) => {
                self.diagnostics.extend(unevaluated_rules(version, &sample));
                sample
            }
            Err(none) => {
                let file = file.map(|file| format!("manifests/samples/{file}"));
                // an adopted file has the user's own sample, which is reported if the schema refuses it
                let file = file.filter(|it| !self.user_files.adopted.contains(it));
                let diagnostic = file.map(|it| none.diagnostic(version, &it));
                self.diagnostics.extend(diagnostic);
                none.closest
            }
        }
    }

    /// The files of the kind's own controller, and how it is tested.
    fn controller(
        &mut self,
        controller: &Controller,
        facts: &KindFacts,
        sample: Option<&Value>,
    ) -> Case {
        let DefinedKind {
            table, crd: api, ..
        } = self.kind;
        let (module, scaffold) = (table.module_name(), controller.scaffold);
        if scaffold != Scaffold::first() {
            let owns = table.owns.iter().map(|owned| format!("{}\n", owned.kind));
            let path = format!("{SCAFFOLD_RECORDS}{}/{module}", scaffold.name);
            self.tree
                .insert(path, Owner::Tool, owns.collect::<String>());
        }
        let config = &self.operator.config;
        let files = (scaffold.files)(&scaffold::Subject {
            operator: &config.name,
            module: module.clone(),
            in_namespaces: config.namespaces != Namespaces::All,
            sample_namespace: match &config.namespaces {
                Namespaces::All => "default",
                Namespaces::Own => &config.name,
                Namespaces::Listed(names) => names.first().map_or("default", String::as_str),
            },
            cleanup: controller.cleanup,
            api,
            facts,
            sample,
        });
        let path = format!("src/controllers/{module}.rs");
        self.tree.insert(path, Owner::User, files.controller);
        if sample.is_some() {
            let path = format!("tests/all/{module}.rs");
            self.tree.insert(path, Owner::User, files.test);
        }
        let unused = unused(controller, files.writes_status);
        let file = sample_file(self.user_files, &controller.resource);
        let snapshot = snapshot_path(&module);
        let UserFiles {
            removed, omitted, ..
        } = self.user_files;
        let children = files.children.filter(|_| !omitted.contains(&snapshot));
        let has_snapshot = children.is_some() && !removed.contains(&snapshot);
        if let Some(children) = children {
            self.tree.insert_skeleton(snapshot, children);
        }
        Case::new(controller, file)
            .with_unused(unused)
            .with_snapshot(has_snapshot)
    }
}

/// The permissions that the example of a controller does not use.
fn unused(controller: &Controller, writes_status: bool) -> Vec<PolicyRule> {
    let rule = |subresource, verb| permission(&controller.resource, subresource, verb);
    let mut unused = vec![];
    if controller.has_status && !writes_status {
        // The example knows no field of the status, so it writes none.
        unused.push(rule("/status", "patch"));
    }
    if controller.has_status_in_object
        && controller.owns.is_empty()
        && !controller.scaffold.has_provider
    {
        // The example writes no such status: with `observedGeneration`, each write would be the reason of the next one.
        unused.push(rule("", "get"));
    }
    if controller.has_status
        && controller.cleanup
        && controller.owns.is_empty()
        && !controller.scaffold.has_provider
    {
        // A controller gets the object if the write of its status returns 404. In the tests, an object with a finalizer does not vanish
        // before that, so there is no such request.
        unused.push(rule("", "get"));
    }
    unused
}

fn permission(resource: &ResourceType, subresource: &str, verb: &str) -> PolicyRule {
    PolicyRule {
        api_groups: Some(vec![resource.group.clone()]),
        resources: Some(vec![format!("{}{subresource}", resource.plural)]),
        verbs: vec![verb.to_owned()],
        ..PolicyRule::default()
    }
}

/// Reports the conversion webhook of a CRD, because the operator serves its own, or none.
fn own_webhook(kind: &DefinedKind<'_>) -> Option<Diagnostic> {
    let (instead, help) = match kind.conversions {
        Some(_) => (
            "the CRD that is installed has the operator's webhook instead",
            "remove `conversion` from the CRD, or `hub` from the kind in operator.toml",
        ),
        None => (
            "the operator does not serve it",
            "set `hub` of the kind in operator.toml, with all versions in `versions`, to derive the conversion, or serve one version and set `strategy: None`, or run the webhook beside the operator",
        ),
    };
    (kind.crd.conversion == Conversion::Webhook).then(|| Diagnostic {
        code: Code::ConversionNotServed,
        severity: Severity::Warning,
        pointer: "/spec/conversion".into(),
        message: "the CRD asks for a conversion webhook".into(),
        instead: Some(instead.into()),
        help: Some(help.into()),
    })
}

/// Reports versions that differ, although nothing converts between them.
fn unconverted(kind: &DefinedKind<'_>) -> Option<Diagnostic> {
    let api = kind.crd;
    if kind.conversions.is_some() || api.conversion != Conversion::None {
        return None;
    }
    let [a, b] = different_versions(api)?;
    Some(Diagnostic {
        code: Code::ConversionNotServed,
        severity: Severity::Warning,
        pointer: "/spec/versions".into(),
        message: format!("the schemas of {a} and {b} differ, and nothing converts between them"),
        instead: Some("the API server changes only apiVersion, and prunes fields that a version does not have".into()),
        help: Some(format!(
            "set `hub = {:?}`{} in the kind's table in operator.toml to derive the conversion",
            api.storage_version().name,
            all_versions(kind.table, api)
        )),
    })
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
    (name, scaffold): (&str, ExistingScaffold),
    artifacts: &[KindArtifacts],
    sample: Option<String>,
) -> Case {
    let resource = &controller.resource;
    let types = types_of(controller.api_module.as_deref(), resource, artifacts);
    if controller.scaffold != Scaffold::first() {
        let path = format!(
            "{SCAFFOLD_RECORDS}{}/{}",
            controller.scaffold.name, controller.module
        );
        tree.insert(path, Owner::Tool, String::new());
    }
    let files = existing_files(&Existing {
        scaffold,
        target: target(
            operator,
            &controller.module,
            resource,
            types,
            sample.as_deref(),
        ),
        name,
        id: controller.finalizer(&operator.config.name),
        cleanup: controller.cleanup,
        metadata: controller.watches_metadata,
    });
    tree.insert(controller.path(), Owner::User, files.controller);
    if let Some(test) = files.test {
        let path = format!("tests/all/{}.rs", controller.module);
        tree.insert(path, Owner::User, test);
    }
    Case::new(controller, sample).with_unused(unrecorded(controller))
}

/// The permission to record what was handled, which an operator whose handlers are all timers, daemons or handlers of events does not use.
fn unrecorded(controller: &Controller) -> Vec<PolicyRule> {
    let is_for_records = controller.scaffold.records_history && !controller.cleanup;
    let rule = is_for_records.then(|| permission(&controller.resource, "", "patch"));
    rule.into_iter().collect()
}

/// A kind with a module, a type and a sample.
pub(super) fn target<'a>(
    operator: &'a Operator<'_>,
    module: &'a str,
    resource: &'a ResourceType,
    (types, root): (String, String),
    sample: Option<&'a str>,
) -> Target<'a> {
    Target {
        operator: &operator.config.name,
        module,
        types,
        root,
        kind: &resource.kind,
        plural: &resource.plural,
        namespaced: resource.namespaced,
        in_namespaces: operator.config.namespaces != Namespaces::All,
        sample,
    }
}

/// The module of a kind's type, and the type's name there.
pub(super) fn types_of(
    api_module: Option<&str>,
    resource: &ResourceType,
    artifacts: &[KindArtifacts],
) -> (String, String) {
    let Some(module) = api_module else {
        return resource.foreign_type().unwrap_or_default();
    };
    let root = artifacts
        .iter()
        .flat_map(|artifacts| &artifacts.typed)
        .find(|it| format!("{}::{}", it.module, it.version) == module)
        .map(|typed| typed.root.clone());
    (format!("crate::api::{module}"), root.unwrap_or_default())
}

const HEADER: &str =
    "// Generated by `cargo operator regenerate` from the CRD in crds/. Do not edit.\n";
