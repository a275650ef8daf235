//! Generates the code that builds the schema of `crd()` from the derived schema: the function that reverts changes of the derives, the
//! functions that attributes call, and the parts that no attribute can express.
//!
//! An enum has a last variant for values that the schema does not list. schemars generates a union with it, which `closed` in the module
//! reverts.

use serde_json::Value;

use super::{
    attribute::{Argument, json},
    difference::fits_json,
    doc::UNWRAPPED,
    graph::{Definition, TypeGraph},
    root::{Derived, pretty},
    schema_file::SchemaFile,
    supplement::Supplement,
};
use crate::rust::code::{bracketed, indented, joined, json_literal, literal};

/// The statements in `crd()` of a plain root that create the whole schema.
pub fn generate(graph: &TypeGraph, supplement: &Supplement) -> String {
    let transform = if differs(graph, supplement) {
        "            .with_transform(as_defined)\n"
    } else {
        ""
    };
    let (binding, parts) = if supplement.parts.is_empty() {
        ("let schema", "")
    } else {
        ("let mut schema", "        put_parts(&mut schema);\n")
    };
    format!(
        "        let generator = schemars::generate::SchemaSettings::draft2020_12()
            .with(|settings| {{
                settings.inline_subschemas = true;
                settings.meta_schema = None;
            }})
{transform}            .into_generator();
        {binding} = generator.into_root_schema_for::<Self>();
{parts}"
    )
}

/// The impl of `JsonSchema` for a root with kube-derive's `CustomResource`: the schema that kube-derive generates would lack keywords.
pub fn derived_schema(graph: &TypeGraph, root: &Derived, supplement: &Supplement) -> String {
    let entry =
        |(keyword, value): (&String, &Value)| format!("{}: {}", literal(keyword), json(value));
    let mut entries: Vec<String> = root.schema.iter().map(entry).collect();
    let property = |(wire, type_): &(&str, String)| {
        format!("{}: generator.subschema_for::<{type_}>()", literal(wire))
    };
    let properties: Vec<String> = root.properties.iter().map(property).collect();
    entries.push(format!(
        "\"properties\": {}",
        bracketed("{", &properties, "}")
    ));
    let schema = format!("schemars::json_schema!({})", bracketed("{", &entries, "}"));
    let mut then = String::new();
    if differs(graph, supplement) {
        then += "as_defined(&mut schema);\n";
    }
    if !supplement.parts.is_empty() {
        then += "put_parts(&mut schema);\n";
    }
    let body = if then.is_empty() {
        format!("{schema}\n")
    } else {
        format!("let mut schema = {schema};\n{then}schema\n")
    };
    let name = &graph.root_name;
    let head = joined("impl JsonSchema", &format!("for {name} {{"));
    let body = indented(&indented(&body));
    let own = literal(name);
    format!(
        "
{head}
    fn schema_name() -> std::borrow::Cow<'static, str> {{
        {own}.into()
    }}

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {{
{body}    }}
}}
"
    )
}

/// Whether the derives add something that attributes cannot remove.
fn differs(graph: &TypeGraph, supplement: &Supplement) -> bool {
    supplement.unwraps || graph.fields().any(|field| field.optional)
}

/// The private items that attributes and [`generate`] or [`derived_schema`] refer to.
pub fn support(
    graph: &TypeGraph,
    supplement: &Supplement,
    file: &mut Option<SchemaFile<'_>>,
) -> String {
    let mut text = String::new();
    let mut in_file = serde_json::Map::new();
    for (name, value) in &supplement.functions {
        let is_large = file.is_some() && pretty(value).lines().count() > LARGE;
        let value = if is_large {
            in_file.insert(name.clone(), value.clone());
            format!("in_file({})", literal(name))
        } else if fits_json(value) {
            format!("serde_json::json!({})", json(value))
        } else {
            let json = json_literal(&pretty(value));
            format!("serde_json::from_str({json}).expect(\"the literal is valid JSON\")")
        };
        let value = indented(&value);
        text += &format!("\nfn {name}() -> serde_json::Value {{\n{value}\n}}\n");
    }
    if let Some(file) = file.as_mut().filter(|_| !in_file.is_empty()) {
        let included = file.put(pretty(&in_file.into()));
        text += &format!(
            "\n/// The schemas that functions return, by their names.\nconst SCHEMAS: &str = {included};\n{IN_FILE}"
        );
    }
    let is_closed = |definition: &Definition| definition.schemars.contains(&Argument::Closed);
    if graph.definitions.iter().any(is_closed) {
        text += CLOSED;
    }
    if differs(graph, supplement) {
        text += &as_defined(graph, supplement);
    }
    if supplement.unwraps {
        text += "\n";
        text += UNWRAPPED;
    }
    if !supplement.parts.is_empty() {
        text += PUT_PARTS;
        text += &parts(supplement);
    }
    text
}

/// The function that reverts what the derives add to the schema, with only the steps that this module needs.
fn as_defined(graph: &TypeGraph, supplement: &Supplement) -> String {
    let mut text = AS_DEFINED.to_owned();
    if graph.fields().any(|field| field.optional) {
        text += WITHOUT_NULL;
    }
    if supplement.unwraps {
        text += WITH_DESCRIPTION;
    }
    text += if supplement.has_verbatim {
        SUBSCHEMAS_BUT_VERBATIM
    } else {
        SUBSCHEMAS
    };
    text + "}\n"
}

fn parts(supplement: &Supplement) -> String {
    let parts: Value = supplement
        .parts
        .iter()
        .map(|(pointer, part)| (pointer.clone(), part.value.clone()))
        .collect();
    format!("\nconst PARTS: &str = {};\n", json_literal(&pretty(&parts)))
}

/// A value with more lines of JSON than this goes to the file beside the module.
const LARGE: usize = 100;

const IN_FILE: &str = "
/// Returns the schema of this name in the file.
fn in_file(name: &str) -> serde_json::Value {
    let mut schemas: serde_json::Value = serde_json::from_str(SCHEMAS).expect(\"the file is valid JSON\");
    schemas[name].take()
}
";

const CLOSED: &str = "
/// Removes the `anyOf` that schemars derives for the variant of unknown values, so that the schema is the
/// list of values again.
fn closed(schema: &mut schemars::Schema) {
    if let Some(serde_json::Value::Array(mut union)) = schema.remove(\"anyOf\")
        && let Some(serde_json::Value::Object(named)) = union.pop()
    {
        for (keyword, value) in named {
            if schema.get(&keyword).is_none() {
                schema.insert(keyword, value);
            }
        }
    }
}
";

const AS_DEFINED: &str = "
/// Makes the schema that schemars derives equal to that of the CRD.
fn as_defined(schema: &mut schemars::Schema) {
";

const WITHOUT_NULL: &str =
    "    // schemars permits null for each `Option`; in a CRD, only `nullable` does
    if let Some(serde_json::Value::Array(types)) = schema.get_mut(\"type\") {
        let type_ = types.swap_remove(0);
        schema.insert(\"type\".into(), type_);
        if let Some(serde_json::Value::Array(values)) = schema.get_mut(\"enum\") {
            values.retain(|value| !value.is_null());
        }
    }
";

const WITH_DESCRIPTION: &str =
    "    if let Some(serde_json::Value::String(description)) = schema.get_mut(\"description\") {
        *description = unwrapped(description);
    }
";

const SUBSCHEMAS: &str = "    schemars::transform::transform_subschemas(&mut as_defined, schema);
";

const SUBSCHEMAS_BUT_VERBATIM: &str =
    "    // a function returned the schema below this node exactly as it is in the CRD
    if schema.remove(\"x-verbatim\").is_none() {
        schemars::transform::transform_subschemas(&mut as_defined, schema);
    }
";

const PUT_PARTS: &str = "
/// Inserts the parts of the schema that no attribute can express, by their JSON pointers.
fn put_parts(schema: &mut schemars::Schema) {
    let parts: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(PARTS).expect(\"the constant is valid JSON\");
    for (pointer, part) in parts {
        let (parent, keyword) = pointer.rsplit_once('/').expect(\"it is a JSON pointer\");
        let parent = schema.pointer_mut(parent).expect(\"its parent exists\");
        parent[keyword] = part;
    }
}
";
