//! The files of a controller of a kind that exists without the operator. The example records an event for each object.

use heck::ToUpperCamelCase;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    names::{Identity, Names, words},
    templates,
};
use crate::rust::code::literal;

/// The scaffold's name on the command line.
pub const EXISTING: &str = "controller";

/// The description of the scaffold in the help text.
pub const EXISTING_ABOUT: &str =
    "A reconcile function for a kind whose CRD something else installs";

/// The templates of such controllers, by their paths under `templates/`.
pub const EXISTING_TEMPLATES: &[(&str, &str)] =
    templates!["src/controllers/existing.rs.j2", "tests/all/existing.rs.j2"];

/// A controller of an existing kind, with what its files depend on.
pub struct Existing<'a> {
    /// The name of the project.
    pub operator: &'a str,
    /// The name of the controller.
    pub name: &'a str,
    /// The controller's module.
    pub module: &'a str,
    /// The module of the kind's type, and the type's name.
    pub types: String,
    pub root: String,
    pub kind: &'a str,
    pub plural: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Whether the operator watches some namespaces and not all.
    pub in_namespaces: bool,
    /// The finalizer, for a controller that has a `cleanup`.
    pub finalizer: Option<String>,
    /// Whether the controller watches the metadata of the objects only.
    pub metadata: bool,
    /// The file of an object in `manifests/samples/`.
    pub sample: Option<&'a str>,
    /// Fills the template of this path with values.
    pub fill: fn(&str, &Value) -> String,
}

/// The files of a controller that the user owns.
pub struct ExistingFiles {
    /// `src/controllers/<controller>.rs`.
    pub controller: String,
    /// `tests/all/<controller>.rs`, where there is a sample and the example records events.
    pub test: Option<String>,
}

/// The values for the templates.
#[derive(Serialize)]
struct Context<'a> {
    crate_name: String,
    name: &'a str,
    /// The controller's struct.
    controller: String,
    /// The module of the kind's type, for the controller and for the test, and whether it is in `src/api/`.
    own: bool,
    types: String,
    types_in_test: String,
    /// The import of the type, and the name that it gets.
    import: String,
    kind: String,
    /// The type of the objects that are reconciled.
    resource: String,
    /// The prefix of the name of the test.
    test: &'a str,
    /// An object of the kind, and the collection of them, as variables.
    var: String,
    objects: String,
    /// Whether the example records events; not for the kind Event, because each event would trigger the next.
    records: bool,
    metadata: bool,
    cleanup: bool,
    /// Expressions of strings: the finalizer, the note of the event, and the sample's file.
    finalizer: String,
    note: String,
    sample: String,
    /// The objects, as an expression.
    api: String,
}

/// The files of a new controller.
pub fn existing_files(subject: &Existing<'_>) -> ExistingFiles {
    let fill = |names: Names| {
        let context = json!(context(subject, names));
        let fill = |path: &str| (subject.fill)(path, &context);
        (
            fill("src/controllers/existing.rs.j2"),
            fill("tests/all/existing.rs.j2"),
        )
    };
    // rendered with placeholders, the texts show which names the templates use, so that those of the kind can avoid them
    let (controller, test) = fill(Names::placeholders());
    let words = words(&controller).chain(words(&test)).collect();
    let identity = Identity {
        operator: subject.operator,
        module: subject.module,
        version: String::new(),
        root: &subject.root,
        kind: subject.kind,
        plural: subject.plural,
    };
    let (controller, test) = fill(identity.names(&words));
    let is_tested = subject.sample.is_some() && records(subject);
    ExistingFiles {
        controller,
        test: is_tested.then_some(test),
    }
}

fn records(subject: &Existing<'_>) -> bool {
    subject.kind != "Event"
}

fn context<'a>(subject: &Existing<'a>, names: Names) -> Context<'a> {
    let namespace = if subject.in_namespaces {
        "support::NAMESPACES[0]"
    } else {
        "server.namespace()"
    };
    let sample = subject.sample.unwrap_or_default();
    Context {
        types: subject.types.clone(),
        types_in_test: match subject.types.strip_prefix("crate::") {
            Some(path) => format!("{}::{path}", names.crate_name),
            None => subject.types.clone(),
        },
        crate_name: names.crate_name,
        name: subject.name,
        controller: format!("{}Controller", subject.name.to_upper_camel_case()),
        own: subject.types.starts_with("crate::"),
        import: names.import,
        resource: if subject.metadata {
            format!("PartialObjectMeta<{}>", names.kind)
        } else {
            names.kind.clone()
        },
        kind: names.kind,
        test: subject.module.trim_end_matches('_'),
        var: names.var,
        objects: names.objects,
        records: records(subject),
        metadata: subject.metadata,
        cleanup: subject.finalizer.is_some(),
        finalizer: literal(subject.finalizer.as_deref().unwrap_or_default()),
        note: literal(&format!("seen by the controller {}", subject.name)),
        sample: literal(&format!("manifests/samples/{sample}")),
        api: if subject.namespaced {
            format!("Api::namespaced(server.client(), {namespace})")
        } else {
            "Api::all(server.client())".to_owned()
        },
    }
}
