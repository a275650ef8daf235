//! `src/webhooks/`: the registry of the webhooks, and the user's code and test of each kind that has some.

use serde::Serialize;

use super::{
    artifacts::{KindArtifacts, UserFiles},
    conversion::conversions,
    kind_files::{sample_file, target, types_of},
    registry::{closure, register},
};
use crate::{
    config::{Certificates, Namespaces, Operation, Webhook, WebhookType},
    crd::Conversion,
    manifests::Samples,
    operator::{Admission, Operator},
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

/// The values for the template of `src/webhooks/mod.rs`.
#[derive(Serialize)]
struct Context {
    modules: Vec<String>,
    all: String,
}

/// Adds the files of all webhooks.
pub fn add_webhook_files(
    tree: &mut Tree,
    operator: &Operator<'_>,
    files: &UserFiles,
    artifacts: &[KindArtifacts],
    samples: &Samples,
) {
    if !operator.has_webhooks() {
        return;
    }
    let path = "src/webhooks/mod.rs";
    let text = fill(&format!("{path}.j2"), &registry(operator));
    tree.insert(path, Owner::Tool, text);
    for admission in &operator.admissions {
        // if a webhook selects objects, only the user can write an object for its test
        let sample = samples
            .of(&admission.resource)
            .filter(|_| gets_sample(operator, admission))
            .and_then(|_| sample_file(files, &admission.resource));
        let types = types_of(
            admission.api_module.as_deref(),
            &admission.resource,
            artifacts,
        );
        let operations = |type_| admission.webhook(type_).map(operations);
        let texts = webhook_files(&Admitted {
            target: target(
                operator,
                &admission.module,
                &admission.resource,
                types,
                sample.as_deref(),
            ),
            webhook: admission.struct_name(),
            validates: operations(WebhookType::Validate),
            mutates: operations(WebhookType::Mutate),
        });
        tree.insert(admission.path(), Owner::User, texts.webhook);
        if let Some(test) = texts.test {
            let path = format!("tests/all/{}_webhook.rs", admission.module);
            tree.insert(path, Owner::User, test);
        }
    }
}

/// Whether the API server calls the webhooks of a kind for every object, and so for the sample.
fn gets_sample(operator: &Operator<'_>, admission: &Admission) -> bool {
    let is_namespace = admission.resource.name() == "namespaces";
    let is_watched = !is_namespace || operator.config.namespaces == Namespaces::All;
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

/// The registry:
///
/// ```text
/// pub fn all() -> Webhooks {
///     Webhooks::new()
///         .add(memcached::setup, |webhook| {
///             webhook.validates("/validate-cache-example-com-memcached")
///         })
///         .add(pod::setup, |webhook| webhook.mutates("/mutate--pod"))
///         .without_conversion("Memcached", "memcacheds.cache.example.com", &["v1beta1", "v1"])
/// }
/// ```
fn registry(operator: &Operator<'_>) -> Context {
    let add = operator.admissions.iter().map(|admission| {
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
    let mounted = (operator.config.certificates == Certificates::CertManager)
        .then(|| ".mounted_certificates()".to_owned());
    let conversions = conversions(operator)
        .into_iter()
        .map(|[kind, call]| register("convert_kind", &[kind, call]));
    let calls: Vec<String> = add
        .chain(conversions)
        .chain(without_conversion(operator))
        .chain(mounted)
        .collect();
    let all = indented(&lines_of_chain("Webhooks::new()", &calls));
    let all = format!("{OF_FUNCTION}pub fn all() -> Webhooks {{\n{all}\n}}");
    let mut modules: Vec<String> = operator
        .admissions
        .iter()
        .map(|it| it.module.clone())
        .collect();
    modules.sort_by(|a, b| version_order(a, b));
    Context { modules, all }
}

/// The calls for the kinds with several versions between which the API server converts by itself.
fn without_conversion(operator: &Operator<'_>) -> impl Iterator<Item = String> {
    let kinds = operator.kinds.iter().filter(|kind| {
        !kind.table.webhooks.is_empty()
            && kind.conversions.is_none()
            && kind.crd.conversion == Conversion::None
            && kind.crd.versions.len() > 1
    });
    kinds.map(|kind| {
        let versions = kind.crd.versions.iter().map(|it| literal(&it.name));
        let versions = versions.collect::<Vec<_>>().join(", ");
        let (name, crd) = (literal(&kind.table.kind), literal(&kind.crd.name()));
        register("without_conversion", &[name, crd, format!("&[{versions}]")])
    })
}
