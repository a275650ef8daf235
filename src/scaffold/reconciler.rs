//! The scaffold `reconciler`: an async function that makes the cluster match an object by its own requests.

use super::{
    Cleanup, Interface, Scaffold,
    example::{self, Child, Style},
};
use crate::user_code::ControllerTrait;

pub(super) const RECONCILER: Scaffold = Scaffold {
    name: "reconciler",
    about: "A reconcile function for each kind",
    register: "add",
    interface: Interface {
        controller_trait: ControllerTrait {
            interface: "Reconciler",
            method: "reconcile",
            arguments: [
                "std::sync::Arc<Self::Resource>",
                "&operator_runtime::Context",
            ],
            cleanup: Some("cleanup"),
        },
        cleanup: Cleanup::Method(cleanup),
        parents: Some(example::parents),
    },
    rule: "`reconcile` is called many times. Each call applies the whole desired state with `cx.apply`. Write the status only with `cx.update_status`.",
    prunes: false,
    has_provider: false,
    records_history: false,
    example_child: example::example_child,
    unused_fields: example::unused_fields,
    files: |subject| example::files(subject, &STYLE),
};

const STYLE: Style = Style {
    prefix: "",
    source: ["cx", "Context"],
    is_shared: true,
    binds_child: "Ok(child) = &applied",
    child_status: "observed",
    returns_status: false,
    child: Child::of,
};

/// The method that is called when an object is being deleted.
fn cleanup([object, context]: &[String; 2]) -> String {
    format!(
        "    /// Called when the object is being deleted, and again until it succeeds. Kubernetes deletes the\n    \
         /// children; undo everything else here.\n    \
         async fn cleanup(&self, _object: {object}, _cx: {context}) -> operator_runtime::Result<()> {{\n        Ok(())\n    }}\n"
    )
}
