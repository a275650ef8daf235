//! The diagnostics of a schema. Each kind of problem is reported once, with the number of places.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use operator_schema::Effect;

use super::{
    dangling,
    graph::TypeGraph,
    supplement::{Reason, Supplement},
};
use crate::{
    crd::{Version, keyword},
    diagnostic::{Code, Diagnostic, Severity},
};

pub fn diagnostics(
    version: &Version,
    graph: &TypeGraph,
    supplement: &Supplement,
) -> Vec<Diagnostic> {
    let mut diagnostics = incomplete(graph);
    diagnostics.extend(schema_warnings(version));
    diagnostics.extend(dangling::diagnostics(version));
    diagnostics.extend(atomic_conditions(version));
    diagnostics.extend(status_generation(version));
    let mut reasons: BTreeMap<Reason, (usize, &str)> = BTreeMap::new();
    for (pointer, part) in &supplement.parts {
        reasons.entry(part.reason).or_insert((0, pointer)).0 += 1;
    }
    diagnostics.extend(
        reasons
            .into_iter()
            .map(|(reason, (count, first))| Diagnostic {
                code: Code::NoAttribute,
                severity: Severity::Note,
                pointer: version.schema_pointer() + first,
                message: format!(
                    "no attribute can express {}{}",
                    describe(reason),
                    count_suffix(count)
                ),
                instead: Some("the module contains it as JSON".into()),
                help: None,
            }),
    );
    diagnostics
}

/// The number of places, if there are several.
fn count_suffix(count: usize) -> String {
    match count {
        1 => String::new(),
        count => format!(" ({count} such places)"),
    }
}

fn describe(reason: Reason) -> &'static str {
    match reason {
        Reason::Text => {
            "this: a description with lists, indentation or markup, which a doc comment cannot hold"
        }
        Reason::Long => "this: it is too large",
        Reason::Between => "this: a keyword of a list or map whose items are lists or maps",
        Reason::Envelope => "this: a constraint on apiVersion, kind or metadata",
    }
}

/// The diagnostics of places where the schema does not define a type, and of objects without fields.
fn incomplete(graph: &TypeGraph) -> Vec<Diagnostic> {
    let mut diagnostics = vec![];
    if let Some(first) = graph.pruned.first() {
        diagnostics.push(Diagnostic {
            code: Code::NoFields,
            severity: Severity::Note,
            pointer: first.clone(),
            message: format!(
                "the API server drops all fields of this object, because its schema has none{}",
                count_suffix(graph.pruned.len())
            ),
            instead: Some("its type is a struct without fields".into()),
            help: Some(
                "if it has fields, declare them, or set `x-kubernetes-preserve-unknown-fields: true`".into(),
            ),
        });
    }
    if let Some(first) = graph.untyped.first() {
        diagnostics.push(Diagnostic {
            code: Code::Untyped,
            severity: Severity::Note,
            pointer: first.clone(),
            message: format!(
                "the schema does not say which type a value has{}",
                count_suffix(graph.untyped.len())
            ),
            instead: Some("its type is `serde_json::Value`".into()),
            help: Some("add a `type` if the CRD is yours".into()),
        });
    }
    diagnostics
}

/// Reports a list `status.conditions` whose items have no owners of their own, because its items have no keys.
fn atomic_conditions(version: &Version) -> Option<Diagnostic> {
    let path = ["status", "conditions"];
    let conditions = path
        .iter()
        .try_fold(&version.schema, |schema, name| schema.properties.get(*name))?;
    let is_atomic = conditions.items.is_some() && conditions.list_type.as_deref() != Some("map");
    is_atomic.then(|| Diagnostic {
        code: Code::AtomicConditions,
        severity: Severity::Note,
        pointer: version.schema_pointer() + "/properties/status/properties/conditions",
        message: "writers of `status.conditions` replace each other's conditions, because the list has no keys".into(),
        instead: None,
        help: Some("if the CRD is yours, set `x-kubernetes-list-type: map` and `x-kubernetes-list-map-keys: [type]`".into()),
    })
}

/// Reports `status.observedGeneration` of a kind without the status subresource: each write of a status raises the generation then.
fn status_generation(version: &Version) -> Option<Diagnostic> {
    let status = version.schema.properties.get("status")?;
    let is_raised =
        !version.status_subresource && status.properties.contains_key("observedGeneration");
    is_raised.then(|| Diagnostic {
        code: Code::StatusGeneration,
        severity: Severity::Note,
        pointer: version.schema_pointer() + "/properties/status/properties/observedGeneration",
        message: "each write of `status.observedGeneration` raises `metadata.generation`, because there is no status subresource".into(),
        instead: None,
        help: Some("if the CRD is yours, set `subresources: {status: {}}`; otherwise, do not write the field".into()),
    })
}

/// The problems of a schema that the API server accepts silently.
fn schema_warnings(version: &Version) -> impl Iterator<Item = Diagnostic> {
    let mut schema_warnings: IndexMap<(Code, &str, &str), (usize, &str)> = IndexMap::new();
    for problem in &version.schema_warnings {
        let code = match problem.effect {
            Effect::Dropped => Code::UnknownKeyword,
            Effect::Refused | Effect::Contradiction => Code::Contradiction,
        };
        let what = (code, keyword(&problem.pointer), problem.message.as_str());
        schema_warnings
            .entry(what)
            .or_insert((0, &problem.pointer))
            .0 += 1;
    }
    schema_warnings
        .into_iter()
        .map(|((code, keyword, message), (count, first))| {
            let (message, instead, help) = match code {
                Code::UnknownKeyword => (
                    format!(
                        "`{keyword}` is not a keyword of a CRD's schema{}",
                        count_suffix(count)
                    ),
                    "it is ignored",
                    "remove it; the API server drops it, and kubectl refuses it",
                ),
                _ => (
                    format!("`{keyword}` {message}{}", count_suffix(count)),
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
