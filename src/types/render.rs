//! Renders a type graph to the text of a module.
//!
//! ```text
//! /// What is wanted.
//! #[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema, Serialize)]
//! #[serde(rename_all = "camelCase")]
//! pub struct WidgetSpec {
//!     /// How many there are.
//!     #[serde(default, skip_serializing_if = "Option::is_none")]
//!     pub replicas: Option<i32>,
//! }
//! ```

use super::{
    accessor::accessors,
    graph::{Definition, Shape, Struct, Type, TypeGraph, Variant},
    import::{imports, support},
    plain::plain_root,
    root::Root,
    schema::derived_schema,
    schema_file::SchemaFile,
    supplement::Supplement,
    unique_name::UNRECOGNIZED,
    write::{Writer, comment, derive, renames_all, unknown_ident},
};
use crate::{
    rust::code::{attribute, indented, joined, literal},
    types::SchemaMode,
};

/// Renders the whole module. Large schemas go to `file` if it is given.
pub fn module(
    graph: &TypeGraph,
    root: &Root,
    mode: SchemaMode,
    supplement: &Supplement,
    file: &mut Option<SchemaFile<'_>>,
) -> String {
    let mut text = imports(graph, root, mode);
    let writer = Writer { graph, mode };
    let mut definitions = graph.definitions.iter();
    match root {
        Root::Plain(plain) => text += &plain_root(graph, plain, mode, supplement, file),
        Root::Derived(derived) => {
            let spec = definitions.next().map(|spec| writer.definition(spec, root));
            text += &format!("\n{}", spec.unwrap_or_default());
            text += &derived_schema(graph, derived, supplement);
        }
    }
    for definition in definitions {
        text.push('\n');
        text += &writer.definition(definition, root);
    }
    text + &support(graph, root, mode, supplement, file)
}

impl Writer<'_> {
    fn definition(&self, definition: &Definition, root: &Root) -> String {
        let doc = || comment(definition.doc.as_ref());
        match &definition.shape {
            Shape::Alias(first) => {
                let target = format!("{};\n", self.graph.get(*first).name);
                joined(&format!("pub type {} =", definition.name), &target)
            }
            Shape::Enum(variants) => doc() + &self.enumeration(definition, variants),
            Shape::Struct(shape) => {
                let kube = match root {
                    Root::Derived(derived) if self.is_spec(definition) => {
                        Some(derived.arguments.as_slice())
                    }
                    _ => None,
                };
                doc() + &self.structure(definition, shape, kube)
            }
        }
    }

    fn is_spec(&self, definition: &Definition) -> bool {
        self.graph.root.iter().any(|field| {
            field.wire == "spec"
                && matches!(&field.type_, Type::Named(id) if std::ptr::eq(self.graph.get(*id), definition))
        })
    }

    fn structure(
        &self,
        definition: &Definition,
        shape: &Struct,
        kube: Option<&[String]>,
    ) -> String {
        let name = &definition.name;
        let mut names = vec!["Clone", "Debug"];
        if shape.has_default {
            names.push("Default");
        }
        names.push("PartialEq");
        if kube.is_some() {
            names.push("CustomResource");
        }
        names.push("Deserialize");
        if self.mode == SchemaMode::Derive {
            names.push("JsonSchema");
        }
        names.push("Serialize");
        let mut text = derive(&names) + &attribute("kube", kube.unwrap_or_default());
        let renames = renames_all(&shape.fields);
        if renames {
            text += "#[serde(rename_all = \"camelCase\")]\n";
        }
        text += &self.schemars(&definition.schemars);
        if shape.is_empty() {
            return text + &format!("pub struct {name} {{}}\n");
        }
        let mut parts: Vec<String> = shape
            .fields
            .iter()
            .map(|field| self.field(field, renames))
            .collect();
        if shape.keeps_unknown {
            let ident = unknown_ident(&shape.fields);
            let skip = self.skip();
            parts.push(format!(
                "/// Fields that are not in the schema.\n#[serde(flatten)]\n{skip}pub {ident}: BTreeMap<String, serde_json::Value>,\n"
            ));
        }
        let fields = indented(&parts.join("\n"));
        text += &format!("pub struct {name} {{\n{fields}}}\n");
        text + &accessors(self.graph, definition, shape)
    }

    fn enumeration(&self, definition: &Definition, variants: &[Variant]) -> String {
        let name = &definition.name;
        let mut names = vec!["Clone", "Debug", "Eq", "PartialEq", "Deserialize"];
        if self.mode == SchemaMode::Derive {
            names.push("JsonSchema");
        }
        names.push("Serialize");
        let variants: String = variants
            .iter()
            .map(|variant| {
                let rename = (variant.ident != variant.wire)
                    .then(|| format!("rename = {}", literal(&variant.wire)));
                attribute("serde", rename.as_slice()) + &format!("{},\n", variant.ident)
            })
            .collect();
        let schemars = self.schemars(&definition.schemars);
        let skip = self.skip();
        let variants = indented(&format!(
            "{variants}/// A value that is not in this version of the schema.\n#[serde(untagged)]\n{skip}{UNRECOGNIZED}(String),\n"
        ));
        derive(&names) + &schemars + &format!("pub enum {name} {{\n{variants}}}\n")
    }
}
