//! Compares the CRD's schema with the schema that schemars derives from the types, and expresses each difference as an attribute of a type
//! or field. If no attribute can express a difference, it becomes a part: JSON of the CRD that `crd()` inserts into the derived schema. So
//! no schema loses anything.
//!
//! The attributes are those with a name of their own, such as `length`, `range`, `regex` and `inner`, and `extend` for everything else.
//! `extend("format" = null)` removes a keyword, because reading a CRD drops `null`.

use std::collections::{HashMap, HashSet};

use operator_schema::pointer;
use serde_json::{Map, Value};

use super::{
    attribute::{Argument, Extension},
    derived,
    difference::{NodeAttributes, add_nested_differences, differences},
    doc::{Doc, Readable, is_plain},
    function,
    graph::{Field, Shape, Type, TypeGraph, TypeId},
    lower::ENVELOPE,
    share::OF_FIELD,
    supplement::{Reason, SchemaPart, Supplement},
    validation,
};

/// Sets the attributes of the types and fields of a graph. `nodes` are the schemas of its definitions. Attributes of the types in `whole`
/// express the whole schema, including keywords that are otherwise attributes of the field.
pub fn set_schema_attributes(
    graph: &mut TypeGraph,
    schema: &Value,
    nodes: &[&Value],
    whole: &HashSet<TypeId>,
) -> Supplement {
    let mut comparison = Comparison {
        graph,
        nodes,
        whole,
        functions: function::names(graph),
        supplement: Supplement::default(),
    };
    let mut parts: HashMap<TypeId, Vec<(String, SchemaPart)>> = HashMap::new();
    let mut types = vec![];
    for (index, definition) in graph.definitions.iter().enumerate() {
        let id = TypeId(index);
        let mut attributes = comparison.of_type(id);
        let fields = match &definition.shape {
            Shape::Struct(shape) => shape.fields.as_slice(),
            _ => &[],
        };
        let fields = comparison.of_fields(
            &definition.path,
            fields,
            nodes[index],
            &mut attributes.parts,
        );
        parts.insert(id, std::mem::take(&mut attributes.parts));
        types.push((attributes.arguments(), fields));
    }
    let mut attributes = comparison.of_root(schema);
    let mut root = comparison.of_fields(&[], &graph.root, schema, &mut attributes.parts);
    let mut supplement = comparison.supplement;
    parts.retain(|_, own| !own.is_empty());
    if !parts.is_empty() {
        for field in &graph.root {
            let pointer = property(&field.wire);
            collect_parts(graph, &field.type_, pointer, &parts, &mut attributes.parts);
        }
    }
    supplement
        .parts
        .extend(std::mem::take(&mut attributes.parts));
    if supplement.unwraps {
        let fields = types.iter_mut().flat_map(|(_, fields)| fields);
        let arguments = fields.chain(&mut root).flatten();
        supplement.has_verbatim = function::mark(arguments, &supplement.functions);
    }

    for (definition, (arguments, fields)) in graph.definitions.iter_mut().zip(types) {
        definition.schemars = arguments;
        if let Shape::Struct(shape) = &mut definition.shape {
            assign(&mut shape.fields, fields);
        }
    }
    assign(&mut graph.root, root);
    graph.root_schemars = attributes.arguments();
    supplement
}

fn assign(fields: &mut [Field], arguments: Vec<Vec<Argument>>) {
    for (field, arguments) in fields.iter_mut().zip(arguments) {
        field.schemars = arguments;
    }
}

/// Collects the parts of a type for each of its places in the schema.
fn collect_parts(
    graph: &TypeGraph,
    type_: &Type,
    pointer: String,
    parts: &HashMap<TypeId, Vec<(String, SchemaPart)>>,
    collected: &mut Vec<(String, SchemaPart)>,
) {
    match type_ {
        Type::Vec(inner) => collect_parts(graph, inner, pointer + "/items", parts, collected),
        Type::Map(inner) => {
            collect_parts(
                graph,
                inner,
                pointer + "/additionalProperties",
                parts,
                collected,
            );
        }
        Type::Nullable(inner) => collect_parts(graph, inner, pointer, parts, collected),
        Type::Named(id) => {
            let id = graph.first(*id);
            let own = parts.get(&id).into_iter().flatten();
            collected.extend(own.map(|(below, part)| (pointer.clone() + below, part.clone())));
            if let Shape::Struct(shape) = &graph.get(id).shape {
                for field in &shape.fields {
                    let pointer = pointer.clone() + &property(&field.wire);
                    collect_parts(graph, &field.type_, pointer, parts, collected);
                }
            }
        }
        _ => {}
    }
}

fn property(wire: &str) -> String {
    format!("/properties/{}", pointer::escape(wire))
}

/// The state of the comparison; the supplement grows with each node.
struct Comparison<'a> {
    graph: &'a TypeGraph,
    nodes: &'a [&'a Value],
    whole: &'a HashSet<TypeId>,
    /// The names of the functions for fields, by the paths of the fields.
    functions: HashMap<Vec<String>, String>,
    supplement: Supplement,
}

impl Comparison<'_> {
    /// The attributes of a type. An alias has none.
    fn of_type(&mut self, id: TypeId) -> NodeAttributes {
        let mut attributes = NodeAttributes::default();
        let definition = self.graph.get(id);
        if matches!(definition.shape, Shape::Alias(_)) {
            return attributes;
        }
        let mut wanted = derived::own(self.nodes[id.0]);
        if self.whole.contains(&id) {
            self.describe(definition.doc.as_ref(), &mut wanted, false, &mut attributes);
        } else {
            wanted.retain(|keyword, _| !OF_FIELD.contains(&keyword.as_str()));
        }
        let mut derived = derived::shape(&definition.shape);
        if matches!(definition.shape, Shape::Enum(_)) {
            // an `anyOf` of the CRD replaces the derived one
            if wanted.contains_key("anyOf") {
                derived.clear();
            } else {
                attributes.arguments.push(Argument::Closed);
            }
        }
        attributes.extend(differences(&derived, &wanted));
        attributes
    }

    /// The attributes of the root. Constraints on `apiVersion`, `kind` and `metadata` become parts.
    fn of_root(&mut self, schema: &Value) -> NodeAttributes {
        let mut attributes = NodeAttributes::default();
        let mut wanted = derived::own(schema);
        wanted.shift_remove("title");
        let doc = schema["description"].as_str().map(|text| Doc::new(0, text));
        self.describe(doc.as_ref(), &mut wanted, false, &mut attributes);
        let required = self.graph.root.iter().filter(|field| !field.optional);
        let derived = derived::object(required.map(|field| field.wire.as_str()).collect());
        attributes.extend(differences(&derived, &wanted));
        let envelope: Vec<_> = ENVELOPE
            .iter()
            .filter_map(|wire| {
                let node = schema["properties"].get(wire)?.as_object()?;
                let is_open = node
                    .keys()
                    .all(|keyword| ["type", "description"].contains(&keyword.as_str()));
                (!is_open).then(|| (*wire, Value::Object(node.clone())))
            })
            .collect();
        if self.graph.root.is_empty() && !envelope.is_empty() {
            let properties = envelope
                .into_iter()
                .map(|(wire, node)| (wire.to_owned(), node));
            attributes.part("properties", properties.collect(), Reason::Envelope);
        } else {
            for (wire, node) in envelope {
                attributes.part(&format!("properties/{wire}"), node, Reason::Envelope);
            }
        }
        attributes
    }

    fn of_fields(
        &mut self,
        owner: &[String],
        fields: &[Field],
        node: &Value,
        parts: &mut Vec<(String, SchemaPart)>,
    ) -> Vec<Vec<Argument>> {
        let of_field = |field: &Field| {
            let mut attributes = self.of_field(owner, field, &node["properties"][&field.wire]);
            let own = attributes.parts.drain(..);
            parts.extend(own.map(|(below, part)| (property(&field.wire) + &below, part)));
            attributes.arguments()
        };
        fields.iter().map(of_field).collect()
    }

    /// The attributes of a field; `owner` is the path of its struct.
    fn of_field(&mut self, owner: &[String], field: &Field, node: &Value) -> NodeAttributes {
        let mut attributes = NodeAttributes::default();
        let (derived, mut wanted) = match &field.type_ {
            Type::Named(id) => (self.of_named(self.graph.first(*id)), derived::own(node)),
            type_ => match (derived::node(type_), derived::wanted(type_, node)) {
                (Value::Object(derived), Value::Object(wanted)) => (derived, wanted),
                (_, Value::Object(wanted)) => (Map::new(), wanted),
                _ => (Map::new(), Map::new()),
            },
        };
        self.of_option(field, node, &mut attributes);
        self.describe(
            field.doc.as_ref(),
            &mut wanted,
            derived.contains_key("description"),
            &mut attributes,
        );
        let mut differences = differences(&derived, &wanted);
        let type_ = derived.get("type").and_then(Value::as_str);
        attributes.arguments.extend(validation::take(
            type_.unwrap_or_default(),
            &mut differences,
        ));
        if matches!(field.type_, Type::Kubernetes(_)) {
            let at = differences
                .iter()
                .position(|(keyword, _)| keyword == "properties");
            if let Some((keyword, value)) = at.map(|at| differences.remove(at)) {
                self.call(owner, field, keyword, value, &mut attributes);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(at) = differences.iter().position(|(other, _)| other == keyword) {
                self.of_inner(
                    owner,
                    field,
                    &derived,
                    differences.remove(at),
                    &mut attributes,
                );
            }
        }
        attributes.extend(differences);
        if field.type_ == Type::Any && attributes.extensions.is_empty() {
            attributes
                .extensions
                .push(("type".into(), Extension::Json(Value::Null)));
        }
        attributes
    }

    /// The keywords that a type's own attributes express.
    fn of_named(&self, id: TypeId) -> Map<String, Value> {
        let mut own = derived::own(self.nodes[id.0]);
        if !self.whole.contains(&id) {
            own.retain(|keyword, _| !OF_FIELD.contains(&keyword.as_str()));
            if let Some(doc) = &self.graph.get(id).doc {
                own.insert("description".into(), doc.description.as_str().into());
            }
        }
        own
    }

    /// Reverts what an `Option` does to the schema, except for the null, which `crd()` removes.
    fn of_option(&self, field: &Field, node: &Value, attributes: &mut NodeAttributes) {
        if field.nullable && !field.optional && field.type_ != Type::Any {
            attributes.arguments.push(Argument::Required);
            return;
        }
        let is_wrapped = |type_: &Type| match type_ {
            Type::Named(id) => {
                derived::option_changes_more_than_type(self.nodes[self.graph.first(*id).0])
            }
            _ => false,
        };
        let is_wrapped_inside =
            |type_: &Type| matches!(type_, Type::Nullable(inner) if is_wrapped(inner));
        if field.optional && is_wrapped(&field.type_) || field.type_.any(&is_wrapped_inside) {
            let type_ = field.type_.without_nullable();
            attributes.arguments.push(Argument::With(type_));
        } else if field.optional && derived::has_null_value(node) {
            let type_ = Extension::Json(node["type"].clone());
            attributes.extensions.push(("type".into(), type_));
        }
    }

    /// Removes the description from `wanted`, and expresses it by the doc comment, an argument or a part.
    fn describe(
        &mut self,
        doc: Option<&Doc>,
        wanted: &mut Map<String, Value>,
        has_foreign: bool,
        attributes: &mut NodeAttributes,
    ) {
        wanted.shift_remove("description");
        let Some(doc) = doc else {
            if has_foreign {
                attributes
                    .extensions
                    .push(("description".into(), Extension::Json(Value::Null)));
            }
            return;
        };
        match doc.readable() {
            Readable::AsIs => {}
            Readable::Unwrapped => self.supplement.unwraps = true,
            Readable::No if is_plain(&doc.description) && !doc.description.is_empty() => {
                let text = doc.description.clone();
                attributes.arguments.push(Argument::Description(text));
            }
            Readable::No => {
                let part = SchemaPart {
                    value: doc.description.as_str().into(),
                    reason: Reason::Text,
                };
                attributes.parts.push(("/description".into(), part));
            }
        }
    }

    /// Expresses the differences in the schema of items or values.
    fn of_inner(
        &mut self,
        owner: &[String],
        field: &Field,
        derived: &Map<String, Value>,
        (keyword, wanted): (String, Value),
        attributes: &mut NodeAttributes,
    ) {
        let (Type::Vec(inner) | Type::Map(inner)) = &field.type_ else {
            return attributes.extend(vec![(keyword, wanted)]);
        };
        let derived = derived.get(&keyword).unwrap_or(&Value::Null);
        if inner.any(&|part| matches!(part, Type::Named(_))) {
            add_nested_differences(
                format!("/{keyword}"),
                derived,
                &wanted,
                &mut attributes.parts,
            );
        } else if let Some(arguments) = validation::inner(&keyword, derived, &wanted) {
            attributes.arguments.push(Argument::Inner(arguments));
        } else if matches!(**inner, Type::Kubernetes(_)) {
            self.call(owner, field, keyword, wanted, attributes);
        } else {
            attributes.extend(vec![(keyword, wanted)]);
        }
    }

    /// Expresses a keyword of a foreign type, which has no attributes of ours, by a call of a function.
    fn call(
        &mut self,
        owner: &[String],
        field: &Field,
        keyword: String,
        value: Value,
        attributes: &mut NodeAttributes,
    ) {
        let path = [owner, std::slice::from_ref(&field.wire)].concat();
        let Some(own) = self.functions.get(&path) else {
            return;
        };
        let functions = &mut self.supplement.functions;
        let name = match functions.iter().find(|(_, known)| *known == value) {
            Some((name, _)) => name.clone(),
            None => {
                functions.push((own.clone(), value));
                own.clone()
            }
        };
        attributes.extensions.push((keyword, Extension::Call(name)));
    }
}
