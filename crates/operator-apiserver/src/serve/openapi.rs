//! [OpenAPI documents]: the index `/openapi/v3`, and a document for each group and version. `kubectl explain` prints them, and `kubectl
//! apply` finds the merge keys of lists in them.
//!
//! Custom kinds have the schemas of their CRDs, in the form that the real server publishes. The types of built-in kinds are recorded,
//! without descriptions. Operations contain only what clients use: their kind, their parameters and the media types of their responses.
//!
//! [OpenAPI documents]: https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v3

use std::collections::BTreeMap;
use std::sync::Arc;

use operator_schema::{Schema, SchemaOrBool};
use serde_json::{Map, Value, json};

use super::discovery::root;
use crate::model::builtin::{OBJECT_META, builtin};
use crate::model::{Custom, Failure, Kind, Result};
use crate::read::Reply;
use crate::store::Registry;

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The index.
pub(crate) fn documents(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for kind in registry.all() {
        let root = root(kind);
        let url = json!({"serverRelativeURL": format!("/openapi/v3/{root}")});
        paths.insert(root, url);
    }
    json!({"paths": paths})
}

/// The document of a group and version.
pub(crate) fn document(registry: &Registry, group: &str, version: &str) -> Result<Reply> {
    let kinds: Vec<&Arc<Kind>> = registry
        .all()
        .filter(|kind| kind.group == group && kind.version == version)
        .collect();
    if kinds.is_empty() {
        return Err(Failure::no_such_path());
    }
    let mut paths = BTreeMap::new();
    let mut schemas = Schemas::default();
    for kind in kinds {
        let type_name = schemas.add(kind);
        for (path, operations) in operations(kind, &type_name) {
            paths.insert(path, operations);
        }
    }
    for type_name in [SCALE, STATUS] {
        schemas.add_recorded(type_name);
    }
    Ok(Reply::ok(json!({
        "openapi": "3.0.0",
        "info": {"title": "operator-testing", "version": builtin().server},
        "paths": paths,
        "components": {"schemas": schemas.0},
    })))
}

/// The components of a document.
#[derive(Default)]
struct Schemas(BTreeMap<String, Value>);

impl Schemas {
    /// Adds the type of a kind, and all types that it refers to. Returns its name.
    fn add(&mut self, kind: &Kind) -> String {
        let gvk = json!([group_version_kind(kind)]);
        let name = match (&kind.custom, &kind.type_name) {
            (Some(custom), _) => self.add_custom(kind, custom),
            (None, Some(name)) => {
                self.add_recorded(name);
                name.clone()
            }
            (None, None) => return STATUS.to_owned(),
        };
        if let Some(schema) = self.0.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = gvk;
        }
        name
    }

    fn add_custom(&mut self, kind: &Kind, custom: &Custom) -> String {
        let mut schema = published(&custom.schema);
        identify(&mut schema);
        // the name of a type starts with the reversed group
        let mut group: Vec<&str> = kind.group.split('.').collect();
        group.reverse();
        let name = format!("{}.{}.{}", group.join("."), kind.version, kind.kind);
        self.0.insert(name.clone(), linked(json!(schema)));
        let described = |description: &str| json!({"description": description, "type": "string"});
        let list = json!({
            "description": format!("{} is a list of {}", custom.list_kind, kind.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": described(API_VERSION),
                "kind": described(KIND),
                "items": {"type": "array", "items": {"$ref": pointer(&name)}},
                "metadata": {"allOf": [{"$ref": pointer(LIST_META)}]},
            },
            "x-kubernetes-group-version-kind": [
                {"group": kind.group, "version": kind.version, "kind": custom.list_kind},
            ],
        });
        self.0.insert(format!("{name}List"), list);
        self.add_recorded(OBJECT_META);
        self.add_recorded(LIST_META);
        name
    }

    /// Adds a built-in type, and all types that it refers to.
    fn add_recorded(&mut self, name: &str) {
        if self.0.contains_key(name) {
            return;
        }
        let Some(schema) = builtin().types.get(name) else {
            return;
        };
        self.0.insert(name.to_owned(), linked(json!(schema)));
        each(schema, &mut |part| {
            if let Some(name) = part.unknown.get("$ref").and_then(Value::as_str) {
                self.add_recorded(name);
            }
        });
    }
}

/// The published form of a CRD's schema, in which the server's own extensions are expanded.
fn published(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    each_mut(&mut schema, &mut |part| {
        if part.embedded_resource {
            identify(part);
        }
        if part.int_or_string && part.any_of.is_empty() && part.all_of.is_empty() {
            part.any_of = ["integer", "string"].map(of_type).to_vec();
        }
    });
    schema
}

/// Adds the fields that every object has.
fn identify(schema: &mut Schema) {
    for (field, description) in [("apiVersion", API_VERSION), ("kind", KIND)] {
        let described = Schema {
            description: Some(description.to_owned()),
            ..of_type("string")
        };
        schema.properties.insert(field.to_owned(), described);
    }
    let mut reference = Schema::default();
    reference.unknown.insert("$ref".into(), OBJECT_META.into());
    let metadata = Schema {
        description: Some(METADATA.to_owned()),
        all_of: vec![reference],
        ..Schema::default()
    };
    schema.properties.insert("metadata".to_owned(), metadata);
}

fn of_type(type_: &str) -> Schema {
    Schema {
        type_: Some(type_.to_owned()),
        ..Schema::default()
    }
}

/// Calls a function for a schema and all schemas in it.
fn each(schema: &Schema, call: &mut impl FnMut(&Schema)) {
    call(schema);
    let element = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&**element),
        _ => None,
    };
    schema
        .properties
        .values()
        .chain(schema.items.as_deref())
        .chain(element)
        .for_each(|part| each(part, call));
}

fn each_mut(schema: &mut Schema, call: &mut impl FnMut(&mut Schema)) {
    call(schema);
    let element = match &mut schema.additional_properties {
        Some(SchemaOrBool::Schema(element)) => Some(&mut **element),
        _ => None,
    };
    schema
        .properties
        .values_mut()
        .chain(schema.items.as_deref_mut())
        .chain(element)
        .for_each(|part| each_mut(part, call));
}

fn pointer(type_name: &str) -> String {
    format!("#/components/schemas/{type_name}")
}

/// The schema with references that resolve within a document.
fn linked(mut schema: Value) -> Value {
    fn link(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(name)) = fields.get_mut("$ref") {
                    *name = pointer(name);
                }
                fields.values_mut().for_each(link);
            }
            Value::Array(items) => items.iter_mut().for_each(link),
            _ => {}
        }
    }
    link(&mut schema);
    schema
}

fn group_version_kind(kind: &Kind) -> Value {
    json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
}

/// The paths of a kind, with their operations.
fn operations(kind: &Kind, type_name: &str) -> Vec<(String, Value)> {
    let place = if kind.namespaced {
        "namespaces/{namespace}/"
    } else {
        ""
    };
    let all = format!("/{}/{place}{}", root(kind), kind.plural);
    let one = format!("{all}/{{name}}");
    let (gvk, list_name) = (group_version_kind(kind), format!("{type_name}List"));
    let scale = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    let mut paths = vec![
        (
            all,
            &[
                ("list", "get"),
                ("create", "post"),
                ("deletecollection", "delete"),
            ][..],
            (&kind.verbs, &gvk),
        ),
        (
            one.clone(),
            &[
                ("get", "get"),
                ("update", "put"),
                ("patch", "patch"),
                ("delete", "delete"),
            ][..],
            (&kind.verbs, &gvk),
        ),
    ];
    for (name, verbs) in &kind.subresources {
        let gvk = if name == "scale" { &scale } else { &gvk };
        let methods = &[("get", "get"), ("update", "put"), ("patch", "patch")][..];
        paths.push((format!("{one}/{name}"), methods, (verbs, gvk)));
    }
    let paths = paths.into_iter().map(|(path, methods, (verbs, gvk))| {
        let mut operations = json!({"parameters": path_parameters(&path)});
        for (verb, method) in methods {
            if !verbs.iter().any(|allowed| allowed == verb) {
                continue;
            }
            let answer = match *verb {
                "list" => &list_name,
                "delete" | "deletecollection" => STATUS,
                _ if gvk["kind"] == "Scale" => SCALE,
                _ => type_name,
            };
            operations[method] = operation(verb, gvk, answer);
        }
        (path, operations)
    });
    paths
        .filter(|(_, operations)| operations.as_object().is_some_and(|all| all.len() > 1))
        .collect()
}

fn path_parameters(path: &str) -> Vec<Value> {
    ["namespace", "name"].into_iter()
        .filter(|name| path.contains(&format!("{{{name}}}")))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect()
}

fn operation(verb: &str, gvk: &Value, answer: &str) -> Value {
    let parameter =
        |name: &str, type_: &str| json!({"name": name, "in": "query", "schema": {"type": type_}});
    let write = ["dryRun", "fieldManager", "fieldValidation"].map(|name| parameter(name, "string"));
    let parameters = match verb {
        "create" | "update" => write.to_vec(),
        "patch" => [&write[..], &[parameter("force", "boolean")]].concat(),
        "delete" | "deletecollection" => vec![parameter("dryRun", "string")],
        _ => Vec::new(),
    };
    let content = json!({"application/json": {"schema": {"$ref": pointer(answer)}}});
    json!({
        "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": content}},
        "x-kubernetes-action": verb,
        "x-kubernetes-group-version-kind": gvk,
    })
}
