//! The scaffold `declarative`: functions that get an object and its children, and return the children and the status that the object should
//! have. The runtime makes the requests.

use super::{
    Cleanup, Interface, Scaffold,
    example::{self, Child, Style},
};
use crate::user_code::ControllerTrait;

pub(super) const DECLARATIVE: Scaffold = Scaffold {
    name: "declarative",
    about: "A function for each kind that returns the desired children; the runtime creates, updates and deletes them",
    register: "add_declarative",
    interface: Interface {
        controller_trait: ControllerTrait {
            interface: "Declarative",
            method: "desired",
            arguments: ["&Self::Resource", "&operator_runtime::Observed"],
            cleanup: Some("finalize"),
        },
        cleanup: Cleanup::Method(cleanup),
        parents: Some(example::parents),
    },
    rule: "`desired` returns all children that an object should have, and makes no requests: the runtime creates and updates them, and deletes children that are not returned any more. `status` returns the status.",
    prunes: true,
    has_provider: false,
    records_history: false,
    example_child: example::example_child,
    unused_fields: example::unused_fields,
    files: |subject| example::files(subject, &STYLE),
};

const STYLE: Style = Style {
    prefix: "declarative_",
    source: ["observed", "Observed"],
    is_shared: false,
    binds_child: "Some(child) = &deployment",
    child_status: "live",
    returns_status: true,
    child: Child::of,
};

/// The method that is called when an object is being deleted.
fn cleanup([object, observed]: &[String; 2]) -> String {
    format!(
        "    /// Called when the object is being deleted, and again until it returns `Finalized::Done`. Kubernetes\n    \
         /// deletes the children; undo everything else here.\n    \
         fn finalize(&self, _object: {object}, _observed: {observed}) -> operator_runtime::Result<operator_runtime::Finalized> {{\n        \
         Ok(operator_runtime::Finalized::Done)\n    }}\n"
    )
}
