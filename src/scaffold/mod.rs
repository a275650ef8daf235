//! The scaffolds: the styles in which a kind's controller is written. Everything that depends on the style is in its row.

mod children;
mod declarative;
mod example;
mod existing;
mod external;
mod handlers;
mod names;
mod reconciler;
mod status;
mod target;
mod webhook;

pub use existing::{EXISTING, EXISTING_ABOUT, Existing, ExistingScaffold, existing_files};
pub use target::Target;
pub use webhook::{Admitted, Operations, webhook_files};

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::Value;

use crate::{
    crd::{Api, Scope},
    types::KindFacts,
    user_code::{self, ControllerImpl, ControllerTrait},
};

/// All scaffolds; the first one is the default.
const ROWS: &[Scaffold] = &[
    reconciler::RECONCILER,
    declarative::DECLARATIVE,
    external::EXTERNAL,
    handlers::HANDLERS,
];

/// A scaffold: a trait of `operator-runtime` that the user implements, and the initial files of a new kind.
pub struct Scaffold {
    /// The value of `scaffold` in operator.toml and on the command line.
    pub name: &'static str,
    /// The description in the help text.
    pub about: &'static str,
    /// The trait that the user implements.
    pub interface: Interface,
    /// The method of `operator_runtime::Controllers` that takes the controller's `setup`.
    pub register: &'static str,
    /// The text about the trait in AGENTS.md.
    pub rule: &'static str,
    /// Whether the operator deletes children that are not desired any more.
    pub prunes: bool,
    /// Whether the controller manages external resources, so that the calls of its provider get faults in a test.
    pub has_provider: bool,
    /// Whether the runtime records on each object what was handled, so that the result may depend on its earlier states.
    pub records_history: bool,
    /// The kind of the example's child, as `owns` names it, if it has one.
    pub example_child: fn(&Api) -> Option<&'static str>,
    /// The fields of a sample that the example does not use, if its result depends on the others.
    pub unused_fields: fn(&Api, &KindFacts, &Value) -> Vec<String>,
    /// The files of a new kind.
    pub files: fn(&Subject<'_>) -> Files,
}

/// A trait of `operator-runtime`, with the text that the commands print for its optional methods.
pub struct Interface {
    pub controller_trait: ControllerTrait,
    pub cleanup: Cleanup,
    /// The code of `parents`, to be pasted into the controller of a kind of this scope. `None` if the trait has no such method.
    pub parents: Option<fn(Scope) -> String>,
}

/// The parts of a controller that does something before an object is deleted.
#[derive(Clone, Copy)]
pub enum Cleanup {
    /// Every controller must have them.
    Required,
    /// A `FINALIZER`, and a method, to be pasted into the controller, with the types of the object and of the context.
    Method(fn(&[String; 2]) -> String),
    /// A `FINALIZER` alone.
    Finalizer,
}

/// A kind with a controller, and the values on which its files depend.
pub struct Subject<'a> {
    /// The name of the project.
    pub operator: &'a str,
    /// The kind's module.
    pub module: String,
    /// Whether the operator watches only some namespaces.
    pub in_namespaces: bool,
    /// The namespace of the sample in tests.
    pub sample_namespace: &'a str,
    /// Whether the controller has a `cleanup`.
    pub cleanup: bool,
    pub api: &'a Api,
    /// The facts about the types of the storage version.
    pub facts: &'a KindFacts,
    /// An object of the kind.
    pub sample: Option<&'a Value>,
}

/// The files of a kind that the user owns.
pub struct Files {
    /// `src/controllers/<kind>.rs`.
    pub controller: String,
    /// `tests/all/<kind>.rs`.
    pub test: String,
    /// `tests/snapshots/<kind>.snap`, with the children of the sample, where the example creates some.
    pub children: Option<String>,
    /// Whether the example writes the status of its objects.
    pub writes_status: bool,
}

impl Scaffold {
    /// All scaffolds; the first one is the default.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        ROWS.iter()
    }

    /// The default scaffold.
    pub const fn first() -> &'static Self {
        &ROWS[0]
    }

    /// The scaffold of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|scaffold| scaffold.name == name)
    }

    /// The trait that the text of a controller implements, and what is in its `impl` block.
    pub fn implemented(text: &str) -> Option<(&'static Interface, ControllerImpl)> {
        Self::all().find_map(|Self { interface, .. }| {
            let controller = user_code::controller(text, &interface.controller_trait)?;
            Some((interface, controller))
        })
    }
}

impl PartialEq for Scaffold {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Scaffold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Serialize for Scaffold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Scaffold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const NAMES: [&str; ROWS.len()] = {
            let mut names = [""; ROWS.len()];
            let mut index = 0;
            while index < names.len() {
                names[index] = ROWS[index].name;
                index += 1;
            }
            names
        };
        let name = String::deserialize(deserializer)?;
        Scaffold::named(&name).ok_or_else(|| D::Error::unknown_variant(&name, &NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scaffold_is_an_error_that_lists_the_names() {
        let read = |name: &str| serde_json::from_value::<&'static Scaffold>(name.into());
        for scaffold in Scaffold::all() {
            assert_eq!(read(scaffold.name).unwrap(), scaffold);
        }
        let error = read("reconcile").unwrap_err().to_string();
        assert!(
            error.contains(
                "`reconcile`, expected one of `reconciler`, `declarative`, `external`, `handlers`"
            ),
            "{error}"
        );
    }

    #[test]
    fn the_names_of_scaffolds_are_distinct() {
        let names: Vec<_> = Scaffold::all().map(|scaffold| scaffold.name).collect();
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(names.len(), distinct.len());
    }
}
