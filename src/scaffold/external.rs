//! The scaffold `external`: a provider that observes, creates, updates and deletes an external resource for each object. The runtime
//! decides when.

use super::{
    Cleanup, Interface, Scaffold,
    example::{self, Child, Style},
};
use crate::user_code::ControllerTrait;

pub(super) const EXTERNAL: Scaffold = Scaffold {
    name: "external",
    about: "A provider for each kind, which manages things outside of the cluster; the runtime decides when to create, update and delete them",
    register: "add_external",
    interface: Interface {
        controller_trait: ControllerTrait {
            interface: "External",
            method: "observe",
            arguments: ["&Self::Resource", "&operator_runtime::Context"],
            cleanup: Some("delete"),
        },
        cleanup: Cleanup::Required,
        parents: Some(example::parents),
    },
    rule: "`observe`, `create`, `update` and `delete` make one request each to the other system; the runtime calls them, and records the id of the thing in an annotation. `create` returns `Created::refused` only if certainly nothing was created.",
    prunes: false,
    has_provider: true,
    records_history: false,
    example_child: |_| None,
    unused_fields: |_, _, _| vec![],
    files: |subject| example::files(subject, &STYLE),
};

const STYLE: Style = Style {
    prefix: "external_",
    source: ["cx", "Context"],
    is_shared: false,
    binds_child: "",
    child_status: "",
    returns_status: true,
    child: |_| Child::Remote,
};
