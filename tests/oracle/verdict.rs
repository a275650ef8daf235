//! CRDs, unchanged and with changes outside of their schemas, are refused if the API server refuses them, and have the same unknown fields.

use std::{cell::RefCell, sync::LazyLock};

use cargo_operator::crd::{self, Api, Problem, ReadError};
use operator_schema::pointer;
use proptest::{prelude::*, sample::Index};
use serde_json::Value;

use super::{
    crds,
    peer::{Document, Oracle},
};

/// Names of fields that a CRD has, had or seems to have.
const NAMES: [&str; 40] = [
    "JSONPath",
    "additionalPrinterColumns",
    "additionalPrinterColums",
    "annotations",
    "caBundle",
    "categories",
    "clientConfig",
    "conversion",
    "conversionReviewVersions",
    "creationTimestamp",
    "deprecated",
    "deprecationWarning",
    "description",
    "finalizers",
    "format",
    "group",
    "jsonPath",
    "kind",
    "labelSelectorPath",
    "labels",
    "listKind",
    "name",
    "names",
    "openAPIV3Schema",
    "plural",
    "preserveUnknownFields",
    "priority",
    "resourceVersion",
    "scale",
    "schema",
    "scope",
    "selectableFields",
    "served",
    "shortNames",
    "status",
    "storage",
    "storrage",
    "subresources",
    "type",
    "validation",
];

const VALUES: [&str; 26] = [
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "\"\"",
    "\"a\"",
    "\"A b\"",
    "\"string\"",
    "\"object\"",
    "\"integer\"",
    "\"v1\"",
    "\"Cluster\"",
    "\"None\"",
    "\"Webhook\"",
    "\".spec\"",
    "\".spec.a\"",
    "\".metadata.name\"",
    "[]",
    "{}",
    "[\"a\"]",
    "[\"A\", 1]",
    "[{\"jsonPath\": \".spec.a\"}]",
    "{\"a\": \"b\"}",
    "{\"type\": \"object\"}",
];

#[derive(Clone, Debug)]
enum Edit {
    Remove(Index),
    Rename(Index, &'static str),
    Value(Index, &'static str),
    Put(Index, &'static str, &'static str),
    Copy(Index, Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    let of = |list: &'static [&'static str]| prop::sample::select(list);
    prop_oneof![
        at().prop_map(Edit::Remove),
        (at(), of(&NAMES)).prop_map(|(at, name)| Edit::Rename(at, name)),
        (at(), of(&VALUES)).prop_map(|(at, value)| Edit::Value(at, value)),
        (at(), of(&NAMES), of(&VALUES)).prop_map(|(at, name, value)| Edit::Put(at, name, value)),
        (at(), at()).prop_map(|(from, to)| Edit::Copy(from, to)),
    ]
}

impl Edit {
    fn apply(&self, crd: &mut Value) {
        let mut places = vec![];
        fields(crd, String::new(), &mut places);
        let field = |index: &Index| places[index.index(places.len())].clone();
        let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        match self {
            Self::Remove(at) => drop(take(crd, &field(at))),
            Self::Rename(at, name) => {
                let at = field(at);
                let value = take(crd, &at);
                put(crd, &format!("{}/{name}", parent(&at)), value);
            }
            Self::Value(at, value) => put(crd, &field(at), json(value)),
            Self::Put(at, name, value) => {
                let place = format!("{}/{name}", parent(&field(at)));
                put(crd, &place, json(value));
            }
            Self::Copy(from, to) => {
                let value = crd.pointer(&field(from)).unwrap().clone();
                put(crd, &field(to), value);
            }
        }
    }
}

/// The pointers of all fields outside of the schemas.
fn fields(value: &Value, place: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields_of) => {
            for (name, value) in fields_of {
                let place = format!("{place}/{}", pointer::escape(name));
                places.push(place.clone());
                if name != "openAPIV3Schema" {
                    fields(value, place, places);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                fields(item, format!("{place}/{at}"), places);
            }
        }
        _ => {}
    }
}

fn parent(place: &str) -> &str {
    place.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn name(place: &str) -> String {
    pointer::unescape(place.rsplit('/').next().unwrap_or_default()).into_owned()
}

fn take(crd: &mut Value, place: &str) -> Value {
    let parent = crd.pointer_mut(parent(place)).unwrap();
    parent
        .as_object_mut()
        .unwrap()
        .shift_remove(&name(place))
        .unwrap_or_default()
}

fn put(crd: &mut Value, place: &str, value: Value) {
    let parent = crd.pointer_mut(parent(place)).unwrap();
    parent.as_object_mut().unwrap().insert(name(place), value);
}

/// Why the tool refuses the CRD, and its unknown fields, if the CRD can be read.
fn ours(text: &str) -> (Vec<String>, Option<Vec<String>>) {
    let read = crd::read("crd.json", text);
    let is_read = read.is_ok();
    let errors: Vec<ReadError> = match read {
        Ok(apis) => apis.iter().flat_map(Api::refusals).collect(),
        Err(errors) => errors,
    };
    let (mut refused, mut unknown) = (vec![], vec![]);
    for error in errors {
        match error.problem {
            Problem::UnknownField { field, .. } => unknown.push(field),
            problem => refused.push(problem.to_string()),
        }
    }
    unknown.sort();
    (refused, is_read.then_some(unknown))
}

/// The unknown fields outside of schemas; within schemas, the tool reports unknown keywords.
fn unknown_fields(theirs: &Document) -> Vec<String> {
    let quoted = theirs.unknown.iter().filter_map(|it| it.split('"').nth(1));
    let mut fields: Vec<String> = quoted.map(str::to_owned).collect();
    fields.retain(|field| !field.contains(".schema.openAPIV3Schema."));
    fields.sort();
    fields
}

/// The refusals of the tool that the API server does not share.
const OURS: [&str; 2] = [
    // no types can be generated for a CRD without a served version
    "no version is served",
    // the validation does not know that the object is new
    "resourceVersion should not be set",
];

/// The refusals of the API server that the tool does not share.
const THEIRS: [&str; 2] = [
    // it is filled in when the CRD is installed
    "webhookClientConfig",
    // rules are compared elsewhere
    "x-kubernetes-validations",
];

fn difference(crd: &Value, theirs: &Document) -> Option<String> {
    let is_none_of = |known: &[&str], why: &&String| !known.iter().any(|it| why.contains(it));
    let (refused, unknown) = ours(&crd.to_string());
    let invalid = theirs.invalid.iter().find(|why| is_none_of(&THEIRS, why));
    if refused.is_empty() != theirs.invalid.is_empty() {
        let alone = refused.iter().find(|why| is_none_of(&OURS, why));
        return match (alone, invalid) {
            (Some(why), _) => Some(format!("refused alone: {why}")),
            (_, Some(why)) => Some(format!("accepted alone: {why}")),
            _ => None,
        };
    }
    let of_theirs = unknown_fields(theirs);
    let unknown = unknown.filter(|_| theirs.invalid.is_empty())?;
    (unknown != of_theirs).then(|| format!("unknown {unknown:?}, not {of_theirs:?}"))
}

static BASES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    let texts = crds();
    texts
        .iter()
        .flat_map(|text| crd::values(text).flatten())
        .filter(|it| it["kind"] == "CustomResourceDefinition")
        .collect()
});

#[test]
fn real_crds_are_refused_as_the_api_server_refuses_them() {
    let mut oracle = Oracle::start();
    let different: Vec<String> = BASES
        .iter()
        .filter_map(|crd| {
            let theirs = oracle.ask(&crd.to_string());
            let difference = difference(crd, &theirs[0])?;
            Some(format!("{}: {difference}\n", crd["metadata"]["name"]))
        })
        .collect();
    assert!(
        different.is_empty(),
        "{} of {}\n{}",
        different.len(),
        BASES.len(),
        different.concat()
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_crd_is_refused_as_the_api_server_refuses_it(
        base in any::<Index>(),
        edits in prop::collection::vec(edit(), 1..4),
    ) {
        thread_local! {
            static ORACLE: RefCell<Oracle> = RefCell::new(Oracle::start());
            static SMALL: Vec<&'static Value> = BASES.iter().filter(|it| it.to_string().len() < 20_000).collect();
        }
        let mut crd = SMALL.with(|small| small[base.index(small.len())].clone());
        for edit in &edits {
            edit.apply(&mut crd);
        }
        // the tool reads no other kinds
        if crd["kind"] == "CustomResourceDefinition" && crd["apiVersion"] == "apiextensions.k8s.io/v1" {
            let theirs = ORACLE.with_borrow_mut(|oracle| oracle.ask(&crd.to_string()));
            if let Some(difference) = difference(&crd, &theirs[0]) {
                let mut shown = crd.to_string();
                shown.truncate(shown.floor_char_boundary(6_000));
                prop_assert!(false, "{difference}\n{shown}");
            }
        }
    }
}
