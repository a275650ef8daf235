//! The preconditions of a deletion, and the failures if they do not hold.

use serde_json::Value;

use super::Options;
use crate::kinds::strategy;
use crate::model::metadata::{name, text};
use crate::model::{Failure, Kind, Result};

/// Rejects an object whose uid or version differs from the one that the client expects.
pub(crate) fn check(kind: &Kind, live: &Value, options: &Options) -> Result<()> {
    if strategy(kind).terminate.is_some() {
        check_in_store(kind, live, options)
    } else {
        check_usually(kind, live, options)
    }
}

/// Checks the preconditions of kinds with an own `terminate`, for which the storage checks them, with other messages.
fn check_in_store(kind: &Kind, live: &Value, options: &Options) -> Result<()> {
    let wanted = [
        ("UID", &options.uid, "uid"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
        ),
    ];
    for (what, wanted, field) in wanted {
        let has = text(live, field);
        if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != has) {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {has}"
            );
            return Err(Failure::conflict(kind, name(live), &why));
        }
    }
    Ok(())
}

fn check_usually(kind: &Kind, live: &Value, options: &Options) -> Result<()> {
    let refuse = |why: String| Err(Failure::precondition(kind, name(live), &why));
    if let Some(uid) = &options.uid
        && uid != text(live, "uid")
    {
        return refuse(format!(
            "the UID in the precondition ({uid}) does not match the UID in record ({}). The object might have been deleted and then recreated",
            text(live, "uid")
        ));
    }
    if let Some(version) = &options.resource_version
        && version != text(live, "resourceVersion")
    {
        return refuse(format!(
            "the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record ({}). The object might have been modified",
            text(live, "resourceVersion")
        ));
    }
    Ok(())
}
