//! The failures of a proof: one for each field and kind of failure, whatever the number of objects.

use std::collections::BTreeMap;

use serde_json::Value;

/// Failures, by version, field (without indices) and kind of failure.
#[derive(Default)]
pub(super) struct Report {
    failures: BTreeMap<String, String>,
}

impl Report {
    /// Adds a failure of a field. `what` says what happened to it, `help` what to do. Only the first of its kind is reported.
    pub fn add(&mut self, version: &str, field: &str, kind: &str, what: &str, help: &str) {
        let key = format!("{version} {} {kind}", without_indices(field));
        let failure = || format!("{version} {field}: {what}\n  help: {help}");
        self.failures.entry(key).or_insert_with(failure);
    }

    pub fn into_lines(self) -> Vec<String> {
        self.failures.into_values().collect()
    }
}

/// A value on one line, which is cut if it is long.
pub(super) fn shown(value: Option<&Value>) -> String {
    const LONGEST: usize = 160;
    let Some(value) = value else {
        return "absent".into();
    };
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn without_indices(field: &str) -> String {
    let mut name = String::new();
    let mut is_inside = false;
    for next in field.chars() {
        is_inside &= next != ']';
        if !is_inside {
            name.push(next);
        }
        is_inside |= next == '[';
    }
    name
}
