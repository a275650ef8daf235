//! What a definition's schema says beside what its types derive, as attributes of the types and fields. What no attribute can say
//! becomes a part: the definition's own JSON, which `crd()` puts in its place.

use std::collections::{BTreeMap, HashMap, HashSet};

use operator_schema::pointer;
use serde_json::{Map, Value};

use super::{
    attribute::{Argument, Extension},
    derived,
    difference::{Found, between, differences},
    doc::{Doc, Readable, is_plain},
    function,
    graph::{Field, Shape, Type, TypeGraph, TypeId},
    lower::ENVELOPE,
    share::OF_FIELD,
    validation,
};

/// What a module has beside attributes, to say the whole schema.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// By their pointers from the root of the schema.
    pub parts: BTreeMap<String, Part>,
    /// Functions that attributes call, and what they return.
    pub functions: Vec<(String, Value)>,
    /// Whether a description is wrapped or escaped in its comment.
    pub unwraps: bool,
    /// Whether a node is marked in which none is.
    pub has_verbatim: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// `null` takes a keyword away.
    pub value: Value,
    pub reason: Reason,
}

/// Why there is no attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A description with line feeds and markup that no doc comment holds.
    Text,
    /// A value that the macro `json!` cannot read.
    Long,
    /// A list or map between a field and the type of its items.
    Between,
    /// `apiVersion`, `kind` and `metadata` have no fields that could have attributes.
    Envelope,
}

/// Gives the types and fields of a graph their attributes. `nodes` are the schemas of its definitions, `whole` those that carry all of it.
pub fn carry(
    graph: &mut TypeGraph,
    schema: &Value,
    nodes: &[&Value],
    whole: &HashSet<TypeId>,
) -> Carried {
    let mut carrying = Carrying {
        graph,
        nodes,
        whole,
        functions: function::names(graph),
        carried: Carried::default(),
    };
    let mut parts: HashMap<TypeId, Vec<(String, Part)>> = HashMap::new();
    let mut types = vec![];
    for (index, definition) in graph.definitions.iter().enumerate() {
        let id = TypeId(index);
        let mut found = carrying.of_type(id);
        let fields = match &definition.shape {
            Shape::Struct(shape) => shape.fields.as_slice(),
            _ => &[],
        };
        let fields = carrying.of_fields(&definition.path, fields, nodes[index], &mut found.parts);
        parts.insert(id, std::mem::take(&mut found.parts));
        types.push((found.arguments(), fields));
    }
    let mut found = carrying.of_root(schema);
    let mut root = carrying.of_fields(&[], &graph.root, schema, &mut found.parts);
    let mut carried = carrying.carried;
    parts.retain(|_, own| !own.is_empty());
    if !parts.is_empty() {
        for field in &graph.root {
            let pointer = property(&field.wire);
            place(graph, &field.type_, pointer, &parts, &mut found.parts);
        }
    }
    carried.parts.extend(std::mem::take(&mut found.parts));
    if carried.unwraps {
        let fields = types.iter_mut().flat_map(|(_, fields)| fields);
        let arguments = fields.chain(&mut root).flatten();
        carried.has_verbatim = function::mark(arguments, &carried.functions);
    }

    for (definition, (arguments, fields)) in graph.definitions.iter_mut().zip(types) {
        definition.schemars = arguments;
        if let Shape::Struct(shape) = &mut definition.shape {
            assign(&mut shape.fields, fields);
        }
    }
    assign(&mut graph.root, root);
    graph.root_schemars = found.arguments();
    carried
}

fn assign(fields: &mut [Field], arguments: Vec<Vec<Argument>>) {
    for (field, arguments) in fields.iter_mut().zip(arguments) {
        field.schemars = arguments;
    }
}

/// Collects the parts of types at all the places where they are.
fn place(
    graph: &TypeGraph,
    type_: &Type,
    pointer: String,
    parts: &HashMap<TypeId, Vec<(String, Part)>>,
    placed: &mut Vec<(String, Part)>,
) {
    match type_ {
        Type::Vec(inner) => place(graph, inner, pointer + "/items", parts, placed),
        Type::Map(inner) => {
            place(
                graph,
                inner,
                pointer + "/additionalProperties",
                parts,
                placed,
            );
        }
        Type::Nullable(inner) => place(graph, inner, pointer, parts, placed),
        Type::Named(id) => {
            let id = graph.first(*id);
            let own = parts.get(&id).into_iter().flatten();
            placed.extend(own.map(|(below, part)| (pointer.clone() + below, part.clone())));
            if let Shape::Struct(found) = &graph.get(id).shape {
                for field in &found.fields {
                    let pointer = pointer.clone() + &property(&field.wire);
                    place(graph, &field.type_, pointer, parts, placed);
                }
            }
        }
        _ => {}
    }
}

fn property(wire: &str) -> String {
    format!("/properties/{}", pointer::escape(wire))
}

struct Carrying<'a> {
    graph: &'a TypeGraph,
    nodes: &'a [&'a Value],
    whole: &'a HashSet<TypeId>,
    /// The functions that fields may have, by the paths of these.
    functions: HashMap<Vec<String>, String>,
    carried: Carried,
}

impl Carrying<'_> {
    fn of_type(&mut self, id: TypeId) -> Found {
        let mut found = Found::default();
        let definition = self.graph.get(id);
        if matches!(definition.shape, Shape::Alias(_)) {
            return found;
        }
        let mut wanted = derived::own(self.nodes[id.0]);
        if self.whole.contains(&id) {
            self.describe(definition.doc.as_ref(), &mut wanted, false, &mut found);
        } else {
            wanted.retain(|keyword, _| !OF_FIELD.contains(&keyword.as_str()));
        }
        let mut derived = derived::shape(&definition.shape);
        if matches!(definition.shape, Shape::Enum(_)) {
            // a union of the definition's own takes the place of the one that is derived
            if wanted.contains_key("anyOf") {
                derived.clear();
            } else {
                found.arguments.push(Argument::Closed);
            }
        }
        found.extend(differences(&derived, &wanted));
        found
    }

    fn of_root(&mut self, schema: &Value) -> Found {
        let mut found = Found::default();
        let mut wanted = derived::own(schema);
        wanted.shift_remove("title");
        let description = schema["description"].as_str();
        let doc = description.map(|text| Doc::new(0, text));
        self.describe(doc.as_ref(), &mut wanted, false, &mut found);
        let required = self.graph.root.iter().filter(|field| !field.optional);
        let derived = derived::object(required.map(|field| field.wire.as_str()).collect());
        found.extend(differences(&derived, &wanted));
        let envelope = ENVELOPE.iter().filter_map(|wire| {
            let node = schema["properties"].get(wire)?.as_object()?;
            let is_open = node
                .keys()
                .all(|keyword| ["type", "description"].contains(&keyword.as_str()));
            (!is_open).then(|| (*wire, Value::Object(node.clone())))
        });
        let envelope: Vec<_> = envelope.collect();
        if self.graph.root.is_empty() && !envelope.is_empty() {
            let properties = envelope
                .into_iter()
                .map(|(wire, node)| (wire.to_owned(), node));
            found.part("properties", properties.collect(), Reason::Envelope);
        } else {
            for (wire, node) in envelope {
                found.part(&format!("properties/{wire}"), node, Reason::Envelope);
            }
        }
        found
    }

    fn of_fields(
        &mut self,
        owner: &[String],
        fields: &[Field],
        node: &Value,
        parts: &mut Vec<(String, Part)>,
    ) -> Vec<Vec<Argument>> {
        let of_field = |field: &Field| {
            let mut found = self.of_field(owner, field, &node["properties"][&field.wire]);
            let own = found.parts.drain(..);
            parts.extend(own.map(|(below, part)| (property(&field.wire) + &below, part)));
            found.arguments()
        };
        fields.iter().map(of_field).collect()
    }

    fn of_field(&mut self, owner: &[String], field: &Field, node: &Value) -> Found {
        let mut found = Found::default();
        let (derived, mut wanted) = match &field.type_ {
            Type::Named(id) => (self.of_named(self.graph.first(*id)), derived::own(node)),
            type_ => match (derived::node(type_), derived::wanted(type_, node)) {
                (Value::Object(derived), Value::Object(wanted)) => (derived, wanted),
                (_, Value::Object(wanted)) => (Map::new(), wanted),
                _ => (Map::new(), Map::new()),
            },
        };
        self.of_option(field, node, &mut found);
        self.describe(
            field.doc.as_ref(),
            &mut wanted,
            derived.contains_key("description"),
            &mut found,
        );
        let mut differences = differences(&derived, &wanted);
        let type_ = derived.get("type").and_then(Value::as_str);
        found.arguments.extend(validation::take(
            type_.unwrap_or_default(),
            &mut differences,
        ));
        if matches!(field.type_, Type::Kubernetes(_)) {
            let at = differences
                .iter()
                .position(|(found, _)| found == "properties");
            if let Some((keyword, value)) = at.map(|at| differences.remove(at)) {
                self.call(owner, field, keyword, value, &mut found);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            if let Some(at) = differences.iter().position(|(found, _)| found == keyword) {
                self.of_inner(owner, field, &derived, differences.remove(at), &mut found);
            }
        }
        found.extend(differences);
        if field.type_ == Type::Any && found.extensions.is_empty() {
            found
                .extensions
                .push(("type".into(), Extension::Json(Value::Null)));
        }
        found
    }

    /// What a type's own attributes have said already.
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

    /// Takes back what an `Option` does to the schema, beside the null that `crd()` takes away.
    fn of_option(&self, field: &Field, node: &Value, found: &mut Found) {
        if field.nullable && !field.optional && field.type_ != Type::Any {
            found.arguments.push(Argument::Required);
            return;
        }
        let is_wrapped = |type_: &Type| match type_ {
            Type::Named(id) => derived::is_bent_by_option(self.nodes[self.graph.first(*id).0]),
            _ => false,
        };
        let is_wrapped_inside =
            |type_: &Type| matches!(type_, Type::Nullable(inner) if is_wrapped(inner));
        if field.optional && is_wrapped(&field.type_) || field.type_.any(&is_wrapped_inside) {
            let type_ = field.type_.without_nullable();
            found.arguments.push(Argument::With(type_));
        } else if field.optional && derived::has_null_value(node) {
            let type_ = Extension::Json(node["type"].clone());
            found.extensions.push(("type".into(), type_));
        }
    }

    /// Takes the description out of what is wanted, where a doc comment or an argument says it.
    fn describe(
        &mut self,
        doc: Option<&Doc>,
        wanted: &mut Map<String, Value>,
        has_foreign: bool,
        found: &mut Found,
    ) {
        wanted.shift_remove("description");
        let Some(doc) = doc else {
            if has_foreign {
                found
                    .extensions
                    .push(("description".into(), Extension::Json(Value::Null)));
            }
            return;
        };
        match doc.readable() {
            Readable::AsIs => {}
            Readable::Unwrapped => self.carried.unwraps = true,
            Readable::No if is_plain(&doc.description) && !doc.description.is_empty() => {
                let text = doc.description.clone();
                found.arguments.push(Argument::Description(text));
            }
            Readable::No => {
                let part = Part {
                    value: doc.description.as_str().into(),
                    reason: Reason::Text,
                };
                found.parts.push(("/description".into(), part));
            }
        }
    }

    /// The node of items or values.
    fn of_inner(
        &mut self,
        owner: &[String],
        field: &Field,
        derived: &Map<String, Value>,
        (keyword, wanted): (String, Value),
        found: &mut Found,
    ) {
        let inner = match &field.type_ {
            Type::Vec(inner) | Type::Map(inner) => inner,
            _ => return found.extend(vec![(keyword, wanted)]),
        };
        let derived = derived.get(&keyword).unwrap_or(&Value::Null);
        if inner.any(&|part| matches!(part, Type::Named(_))) {
            between(format!("/{keyword}"), derived, &wanted, &mut found.parts);
        } else if let Some(arguments) = validation::inner(&keyword, derived, &wanted) {
            found.arguments.push(Argument::Inner(arguments));
        } else if matches!(**inner, Type::Kubernetes(_)) {
            self.call(owner, field, keyword, wanted, found);
        } else {
            found.extend(vec![(keyword, wanted)]);
        }
    }

    /// What the definition says of a type that has no attributes of ours.
    fn call(
        &mut self,
        owner: &[String],
        field: &Field,
        keyword: String,
        value: Value,
        found: &mut Found,
    ) {
        let path = [owner, std::slice::from_ref(&field.wire)].concat();
        let Some(own) = self.functions.get(&path) else {
            return;
        };
        let functions = &mut self.carried.functions;
        let name = match functions.iter().find(|(_, known)| *known == value) {
            Some((name, _)) => name.clone(),
            None => {
                functions.push((own.clone(), value));
                own.clone()
            }
        };
        found.extensions.push((keyword, Extension::Call(name)));
    }
}
