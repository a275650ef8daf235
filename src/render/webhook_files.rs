//! `src/webhooks/`: the registry of the webhooks, and the user's code and test of each kind that has some.

use serde::Serialize;
use serde_json::Value;

use super::{
    artifacts::KindArtifacts,
    conversion::conversions,
    kind_files::sample_file,
    registry::{closure, register},
};
use crate::{
    config::{Certificates, Namespaces, Operation, Webhook, WebhookType},
    manifests,
    operator::{Admission, Project},
    plan::{Owner, Tree},
    rust::{
        code::{OF_FUNCTION, indented, lines_of_chain, literal},
        version_order,
    },
    scaffold::{Admitted, Operations, webhook_files},
    template::fill,
};

/// The host under which the API server calls the webhooks of an operator.
pub fn webhook_host(operator: &str) -> String {
    format!("{operator}-webhook.{operator}.svc")
}

/// What `src/webhooks/mod.rs` places.
#[derive(Serialize)]
struct Context {
    modules: Vec<String>,
    all: String,
}

/// Adds the files of all webhooks. `samples` has an object of each of their kinds.
pub fn add_webhook_files(
    tree: &mut Tree,
    project: &Project,
    admissions: &[Admission<'_>],
    made: &[KindArtifacts],
    samples: &[Option<Value>],
) {
    if !project.has_webhooks() {
        return;
    }
    let path = "src/webhooks/mod.rs";
    let text = fill(&format!("{path}.j2"), &registry(project, admissions));
    tree.insert(path, Owner::Tool, text);
    for (admission, sample) in admissions.iter().zip(samples) {
        // a test of a webhook that selects objects is the user's to write
        let sample = sample
            .as_ref()
            .filter(|_| gets_sample(project, admission))
            .and_then(|_| sample_file(project, &admission.resource));
        let (types, root) = type_of(admission, made);
        let operations = |type_| admission.webhook(type_).map(operations);
        let files = webhook_files(&Admitted {
            operator: &project.config.name,
            module: &admission.module,
            webhook: admission.struct_name(),
            types,
            root,
            kind: &admission.resource.kind,
            plural: &admission.resource.plural,
            namespaced: admission.resource.namespaced,
            in_namespaces: project.config.namespaces != Namespaces::All,
            validates: operations(WebhookType::Validate),
            mutates: operations(WebhookType::Mutate),
            sample: sample.as_deref(),
            fill,
        });
        tree.insert(admission.path(), Owner::User, files.webhook);
        if let Some(test) = files.test {
            let path = format!("tests/all/{}_webhook.rs", admission.module);
            tree.insert(path, Owner::User, test);
        }
    }
}

/// Whether the API server calls the webhooks of a kind for every object, and so for the sample.
fn gets_sample(project: &Project, admission: &Admission<'_>) -> bool {
    let is_namespace = admission.resource.name() == "namespaces";
    let is_watched = !is_namespace || project.config.namespaces == Namespaces::All;
    let selects = |webhook: &Webhook| {
        webhook.object_selector.is_some()
            || webhook.namespace_selector.is_some()
            || !webhook.match_conditions.is_empty()
    };
    is_watched && !admission.webhooks.iter().any(selects)
}

fn operations(webhook: &Webhook) -> Operations {
    let has = |operation| webhook.operations.contains(&operation);
    Operations {
        create: has(Operation::Create),
        update: has(Operation::Update),
        delete: has(Operation::Delete),
    }
}

/// The module of a kind's type, and the type's name there.
fn type_of(admission: &Admission<'_>, made: &[KindArtifacts]) -> (String, String) {
    let Some(module) = admission.api_module() else {
        return admission.resource.foreign_type().unwrap_or_default();
    };
    let typed = made
        .iter()
        .flat_map(|made| &made.typed)
        .find(|it| format!("{}::{}", it.module, it.version) == module);
    let root = typed.map(|typed| typed.root.clone()).unwrap_or_default();
    (format!("crate::api::{module}"), root)
}

/// The registry:
///
/// ```text
/// pub fn all() -> Webhooks {
///     Webhooks::new()
///         .add(memcached::setup, |webhook| {
///             webhook.validates("/validate-cache-example-com-v1-memcached")
///         })
///         .add(pod::setup, |webhook| webhook.mutates("/mutate--v1-pod"))
/// }
/// ```
fn registry(project: &Project, admissions: &[Admission<'_>]) -> Context {
    let add = admissions.iter().map(|admission| {
        let types = [
            (WebhookType::Validate, "validates"),
            (WebhookType::Mutate, "mutates"),
        ];
        let calls: Vec<String> = types
            .into_iter()
            .filter(|(type_, _)| admission.webhook(*type_).is_some())
            .map(|(type_, method)| {
                let path = literal(&admission.url_path(type_));
                format!(".{method}({path})")
            })
            .collect();
        let closure = closure("webhook", &calls);
        let setup = format!("{}::setup", admission.module);
        register("add", &[setup, closure])
    });
    let mounted = (project.config.certificates == Certificates::CertManager)
        .then(|| ".mounted_certificates()".to_owned());
    let conversions = conversions(project)
        .into_iter()
        .map(|[kind, call]| register("convert_kind", &[kind, call]));
    let calls: Vec<String> = add.chain(conversions).chain(mounted).collect();
    let all = indented(&lines_of_chain("Webhooks::new()", &calls));
    let all = format!("{OF_FUNCTION}pub fn all() -> Webhooks {{\n{all}\n}}");
    let mut modules: Vec<String> = admissions.iter().map(|it| it.module.clone()).collect();
    modules.sort_by(|a, b| version_order(a, b));
    Context { modules, all }
}

/// The webhooks as the manifests see them; `None` where there are none.
pub fn manifest_webhooks(
    project: &Project,
    admissions: &[Admission<'_>],
) -> Option<manifests::Webhooks> {
    project.has_webhooks().then(|| manifests::Webhooks {
        certificates: project.config.certificates,
        selection: manifests::NamespaceSelection::Manifests,
        admitted: admissions
            .iter()
            .map(|admission| manifests::Admitted {
                resource: admission.resource.clone(),
                is_builtin: admission.is_builtin(),
                webhooks: admission.webhooks.to_vec(),
            })
            .collect(),
        converted: project
            .kinds()
            .filter(|(kind, api)| kind.is_converted(api))
            .map(|(_, api)| manifests::ConvertedCrd {
                name: api.name(),
                has_annotations: api.definition()["metadata"]["annotations"].is_object(),
            })
            .collect(),
    })
}
