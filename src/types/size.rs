//! Computes the size of values in memory, and boxes fields of large kinds.
//!
//! ```text
//! pub template: Option<Box<FleetSpecTemplate>>,
//! ```
//!
//! In a debug build, `serde` deserializers, `async` functions and `clone` hold several copies of a value on the stack, and a thread has 2
//! MiB. If a value of the kind is larger than [`LARGEST`], every struct in it is boxed, except `spec` and `status` of the root: all of
//! them, so that a new field in one does not change the type of another.

use super::{
    graph::{Field, Shape, Type, TypeGraph, TypeId},
    kubernetes::{TEXT, VALUE},
};

/// The size in bytes of the largest kind without boxes. The generated test of a kind uses 50 to 80 times this size on the stack.
const LARGEST: usize = 24 << 10;
/// A type of k8s-openapi of at least this size is boxed; smaller ones are references, selectors and the like.
const BULKY: usize = 256;

/// The size in bytes of an `ObjectMeta`.
const METADATA: usize = 360;

/// Boxes the structs of a kind whose values are too large. `spec` and `status` of the root are not boxed, because kube's traits return
/// references to them.
pub fn box_large(graph: &mut TypeGraph) {
    if size(graph) <= LARGEST {
        return;
    }
    let boxed: Vec<bool> = graph.fields().map(|field| is_boxed(graph, field)).collect();
    let structs = graph.definitions.iter_mut();
    let fields = structs.filter_map(|definition| match &mut definition.shape {
        Shape::Struct(shape) => Some(&mut shape.fields),
        _ => None,
    });
    let root = graph.root.iter_mut();
    for (field, boxed) in fields.flatten().chain(root).zip(boxed) {
        field.boxed = boxed;
    }
    for field in &mut graph.root {
        field.boxed &= field.wire != "spec" && field.wire != "status";
    }
}

fn is_boxed(graph: &TypeGraph, field: &Field) -> bool {
    match field.type_ {
        Type::Kubernetes(foreign) => foreign.size() >= BULKY,
        _ => graph.as_struct(&field.type_).is_some(),
    }
}

/// The size of a value of the kind without boxes.
fn size(graph: &TypeGraph) -> usize {
    let mut sizes = Sizes {
        graph,
        known: vec![None; graph.definitions.len()],
    };
    METADATA + sizes.of_fields(&graph.root)
}

/// The sizes of definitions; each is computed once.
struct Sizes<'a> {
    graph: &'a TypeGraph,
    known: Vec<Option<usize>>,
}

impl Sizes<'_> {
    fn of_fields(&mut self, fields: &[Field]) -> usize {
        fields.iter().map(|field| self.of_field(field)).sum()
    }

    fn of_field(&mut self, field: &Field) -> usize {
        // an `Option` of an integer is twice as large; the other types have a niche
        let is_option = field.optional || field.nullable;
        match &field.type_ {
            Type::Bool => 1,
            Type::I32 => 4 << u8::from(is_option),
            Type::I64 => 8 << u8::from(is_option),
            Type::Number => 16,
            Type::Any => VALUE,
            Type::Kubernetes(foreign) => foreign.size(),
            Type::Named(id) => self.of(self.graph.first(*id)),
            Type::String
            | Type::IntOrString
            | Type::Quantity
            | Type::Vec(_)
            | Type::Map(_)
            | Type::Nullable(_) => TEXT,
        }
    }

    fn of(&mut self, id: TypeId) -> usize {
        if let Some(size) = self.known[id.0] {
            return size;
        }
        let size = match &self.graph.get(id).shape {
            Shape::Struct(shape) => {
                self.of_fields(&shape.fields) + TEXT * usize::from(shape.keeps_unknown)
            }
            Shape::Enum(_) | Shape::Alias(_) => TEXT,
        };
        self.known[id.0] = Some(size);
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{kubernetes::Kubernetes, lower, tests::definition};
    use k8s_openapi::api::core::v1::{
        Affinity, PodSecurityContext, PodSpec, PodTemplateSpec, Probe,
    };

    fn graph(properties: &str) -> TypeGraph {
        let api = definition(properties);
        lower::lower(&api, &api.versions[0])
    }

    #[test]
    fn sizes_match_the_compiler() {
        let sizes = [
            ("Affinity", size_of::<Affinity>()),
            ("PodSecurityContext", size_of::<PodSecurityContext>()),
            ("PodSpec", size_of::<PodSpec>()),
            ("PodTemplateSpec", size_of::<PodTemplateSpec>()),
            ("Probe", size_of::<Probe>()),
        ];
        for (name, size) in sizes {
            let ours = Kubernetes::size_of(&format!("api::core::v1::{name}"));
            assert!(
                ours.abs_diff(size) * 8 <= size,
                "{name}: {ours}, not {size}"
            );
        }
        let metadata = size_of::<kube::core::ObjectMeta>();
        assert!(METADATA.abs_diff(metadata) * 8 <= metadata, "{metadata}");
    }

    /// A spec with this number of structs, each of which has this number of strings and another struct.
    fn parts(parts: usize, strings: usize) -> String {
        let strings: String = (0..strings)
            .map(|name| format!("s{name}: {{type: string}}, "))
            .collect();
        let part = format!(
            "{{type: object, properties: {{{strings}inner: {{type: object, properties: {{a: {{type: string}}}}}}}}}}"
        );
        let parts: String = (0..parts)
            .map(|name| format!("p{name}: {part}, "))
            .collect();
        format!(
            "          spec: {{type: object, properties: {{{parts}size: {{type: string}}}}}}\n          extra: {{type: object, properties: {{a: {{type: string}}}}}}"
        )
    }

    #[test]
    fn only_the_structs_of_a_large_kind_are_boxed() {
        let most = (LARGEST - METADATA - 48) / (10 * TEXT);
        for (count, is_large) in [(most, false), (most + 1, true)] {
            let mut graph = graph(&parts(count, 9));
            box_large(&mut graph);
            for field in graph.fields() {
                let is_struct = graph.as_struct(&field.type_).is_some();
                let stays = graph
                    .root
                    .iter()
                    .any(|root| root == field && root.wire == "spec");
                assert_eq!(
                    field.boxed,
                    is_large && is_struct && !stays,
                    "{}",
                    field.wire
                );
            }
        }
    }

    #[test]
    fn boxes_keep_a_large_kind_small() {
        let mut graph = graph(&parts(600, 9));
        box_large(&mut graph);
        let spec = graph.as_struct(&graph.root[0].type_).expect("a spec");
        assert_eq!(spec.fields.iter().filter(|field| field.boxed).count(), 600);
    }
}
