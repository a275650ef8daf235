//! The scaffolds of a kind that exists without the operator, and the files of its controller. The example records events about objects with
//! an annotation, or with a label.

use clap::ValueEnum;
use heck::ToUpperCamelCase;
use serde::{Deserialize, Serialize};

use super::{
    Scaffold,
    handlers::HANDLERS,
    target::{self, Target},
};
use crate::rust::code::literal;

/// The name on the command line of the default scaffold.
pub const EXISTING: &str = "controller";

/// Its description in the help text of commands that read CRDs.
pub const EXISTING_ABOUT: &str =
    "A reconcile function for a kind whose CRD something else installs";

/// The style in which the controller of an existing kind is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ExistingScaffold {
    /// A reconcile function
    #[default]
    Controller,
    /// Functions that are called when an object is new, was changed or is being deleted; the runtime records what was handled
    Handlers,
}

impl ExistingScaffold {
    /// The scaffold of this name.
    pub fn named(name: &str) -> Option<Self> {
        let mut all = Self::value_variants().iter().copied();
        all.find(|it| it.name() == name)
    }

    /// The value of `scaffold` in operator.toml and on the command line.
    pub fn name(self) -> &'static str {
        Self::name_of(self.own())
    }

    /// The name of a scaffold in the table of a controller.
    pub fn name_of(own: &'static Scaffold) -> &'static str {
        if own == Scaffold::first() {
            EXISTING
        } else {
            own.name
        }
    }

    /// The scaffold of the operator's own kinds whose trait the controller implements.
    pub fn own(self) -> &'static Scaffold {
        match self {
            Self::Controller => Scaffold::first(),
            Self::Handlers => &HANDLERS,
        }
    }

    /// The method of `operator_runtime::Controllers` that takes the controller's name and its `setup`.
    pub fn register(self) -> &'static str {
        match self {
            Self::Controller => "add_named",
            Self::Handlers => "add_named_handlers",
        }
    }
}

/// A controller of an existing kind, with what its files depend on.
pub struct Existing<'a> {
    pub scaffold: ExistingScaffold,
    pub target: Target<'a>,
    /// The name of the controller.
    pub name: &'a str,
    /// The operator and the controller, `pods/watcher`: the finalizer, and the annotation or label of the example.
    pub id: String,
    pub cleanup: bool,
    /// Whether the controller watches the metadata of the objects only.
    pub metadata: bool,
}

/// The files of a controller that the user owns.
pub struct ExistingFiles {
    /// `src/controllers/<controller>.rs`.
    pub controller: String,
    /// `tests/all/<controller>.rs`, where there is a sample and the example records events about it.
    pub test: Option<String>,
}

/// The values for the templates.
#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    target: target::Context,
    operator: &'a str,
    name: &'a str,
    /// The controller's struct.
    controller: String,
    /// The type of the objects that are reconciled.
    resource: String,
    /// Whether the example records events; a reconciler does not for the kind Event, because an event could trigger the next.
    records: bool,
    metadata: bool,
    cleanup: bool,
    /// Expressions of strings: the finalizer, annotation and label, and the note of the event.
    id: String,
    note: String,
}

/// The files of a new controller.
pub fn existing_files(subject: &Existing<'_>) -> ExistingFiles {
    let (paths, suffix) = match subject.scaffold {
        ExistingScaffold::Controller => (
            ["src/controllers/existing.rs.j2", "tests/all/existing.rs.j2"],
            "Controller",
        ),
        ExistingScaffold::Handlers => (
            [
                "src/controllers/existing_handlers.rs.j2",
                "tests/all/existing_handlers.rs.j2",
            ],
            "Handlers",
        ),
    };
    let records = subject.scaffold == ExistingScaffold::Handlers || subject.target.kind != "Event";
    let [controller, test] = subject.target.fill(paths, |target| Context {
        operator: subject.target.operator,
        name: subject.name,
        controller: format!("{}{suffix}", subject.name.to_upper_camel_case()),
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
