//! The options in the query of a request. Invalid options are rejected before any other check.

use super::call::Call;
use crate::go;
use crate::kinds::rule::field::unsupported;
use crate::kinds::rule::metadata;
use crate::model::{Cause, Failure, Result};

const NOT_OLDER_THAN: &str = "NotOlderThan";

const FORBIDDEN_WITH_CONTINUE: &str = "resourceVersionMatch is forbidden when continue is provided";

/// Checks the query for a verb.
pub(crate) fn check(call: &Call, verb: &str) -> Result<()> {
    let options = match verb {
        "create" => "CreateOptions",
        "update" => "UpdateOptions",
        "patch" => "PatchOptions",
        "deletecollection" => return check_list(call, call.flag("watch")),
        "list" | "watch" => return check_list(call, verb == "watch"),
        _ => return Ok(()),
    };
    let causes = writes(call);
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Failure::invalid_options(options, causes))
    }
}

/// The violations in the options of a write.
fn writes(call: &Call) -> Vec<Cause> {
    let mut causes = Vec::new();
    let manager = call.param("fieldManager");
    metadata::manager("fieldManager", manager, &mut causes);
    causes.extend(dry_run(call));
    let validation = call.param("fieldValidation");
    if !matches!(validation, "" | "Ignore" | "Strict" | "Warn") {
        let (found, allowed) = (format!("{validation:?}"), &["", "Ignore", "Strict", "Warn"]);
        causes.push(unsupported("fieldValidation", found, allowed));
    }
    causes
}

fn dry_run(call: &Call) -> Option<Cause> {
    let wanted = call.query.get("dryRun").filter(|wanted| *wanted != "All")?;
    Some(unsupported("dryRun", format!("[{wanted:?}]"), &["All"]))
}

fn check_list(call: &Call, is_watch: bool) -> Result<()> {
    for field in ["timeoutSeconds", "limit"] {
        if let Some(number) = call.query.get(field) {
            go::parse_int(number).map_err(Failure::bad_request)?;
        }
    }
    let causes = if is_watch { watches(call) } else { lists(call) };
    if causes.is_empty() {
        Ok(())
    } else {
        Err(Failure::invalid_options("ListOptions", causes))
    }
}

/// Whether a watch [starts with initial events], because its version is 0 or missing and the query does not decide.
///
/// [starts with initial events]: https://kubernetes.io/docs/reference/using-api/api-concepts/#streaming-lists
pub(crate) fn is_from_beginning(call: &Call) -> bool {
    !call.query.contains_key("sendInitialEvents")
        && call.param("resourceVersionMatch").is_empty()
        && matches!(call.param("resourceVersion"), "" | "0")
}

fn watches(call: &Call) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut streams = call.query.contains_key("sendInitialEvents");
    let mut matching = call.param("resourceVersionMatch");
    if is_from_beginning(call) {
        (streams, matching) = (true, NOT_OLDER_THAN);
    }
    let mut forbid = |text: &str| causes.push(Cause::forbidden("resourceVersionMatch", text));
    if streams && matching != NOT_OLDER_THAN {
        forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
    }
    if matching.is_empty() {
        return causes;
    }
    if !streams {
        forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
    }
    if matching != NOT_OLDER_THAN {
        let found = format!("{matching:?}");
        causes.push(unsupported(
            "resourceVersionMatch",
            found,
            &[NOT_OLDER_THAN],
        ));
    }
    if !call.param("continue").is_empty() {
        causes.push(Cause::forbidden(
            "resourceVersionMatch",
            FORBIDDEN_WITH_CONTINUE,
        ));
    }
    causes
}

fn lists(call: &Call) -> Vec<Cause> {
    let mut causes = Vec::new();
    let matching = call.param("resourceVersionMatch");
    let version = call.param("resourceVersion");
    let mut forbid = |text: &str| causes.push(Cause::forbidden("resourceVersionMatch", text));
    if !matching.is_empty() {
        if version.is_empty() {
            forbid("resourceVersionMatch is forbidden unless resourceVersion is provided");
        }
        if !call.param("continue").is_empty() {
            forbid(FORBIDDEN_WITH_CONTINUE);
        }
        if matching == "Exact" && version == "0" {
            forbid("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
        }
        if !matches!(matching, "Exact" | NOT_OLDER_THAN) {
            let (found, allowed) = (format!("{matching:?}"), &["Exact", NOT_OLDER_THAN, ""]);
            causes.push(unsupported("resourceVersionMatch", found, allowed));
        }
    }
    if call.query.contains_key("sendInitialEvents") {
        let text = "sendInitialEvents is forbidden for list";
        causes.push(Cause::forbidden("sendInitialEvents", text));
    }
    causes
}
