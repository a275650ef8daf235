//! The scaffold `handlers`: functions that are called when an object is new, was changed or is being deleted. The runtime records on each
//! object what was handled, and retries.

use super::{
    Cleanup, Interface, Scaffold,
    example::{self, Child, Style},
};
use crate::user_code::ControllerTrait;

pub(super) const HANDLERS: Scaffold = Scaffold {
    name: "handlers",
    about: "Functions for each kind that are called when an object is new, was changed or is being deleted; the runtime records what was handled",
    register: "add_handlers",
    interface: Interface {
        controller_trait: ControllerTrait {
            interface: "Handlers",
            method: "register",
            arguments: ["", ""],
            cleanup: None,
        },
        cleanup: Cleanup::Finalizer,
        parents: None,
    },
    rule: "`register` lists the handlers. Each is called until it succeeds or fails for good, and again if the operator crashes during the call. The runtime records the progress by the id of the handler, so do not change the ids. Write the status only with `call.cx().update_status`.",
    prunes: false,
    has_provider: false,
    records_history: true,
    example_child: |_| None,
    unused_fields: |_, _, _| vec![],
    files: |subject| example::files(subject, &STYLE),
};

const STYLE: Style = Style {
    prefix: "handlers_",
    source: ["cx", "Context"],
    is_shared: false,
    binds_child: "",
    child_status: "",
    returns_status: false,
    child: |_| Child::Events,
};
