//! What is odd about a schema, counted: one diagnostic for an oddity and kind, not thousands.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use operator_schema::{Effect, Schema, SchemaOrBool};

use super::{
    carry::{Carried, Reason},
    dangling,
    graph::TypeGraph,
};
use crate::{
    crd::{Version, keyword},
    diagnostic::{Code, Diagnostic, Severity},
};

pub fn diagnostics(version: &Version, graph: &TypeGraph, carried: &Carried) -> Vec<Diagnostic> {
    let mut found = untyped(graph);
    found.extend(doubts(version));
    found.extend(unreadable(version));
    found.extend(dangling::diagnostics(version));
    let mut reasons: BTreeMap<Reason, (usize, &str)> = BTreeMap::new();
    for (pointer, part) in &carried.parts {
        reasons.entry(part.reason).or_insert((0, pointer)).0 += 1;
    }
    found.extend(
        reasons
            .into_iter()
            .map(|(reason, (count, first))| Diagnostic {
                code: Code::NoAttribute,
                severity: Severity::Note,
                pointer: version.schema_pointer() + first,
                message: format!("no attribute can express {}{}", why(reason), such(count)),
                instead: Some("the module contains it as JSON".into()),
                help: None,
            }),
    );
    found
}

/// How many places there are, where there is more than the one that is shown.
fn such(count: usize) -> String {
    match count {
        1 => String::new(),
        count => format!(" ({count} such places)"),
    }
}

fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Text => {
            "this: a description with lists, indentation or markup, which a doc comment cannot hold"
        }
        Reason::Long => "this: it is too large",
        Reason::Between => "this: a keyword of a list or map whose items are lists or maps",
        Reason::Envelope => "this: a constraint on apiVersion, kind or metadata",
    }
}

/// Where the schema does not say what a value is.
fn untyped(graph: &TypeGraph) -> Vec<Diagnostic> {
    let mut found = vec![];
    if let Some(first) = graph.untyped.first() {
        found.push(Diagnostic {
            code: Code::Untyped,
            severity: Severity::Note,
            pointer: first.clone(),
            message: format!(
                "the schema does not say which type a value has{}",
                such(graph.untyped.len())
            ),
            instead: Some("its type is `serde_json::Value`".into()),
            help: Some("add a `type` if the spec is yours".into()),
        });
    }
    found
}

/// What the API server takes of the schema without a word.
fn doubts(version: &Version) -> impl Iterator<Item = Diagnostic> {
    let mut doubts: IndexMap<(Code, &str, &str), (usize, &str)> = IndexMap::new();
    for problem in &version.doubts {
        let code = match problem.effect {
            Effect::Dropped => Code::UnknownKeyword,
            Effect::Refused | Effect::Contradiction => Code::Contradiction,
        };
        let what = (code, keyword(&problem.pointer), problem.message.as_str());
        doubts.entry(what).or_insert((0, &problem.pointer)).0 += 1;
    }
    doubts
        .into_iter()
        .map(|((code, keyword, message), (count, first))| {
            let (message, instead, help) = match code {
                Code::UnknownKeyword => (
                    format!(
                        "`{keyword}` is not a keyword of a CRD's schema{}",
                        such(count)
                    ),
                    "it is ignored",
                    "remove it; the API server drops it, and kubectl refuses it",
                ),
                _ => (
                    format!("`{keyword}` {message}{}", such(count)),
                    "the types ignore it",
                    "fix the schema: the API server accepts it, but rejects objects",
                ),
            };
            Diagnostic {
                code,
                severity: Severity::Warning,
                pointer: version.schema_pointer() + first,
                message,
                instead: Some(instead.into()),
                help: Some(help.into()),
            }
        })
}

/// Rules that are no CEL to the evaluator.
fn unreadable(version: &Version) -> impl Iterator<Item = Diagnostic> {
    let rules = operator_schema::unreadable_rules(&version.schema);
    rules.into_iter().map(|unsupported| Diagnostic {
        code: Code::UnreadableRule,
        severity: Severity::Warning,
        pointer: version.schema_pointer() + &unsupported.pointer,
        // what is behind the first line is the rule again
        message: format!(
            "this is not valid CEL: {}",
            unsupported.what.lines().next().unwrap_or_default()
        ),
        instead: Some("samples and tests ignore this rule".into()),
        help: Some(
            "fix the rule: the API server rejects a CRD with a rule that it can't parse".into(),
        ),
    })
}

/// Calls `visit` for a schema and all below it that have a place in the structure.
pub fn walk(schema: &Schema, visit: &mut impl FnMut(&Schema)) {
    visit(schema);
    for property in schema.properties.values() {
        walk(property, visit);
    }
    if let Some(items) = &schema.items {
        walk(items, visit);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        walk(values, visit);
    }
}
