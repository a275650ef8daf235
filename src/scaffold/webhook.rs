//! The files of the webhooks of a kind. The example records who creates an object, and refuses requests that would change the record.

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    names::{Identity, Names, words},
    templates,
};
use crate::rust::code::literal;

/// The templates of webhooks, by their paths under `templates/`.
pub const WEBHOOK_TEMPLATES: &[(&str, &str)] =
    templates!["src/webhooks/webhook.rs.j2", "tests/all/webhook.rs.j2"];

/// The operations for which a webhook is called. They decide what its example does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    pub create: bool,
    pub update: bool,
    pub delete: bool,
}

/// A kind with webhooks, and what their files depend on.
pub struct Admitted<'a> {
    /// The name of the project.
    pub operator: &'a str,
    /// The module of the webhooks.
    pub module: &'a str,
    /// The name of their struct.
    pub webhook: String,
    /// The module of the kind's type, and the type's name.
    pub types: String,
    pub root: String,
    pub kind: &'a str,
    pub plural: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Whether the operator watches some namespaces and not all.
    pub in_namespaces: bool,
    /// The operations of the webhook that validates, and of the one that mutates.
    pub validates: Option<Operations>,
    pub mutates: Option<Operations>,
    /// The file of an object in `manifests/samples/`.
    pub sample: Option<&'a str>,
    /// Fills the template of this path with values.
    pub fill: fn(&str, &Value) -> String,
}

/// The files of the webhooks that the user owns.
pub struct WebhookFiles {
    /// `src/webhooks/<module>.rs`.
    pub webhook: String,
    /// `tests/all/<module>_webhook.rs`, where there is a sample.
    pub test: Option<String>,
}

/// The values for the templates.
#[derive(Serialize)]
struct Context {
    crate_name: String,
    /// The struct of the webhooks.
    webhook: String,
    /// The module of the kind's type, for the webhooks and for the test, and whether it is in `src/api/`.
    own: bool,
    types: String,
    types_in_test: String,
    /// The import of the type, and the name that it gets.
    import: String,
    kind: String,
    /// The prefix of the name of the test.
    test: String,
    /// The module of the webhooks.
    module: String,
    /// An object of the kind, and the collection of them, as variables.
    var: String,
    objects: String,
    validates: bool,
    mutates: bool,
    /// Whether the example refuses to change the recorded creator.
    keeps_creator: bool,
    /// Whether the example refuses a creator other than the user of the request.
    checks_creator: bool,
    /// Whether the example refuses to delete protected objects.
    protects: bool,
    /// Whether the example records who creates an object.
    records_creator: bool,
    /// Whether the example records who changes an object.
    records_changes: bool,
    /// Whether an annotation names the creator.
    has_creator: bool,
    /// Whether the example uses the operation of the request.
    operation: bool,
    /// Expressions of strings: annotations, and the sample's file.
    created_by: String,
    changed_by: String,
    protected: String,
    sample: String,
    /// The objects, as an expression.
    api: String,
}

/// The files of new webhooks.
pub fn webhook_files(subject: &Admitted<'_>) -> WebhookFiles {
    let fill = |names: Names| {
        let context = json!(context(subject, names));
        let fill = |path: &str| (subject.fill)(path, &context);
        (
            fill("src/webhooks/webhook.rs.j2"),
            fill("tests/all/webhook.rs.j2"),
        )
    };
    // rendered with placeholders, the texts show which names the templates use, so that those of the kind can avoid them
    let (webhook, test) = fill(Names::placeholders());
    let words = words(&webhook).chain(words(&test)).collect();
    let identity = Identity {
        operator: subject.operator,
        module: subject.module,
        version: String::new(),
        root: &subject.root,
        kind: subject.kind,
        plural: subject.plural,
    };
    let (webhook, test) = fill(identity.names(&words));
    WebhookFiles {
        webhook,
        test: subject.sample.map(|_| test),
    }
}

fn context(subject: &Admitted<'_>, names: Names) -> Context {
    let namespace = if subject.in_namespaces {
        "support::NAMESPACES[0]"
    } else {
        "server.namespace()"
    };
    let validates = subject.validates.unwrap_or_default();
    let mutates = subject.mutates.unwrap_or_default();
    let keeps_creator = validates.update;
    let protects = !keeps_creator && validates.delete;
    let checks_creator = !keeps_creator && !protects && validates.create;
    let annotation = |name: &str| literal(&format!("{}/{name}", subject.operator));
    Context {
        types: subject.types.clone(),
        types_in_test: match subject.types.strip_prefix("crate::") {
            Some(path) => format!("{}::{path}", names.crate_name),
            None => subject.types.clone(),
        },
        crate_name: names.crate_name,
        webhook: subject.webhook.clone(),
        own: subject.types.starts_with("crate::"),
        import: names.import,
        kind: names.kind,
        test: subject.module.trim_end_matches('_').to_owned(),
        module: subject.module.to_owned(),
        var: names.var,
        objects: names.objects,
        validates: subject.validates.is_some(),
        mutates: subject.mutates.is_some(),
        keeps_creator,
        checks_creator,
        protects,
        records_creator: mutates.create,
        records_changes: !mutates.create && mutates.update,
        has_creator: keeps_creator || checks_creator || mutates.create,
        operation: protects || mutates.create,
        created_by: annotation("created-by"),
        changed_by: annotation("changed-by"),
        protected: annotation("protected"),
        sample: literal(&format!(
            "manifests/samples/{}",
            subject.sample.unwrap_or_default()
        )),
        api: if subject.namespaced {
            format!("Api::namespaced(server.client(), {namespace})")
        } else {
            "Api::all(server.client())".to_owned()
        },
    }
}
