//! Diagnostics for the fields whose type a plan changes, so that no type changes silently.

use operator_schema::{Schema, SchemaOrBool, pointer};

use crate::{
    diagnostic::{Code, Diagnostic, Severity},
    operator::{KindId, Subject},
    plan::Plan,
    render::RECORD,
    rust::version_module,
    types,
    workspace::open::OpenProject,
};

/// The diagnostics, each with its kind.
pub fn diagnostics(open: &OpenProject, plan: &Plan) -> Vec<(Subject, Diagnostic)> {
    let mut diagnostics = vec![];
    for change in &plan.changes {
        let (Some(path), Some(before), Some(after)) = (
            change.path.strip_prefix(RECORD),
            &change.before,
            &change.after,
        ) else {
            continue;
        };
        for (index, (kind, api)) in open.config.kinds.iter().zip(&open.apis).enumerate() {
            let is_of =
                |name: &str| path == format!("{}/{}", kind.module_name(), version_module(name));
            let Some(version) = api.versions.iter().find(|version| is_of(&version.name)) else {
                continue;
            };
            let diagnostic = |retype: types::Retype| Diagnostic {
                code: Code::Retyped,
                severity: Severity::Warning,
                pointer: version.schema_pointer() + &pointer(&version.schema, &retype.path),
                message: message(&version.name, &retype),
                instead: Some("`.operator/types/` records the new type".into()),
                help: Some(
                    "code that uses the field may need changes: run `cargo check --all-targets`"
                        .into(),
                ),
            };
            let retypes = types::retyped(before, after).into_iter().map(diagnostic);
            diagnostics
                .extend(retypes.map(|diagnostic| (Subject::Kind(KindId(index)), diagnostic)));
        }
    }
    diagnostics
}

fn message(version: &str, retype: &types::Retype) -> String {
    let types::Retype {
        path,
        value,
        before,
        after,
    } = retype;
    let of = match value {
        Some(value) => format!("variant of `{value}`"),
        None => "type".into(),
    };
    let path = path.join(".");
    format!("the {of} of `{path}` in {version} was `{before}` and is now `{after}`")
}

/// The JSON pointer of the property that wire names lead to, through the items and values between them.
fn pointer(schema: &Schema, wires: &[String]) -> String {
    let mut pointer = String::new();
    let mut schema = Some(schema);
    for wire in wires {
        while let Some(outer) = schema.filter(|schema| !schema.properties.contains_key(wire)) {
            schema = match (&outer.items, &outer.additional_properties) {
                (Some(items), _) => {
                    pointer += "/items";
                    Some(items)
                }
                (None, Some(SchemaOrBool::Schema(values))) => {
                    pointer += "/additionalProperties";
                    Some(values)
                }
                _ => None,
            };
        }
        pointer += &format!("/properties/{}", pointer::escape(wire));
        schema = schema.and_then(|schema| schema.properties.get(wire));
    }
    pointer
}
