//! The files of a controller of a kind that exists without the operator. The example records an event for each object with an
//! annotation.

use heck::ToUpperCamelCase;
use serde::Serialize;

use super::target::{self, Target};
use crate::rust::code::literal;

/// The scaffold's name on the command line.
pub const EXISTING: &str = "controller";

/// The description of the scaffold in the help text.
pub const EXISTING_ABOUT: &str =
    "A reconcile function for a kind whose CRD something else installs";

/// A controller of an existing kind, with what its files depend on.
pub struct Existing<'a> {
    pub target: Target<'a>,
    /// The name of the controller.
    pub name: &'a str,
    /// The operator and the controller, `pods/watcher`: the finalizer, and the annotation of the example.
    pub id: String,
    pub cleanup: bool,
    /// Whether the controller watches the metadata of the objects only.
    pub metadata: bool,
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
    #[serde(flatten)]
    target: target::Context,
    name: &'a str,
    /// The controller's struct.
    controller: String,
    /// The type of the objects that are reconciled.
    resource: String,
    /// Whether the example records events; not for the kind Event, because an event could trigger the next.
    records: bool,
    metadata: bool,
    cleanup: bool,
    /// Expressions of strings: the finalizer and annotation, and the note of the event.
    id: String,
    note: String,
}

/// The files of a new controller.
pub fn existing_files(subject: &Existing<'_>) -> ExistingFiles {
    let paths = ["src/controllers/existing.rs.j2", "tests/all/existing.rs.j2"];
    let records = subject.target.kind != "Event";
    let [controller, test] = subject.target.fill(paths, |target| Context {
        name: subject.name,
        controller: format!("{}Controller", subject.name.to_upper_camel_case()),
        resource: if subject.metadata {
            format!("PartialObjectMeta<{}>", target.kind)
        } else {
            target.kind.clone()
        },
        target,
        records,
        metadata: subject.metadata,
        cleanup: subject.cleanup,
        id: literal(&subject.id),
        note: literal(&format!("seen by the controller {}", subject.name)),
    });
    let is_tested = subject.target.sample.is_some() && records;
    ExistingFiles {
        controller,
        test: is_tested.then_some(test),
    }
}
