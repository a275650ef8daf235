//! What is odd about a schema, counted: one diagnostic for an oddity and kind, not thousands.

use std::collections::BTreeMap;

use operator_schema::{Schema, SchemaOrBool};

use super::{
    carry::{Carried, Reason},
    graph::TypeGraph,
};
use crate::{
    crd::Version,
    diagnostic::{Code, Diagnostic, Severity},
};

pub fn diagnostics(version: &Version, graph: &TypeGraph, carried: &Carried) -> Vec<Diagnostic> {
    let mut found = untyped(version, graph);
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
                message: format!("no attribute says {}{}", why(reason), such(count)),
                instead: Some("the module holds it as JSON".into()),
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
            "this: a description with lists, indents or markup, which no doc comment holds"
        }
        Reason::Long => "this: it is too large",
        Reason::Between => "this: a keyword of a list or map whose items are lists or maps",
        Reason::Envelope => "this: a constraint on apiVersion, kind or metadata",
    }
}

/// Where the schema does not say what a value is, and keywords that definitions do not have.
fn untyped(version: &Version, graph: &TypeGraph) -> Vec<Diagnostic> {
    let mut found = vec![];
    if let Some(first) = graph.untyped.first() {
        found.push(Diagnostic {
            code: Code::Untyped,
            severity: Severity::Note,
            pointer: first.clone(),
            message: format!(
                "the schema does not say what a value is{}",
                such(graph.untyped.len())
            ),
            instead: Some("it is `serde_json::Value`".into()),
            help: Some("give it a `type`, if the spec is yours".into()),
        });
    }
    let mut unknown = vec![];
    walk(
        &version.schema,
        version.schema_pointer(),
        &mut |schema, pointer| {
            unknown.extend(
                schema
                    .unknown
                    .keys()
                    .map(|keyword| (keyword.clone(), format!("{pointer}/{}", escaped(keyword)))),
            );
        },
    );
    if let Some((keyword, pointer)) = unknown.first() {
        found.push(Diagnostic {
            code: Code::UnknownKeyword,
            severity: Severity::Warning,
            pointer: pointer.clone(),
            message: format!(
                "`{keyword}` is no keyword of a definition's schema{}",
                such(unknown.len())
            ),
            instead: Some("it is passed over".into()),
            help: Some("remove it; the API server drops or refuses it".into()),
        });
    }
    found
}

/// A key as part of a JSON pointer.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Calls `visit` for a schema and all below it that have a place in the structure.
pub fn walk(schema: &Schema, pointer: String, visit: &mut impl FnMut(&Schema, &str)) {
    visit(schema, &pointer);
    for (wire, property) in &schema.properties {
        walk(
            property,
            format!("{pointer}/properties/{}", escaped(wire)),
            visit,
        );
    }
    if let Some(items) = &schema.items {
        walk(items, format!("{pointer}/items"), visit);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        walk(values, format!("{pointer}/additionalProperties"), visit);
    }
}
