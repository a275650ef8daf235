//! Reads [`Api`] values from a text: finds the CustomResourceDefinitions among other objects, and checks what later stages rely on.

use std::{ops::Range, sync::Arc};

use indexmap::IndexMap;
use operator_schema::{Effect, pointer};
use serde::Deserialize;
use serde_json::Value;

use super::{
    api::{Api, Conversion, Deprecation, Enclosing, Names, Scope, Source, Version},
    compose::{Composed, compose},
    definition::{Definition, RawScope, RawVersion, Strategy, Texts},
    document::{Document, documents},
    live::ServerFields,
    position::{Positions, beginning, keyword},
    problem::{Fault, MOST_BYTES, MOST_REPORTED, NameRule, Problem, ReadError},
    refused::{Refused, refused},
    unique::Unique,
};
use crate::diagnostic::{Location, lines};

/// Reads all CustomResourceDefinitions of `text`; other objects are skipped. All errors are returned, not only the first.
pub fn read(path: &str, text: &str) -> Result<Vec<Api>, Vec<ReadError>> {
    let (mut apis, mut errors) = (vec![], vec![]);
    for document in documents(text) {
        match read_document(path, document) {
            Ok(more) => apis.extend(more),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(apis)
    } else {
        Err(errors)
    }
}

/// The value of each document of a text, or its first fault.
pub fn values(text: &str) -> impl Iterator<Item = Result<Value, Problem>> {
    documents(text).into_iter().map(|document| {
        let mut composed = composed(document).map_err(|fault| fault.problem)?;
        if composed.ambiguous.is_empty() {
            Ok(composed.value)
        } else {
            Err(composed.ambiguous.swap_remove(0).problem)
        }
    })
}

/// Reads a document. YAML readers differ in the JSON that they accept, so JSON is parsed as JSON.
fn composed(document: Document<'_>) -> Result<Composed, Fault> {
    if document.is_ignored {
        let message = "kubectl ignores what follows `...`: write `---` in its place";
        return Err(Fault::syntax(beginning(document.text), message));
    }
    let mut markers = document.text.match_indices("---").map(|(at, _)| at);
    if let Some(at) = markers.find(|&at| at == 0 || document.text[..at].ends_with('\n')) {
        let message = "kubectl takes a line that begins with `---` for the end of a document, which only a comment may follow";
        return Err(Fault::syntax(at..at + 3, message));
    }
    let json = is_json(document)
        .then(|| serde_json::from_str(document.text).ok())
        .flatten();
    match json {
        Some(Unique(value)) => Ok(Composed::of_json(value)),
        None => compose(document.text),
    }
}

fn is_json(document: Document<'_>) -> bool {
    document.text.trim_start().starts_with(['{', '['])
}

/// Whether a text has something besides one CRD that would be lost if the file were deleted: other objects, or comments before the
/// document.
pub fn has_other_content(text: &str) -> bool {
    let outside = match documents(text).as_slice() {
        [] => return false,
        [only] => text.replacen(only.text, "", 1),
        _ => return true,
    };
    let is_marker =
        |line: &str| matches!(line.trim(), "" | "---" | "..." | "\u{feff}" | "\u{feff}---");
    !outside.lines().all(is_marker) || read("", text).is_ok_and(|apis| apis.len() > 1)
}

/// Reads the CRDs of a document. The document may be a CRD, a list of objects, or JSON.
fn read_document(path: &str, document: Document<'_>) -> Result<Vec<Api>, Vec<ReadError>> {
    let locate = |range: Range<usize>| Location::new(path, document.line, document.text, range);
    let to_error = |fault: Fault| ReadError {
        location: locate(fault.place),
        problem: fault.problem,
    };
    // checked before parsing, which needs about twenty times the memory of the text
    if document.text.len() > MOST_BYTES
        && let Some(line) = definition_line(document.text)
    {
        let (place, problem) = (line, Problem::TooLarge);
        return Err(vec![to_error(Fault { place, problem })]);
    }
    let in_json = is_json(document);
    let composed = composed(document).map_err(|fault| vec![to_error(fault)])?;
    let mut crds = vec![];
    find_crds(&composed.value, String::new(), &mut crds);
    let enclosing = match crds.as_slice() {
        [] => return Ok(vec![]),
        [(pointer, _)] if pointer.is_empty() && !in_json => None,
        _ => Some(Arc::from(document.text)),
    };
    let positions = composed.positions;
    let positions = Arc::new(positions.unwrap_or_else(|| Positions::of(document.text)));
    let starts: Vec<usize> = match &enclosing {
        None => vec![0],
        Some(_) => {
            let pointers: Vec<&String> = crds.iter().map(|(pointer, _)| pointer).collect();
            let ranges = positions.places(document.text, &pointers);
            ranges.into_iter().map(|range| range.start).collect()
        }
    };
    let (mut apis, mut problems) = (vec![], vec![]);
    let lines = lines(document.text, document.line, starts.into_iter());
    for ((pointer, object), line) in crds.into_iter().zip(lines) {
        let text = match &enclosing {
            None => document.text.to_owned(),
            Some(_) => {
                serde_saphyr::to_string(object).expect("a JSON value can be written as YAML")
            }
        };
        let checked = match text.len() {
            ..=MOST_BYTES => checked(object, text),
            _ => Err(vec![(String::new(), Problem::TooLarge)]),
        };
        match checked {
            Ok(mut api) => {
                api.source = Source {
                    path: path.into(),
                    line,
                    enclosing: enclosing.as_ref().map(|text: &Arc<str>| Enclosing {
                        text: text.clone(),
                        line: document.line,
                        pointer,
                    }),
                    positions: positions.clone(),
                };
                apis.push(api);
            }
            Err(errors) => problems.extend(
                errors
                    .into_iter()
                    .map(|(place, problem)| (format!("{pointer}{place}"), place, problem)),
            ),
        }
    }
    problems.truncate(MOST_REPORTED);
    let pointers: Vec<&String> = problems.iter().map(|(pointer, ..)| pointer).collect();
    let ranges = positions.places(document.text, &pointers);
    let mut errors: Vec<ReadError> = ranges
        .into_iter()
        .zip(problems)
        .map(|(range, (_, within, problem))| {
            let location = locate(range).with_pointer(within);
            ReadError { location, problem }
        })
        .collect();
    // kubectl reads other values for ambiguous scalars, so the other errors may be wrong
    if !in_json && !composed.ambiguous.is_empty() {
        errors = composed.ambiguous.into_iter().map(to_error).collect();
    }
    if errors.is_empty() {
        Ok(apis)
    } else {
        Err(errors)
    }
}

/// The range of the line `kind: CustomResourceDefinition` in a YAML text.
fn definition_line(text: &str) -> Option<Range<usize>> {
    const LINE: &str = "kind: CustomResourceDefinition";
    let start = text
        .match_indices(LINE)
        .map(|(start, _)| start)
        .find(|&start| {
            let is_first = start == 0 || text[..start].ends_with('\n');
            is_first && text[start + LINE.len()..].starts_with(['\n', '\r'])
        })?;
    Some(start..start + LINE.len())
}

/// Finds the CustomResourceDefinitions in a value and in its lists, with their JSON pointers.
fn find_crds<'a>(value: &'a Value, pointer: String, crds: &mut Vec<(String, &'a Value)>) {
    let kind = value
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    match (kind, value) {
        ("CustomResourceDefinition", _) => crds.push((pointer, value)),
        (kind, _) if kind.ends_with("List") => {
            for (index, item) in value
                .get("items")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .enumerate()
            {
                find_crds(item, format!("{pointer}/items/{index}"), crds);
            }
        }
        (_, Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                find_crds(item, format!("{pointer}/{index}"), crds);
            }
        }
        _ => {}
    }
}

/// A problem and the JSON pointer of its place.
type Found = (String, Problem);

/// Reads a CRD, and checks it. Problems that do not concern its types are left to the commands that install it.
fn checked(object: &Value, text: String) -> Result<Api, Vec<Found>> {
    let read = read_api(object, text);
    let Refused {
        mut entire,
        beside_types,
    } = refused(object);
    match read {
        Ok(mut api) => {
            // a decoding error of the API server has no place, so it is dropped if we have found an error of the metadata
            let is_reported = !api.refused.is_empty();
            entire.extend(check_schemas(&mut api));
            let undecodable =
                |it: &Problem| matches!(it, Problem::Refused { field, .. } if field.is_empty());
            let rest = beside_types
                .into_iter()
                .filter(|(_, problem)| !(is_reported && undecodable(problem)));
            api.refused.extend(rest);
            if entire.is_empty() {
                Ok(api)
            } else {
                Err(entire)
            }
        }
        Err(first) => {
            let unknown = beside_types
                .into_iter()
                .filter(|(_, it)| matches!(it, Problem::UnknownField { .. }));
            Err([first].into_iter().chain(unknown).collect())
        }
    }
}

/// Decodes a CRD, and checks its names and versions.
fn read_api(object: &Value, text: String) -> Result<Api, Found> {
    match object.get("apiVersion").and_then(Value::as_str) {
        Some("apiextensions.k8s.io/v1") => {}
        Some("apiextensions.k8s.io/v1beta1") => return Err(("/apiVersion".into(), Problem::Beta)),
        other => {
            let version = other.unwrap_or("none").to_owned();
            return Err(("/apiVersion".into(), Problem::UnknownVersion(version)));
        }
    }
    let definition = decoded::<Definition>(object)?;
    let (metadata, metadata_problem) = match decoded::<Texts>(&object["metadata"]) {
        Ok(texts) => (texts, None),
        Err((place, problem)) => {
            let problem = (format!("/metadata{place}"), problem);
            (Texts::default(), Some(problem))
        }
    };
    let spec = definition.spec;
    check("/spec/group", NameRule::Group, &spec.group)?;
    check("/spec/names/plural", NameRule::Plural, &spec.names.plural)?;
    check("/spec/names/kind", NameRule::Kind, &spec.names.kind)?;
    if let Some(singular) = spec
        .names
        .singular
        .as_deref()
        .filter(|name| !name.is_empty())
    {
        check("/spec/names/singular", NameRule::Plural, singular)?;
    }
    let expected = format!("{}.{}", spec.names.plural, spec.group);
    if definition.metadata.name != expected {
        let problem = Problem::Misnamed {
            found: definition.metadata.name,
            expected,
        };
        return Err(("/metadata/name".into(), problem));
    }
    let kind = spec.names.kind;
    Ok(Api {
        names: Names {
            singular: spec
                .names
                .singular
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| kind.to_lowercase()),
            list_kind: spec
                .names
                .list_kind
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| format!("{kind}List")),
            plural: spec.names.plural,
            short_names: spec.names.short_names.unwrap_or_default(),
            categories: spec.names.categories.unwrap_or_default(),
            kind,
        },
        group: spec.group,
        scope: match spec.scope {
            RawScope::Namespaced => Scope::Namespaced,
            RawScope::Cluster => Scope::Cluster,
        },
        versions: versions(spec.versions)?,
        conversion: match spec.conversion.map(|conversion| conversion.strategy) {
            Some(Strategy::Webhook) => Conversion::Webhook,
            Some(Strategy::None) | None => Conversion::None,
        },
        annotations: texts(metadata.annotations),
        labels: texts(metadata.labels),
        refused: metadata_problem.into_iter().collect(),
        server_fields: ServerFields::of(object),
        source: Source {
            path: String::new(),
            line: 1,
            enclosing: None,
            positions: Arc::default(),
        },
        text,
    })
}

/// Decodes a value. Only after an error, decodes it again to find the path, because tracking paths takes time.
fn decoded<'de, T: Deserialize<'de>>(value: &'de Value) -> Result<T, Found> {
    T::deserialize(value).or_else(|_| {
        serde_path_to_error::deserialize(value).map_err(|error| {
            let place = pointer(error.path());
            (place, Problem::Shape(error.inner().to_string()))
        })
    })
}

/// The entries of a map of texts. Like in the API server, a null is an empty text.
fn texts(map: Option<IndexMap<String, Option<String>>>) -> IndexMap<String, String> {
    map.into_iter()
        .flatten()
        .map(|(key, text)| (key, text.unwrap_or_default()))
        .collect()
}

fn check(pointer: &str, rule: NameRule, name: &str) -> Result<(), Found> {
    if rule.holds(name) {
        Ok(())
    } else {
        Err((pointer.into(), Problem::Name(name.into(), rule)))
    }
}

/// Checks the schemas, and returns the reasons why the API server refuses them. Problems that it accepts become warnings of the version.
/// Problems of CEL rules do not concern the types, so they are added to `refused` of the CRD.
fn check_schemas(api: &mut Api) -> Vec<Found> {
    let mut refused = vec![];
    for version in &mut api.versions {
        let place = version.schema_pointer();
        for problem in operator_schema::structural(&version.schema) {
            if problem.effect != Effect::Refused {
                version.schema_warnings.push(problem);
            } else if refused.len() < MOST_REPORTED {
                let keyword = keyword(&problem.pointer).to_owned();
                let message = problem.message.replace("<nil>: ", "");
                let message = message
                    .trim_start_matches(&format!("{keyword} "))
                    .to_owned();
                let problem = (
                    place.clone() + &problem.pointer,
                    Problem::Schema { keyword, message },
                );
                refused.push(problem);
            }
        }
        let faults = operator_schema::rule_faults(&version.schema)
            .into_iter()
            .map(|fault| (place.clone() + &fault.pointer, Problem::Rule(fault)));
        api.refused.extend(faults);
    }
    refused
}

/// Checks the versions: each has a unique name and a schema, at least one is served, and exactly one is stored.
fn versions(raw: Vec<RawVersion>) -> Result<Vec<Version>, Found> {
    let all = || "/spec/versions".to_owned();
    let mut versions: Vec<Version> = vec![];
    for (index, raw) in raw.into_iter().enumerate() {
        let place = format!("/spec/versions/{index}");
        check(&format!("{place}/name"), NameRule::Version, &raw.name)?;
        if versions.iter().any(|version| version.name == raw.name) {
            return Err((place, Problem::TwiceVersion(raw.name)));
        }
        let Some(schema) = raw.schema.and_then(|schema| schema.schema) else {
            return Err((place, Problem::NoSchema(raw.name)));
        };
        let subresources = raw.subresources;
        versions.push(Version {
            name: raw.name,
            served: raw.served.unwrap_or_default(),
            storage: raw.storage.unwrap_or_default(),
            deprecated: match (raw.deprecated.unwrap_or_default(), raw.deprecation_warning) {
                (false, _) => Deprecation::No,
                (true, None) => Deprecation::Yes,
                (true, Some(warning)) => Deprecation::WithWarning(warning),
            },
            schema,
            schema_warnings: vec![],
            status_subresource: subresources
                .as_ref()
                .is_some_and(|sub| sub.status.is_some()),
            scale: subresources.and_then(|sub| sub.scale),
            printer_columns: raw.additional_printer_columns.unwrap_or_default(),
            selectable_fields: raw
                .selectable_fields
                .unwrap_or_default()
                .into_iter()
                .map(|field| field.json_path)
                .collect(),
            index,
        });
    }
    if !versions.iter().any(|version| version.served) {
        return Err((all(), Problem::NotServed));
    }
    match versions.iter().filter(|version| version.storage).count() {
        1 => Ok(versions),
        count => Err((all(), Problem::Storage(count))),
    }
}

/// Converts the path of a decoding error to a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", pointer::escape(key)),
            Segment::Enum { .. } | Segment::Unknown => String::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
