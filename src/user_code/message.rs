//! Reads the messages of `cargo check --message-format=json` about the user's code.

use std::collections::BTreeSet;

use cargo_metadata::{
    Message,
    diagnostic::{Diagnostic, DiagnosticLevel},
};

use super::{Use, mark};

/// A use of an item that changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeprecatedUse {
    pub at: Use,
    /// Whether the item is removed.
    pub is_removed: bool,
    /// Whether it is in the library, which is always checked.
    pub is_library: bool,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckResult {
    /// Uses of deprecated items, in the order of files and lines.
    pub deprecated: BTreeSet<DeprecatedUse>,
    pub errors: BTreeSet<Use>,
    /// Whether names could not be resolved, so that nothing else was checked.
    pub is_unresolved: bool,
    /// Whether the library has errors, so that nothing which uses it was checked.
    pub is_library_broken: bool,
}

/// Reads the messages of one check. `is_users` gets the path of a file relative to the project's folder.
pub fn read_messages(output: &[u8], is_users: impl Fn(&str) -> bool) -> CheckResult {
    let mut checked = CheckResult::default();
    for message in Message::parse_stream(output).map_while(Result::ok) {
        let Message::CompilerMessage(message) = message else {
            continue;
        };
        let is_error = message.message.level == DiagnosticLevel::Error;
        let code = message.message.code.as_ref();
        let code = code.map(|code| code.code.as_str()).unwrap_or_default();
        if is_error {
            checked.is_unresolved |= RESOLUTION.contains(&code);
            checked.is_library_broken |= message.target.is_lib();
        }
        for at in places(&message.message).filter(|at| is_users(&at.path)) {
            if code == "deprecated" {
                let is_removed = message.message.message.ends_with(mark::REMOVED);
                // other items may be deprecated for other reasons
                if is_removed || message.message.message.ends_with(mark::RETYPED) {
                    checked.deprecated.insert(DeprecatedUse {
                        at,
                        is_removed,
                        is_library: message.target.is_lib(),
                    });
                }
            } else if is_error {
                checked.errors.insert(at);
            }
        }
    }
    checked
}

/// The codes of errors that rustc reports before it checks types (<https://doc.rust-lang.org/error_codes/>).
const RESOLUTION: [&str; 8] = [
    "E0405", "E0412", "E0422", "E0423", "E0425", "E0432", "E0433", "E0531",
];

fn places(diagnostic: &Diagnostic) -> impl Iterator<Item = Use> {
    let message = diagnostic.message.lines().next().unwrap_or_default();
    let primary = diagnostic.spans.iter().filter(|span| span.is_primary);
    primary.map(move |span| Use {
        path: span.file_name.replace('\\', "/"),
        line: span.line_start,
        column: span.column_start,
        length: (span.byte_end - span.byte_start) as usize,
        message: message.to_owned(),
    })
}
