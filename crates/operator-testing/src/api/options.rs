//! The options in the query of a request: what of them is refused before anything else is looked at.

use super::request::Call;
use super::status::{Cause, Failure, Result};

/// Checks what the query says to a verb.
pub(crate) fn check(call: &Call, verb: &str) -> Result<()> {
    let causes = match verb {
        "create" | "update" | "patch" => writes(call),
        "delete" | "deletecollection" => dry_run(call).into_iter().collect(),
        "list" | "watch" => return check_list(call, verb == "watch"),
        _ => Vec::new(),
    };
    let options = match verb {
        "create" => "CreateOptions",
        "update" => "UpdateOptions",
        "patch" => "PatchOptions",
        _ => "DeleteOptions",
    };
    match causes.is_empty() {
        true => Ok(()),
        false => Err(Failure::invalid_options(options, causes)),
    }
}

fn writes(call: &Call) -> Vec<Cause> {
    let mut causes = Vec::new();
    let manager = call.param("fieldManager");
    if manager.len() > 128 {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: "Too long: may not be more than 128 bytes".into(),
            field: "fieldManager".into(),
        });
    }
    if let Some((at, letter)) = manager
        .char_indices()
        .find(|(_, letter)| letter.is_control())
    {
        let text = format!(
            "Invalid value: {manager:?}: invalid character U+{:04X} (at position {at})",
            u32::from(letter)
        );
        causes.push(Cause::invalid("fieldManager", text));
    }
    causes.extend(dry_run(call));
    let validation = call.param("fieldValidation");
    if !matches!(validation, "" | "Ignore" | "Strict" | "Warn") {
        let text = format!(
            "Unsupported value: {validation:?}: supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
        );
        causes.push(Cause::unsupported("fieldValidation", text));
    }
    causes
}

fn dry_run(call: &Call) -> Option<Cause> {
    let wanted = call.query.get("dryRun").filter(|wanted| *wanted != "All")?;
    let text = format!("Unsupported value: [{wanted:?}]: supported values: \"All\"");
    Some(Cause::unsupported("dryRun", text))
}

fn check_list(call: &Call, is_watch: bool) -> Result<()> {
    let (matching, version) = (
        call.param("resourceVersionMatch"),
        call.param("resourceVersion"),
    );
    let timeout = call.param("timeoutSeconds");
    if !timeout.is_empty() && timeout.parse::<i64>().is_err() {
        let text = format!("strconv.ParseInt: parsing {timeout:?}: invalid syntax");
        return Err(Failure::bad_request(text));
    }
    let streams = call.query.contains_key("sendInitialEvents");
    let mut causes = Vec::new();
    let mut forbid = |field: &str, text: &str| causes.push(Cause::forbidden(field, text));
    if is_watch {
        if streams && matching != "NotOlderThan" {
            let text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
            forbid("resourceVersionMatch", text);
        }
        if streams && !matches!(matching, "" | "NotOlderThan") {
            let text =
                format!("Unsupported value: {matching:?}: supported values: \"NotOlderThan\"");
            causes.push(Cause::unsupported("resourceVersionMatch", text));
        } else if !streams && !matching.is_empty() {
            let mut forbid = |field: &str, text: &str| causes.push(Cause::forbidden(field, text));
            let text =
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            forbid("resourceVersionMatch", text);
        }
    } else {
        if streams {
            forbid(
                "sendInitialEvents",
                "sendInitialEvents is forbidden for list",
            );
        }
        if !matching.is_empty() && version.is_empty() {
            let text = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            forbid("resourceVersionMatch", text);
        }
        if !matching.is_empty() && !call.param("continue").is_empty() {
            let text = "resourceVersionMatch is forbidden when continue is provided";
            forbid("resourceVersionMatch", text);
        }
        if !matches!(matching, "" | "Exact" | "NotOlderThan") {
            let text = format!(
                "Unsupported value: {matching:?}: supported values: \"Exact\", \"NotOlderThan\", \"\""
            );
            causes.push(Cause::unsupported("resourceVersionMatch", text));
        } else if matching == "Exact" && version == "0" {
            let text = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            forbid("resourceVersionMatch", text);
        }
    }
    match causes.is_empty() {
        true => Ok(()),
        false => Err(Failure::invalid_options("ListOptions", causes)),
    }
}
