//! The fields that only one of two versions has: their values are kept for it, or lost if they are sensitive.

use operator_schema::{Schema, SchemaOrBool};

use crate::{
    conversion::{Derivation, End, Path, Question, Rule, Step},
    operator::{Conversions, Spoke},
};

/// Words in the names of fields whose values are secret.
const SECRET_WORDS: [&str; 5] = ["password", "passphrase", "secret", "token", "credential"];

/// The fields of a version that another lacks, and whose values are kept.
#[derive(Clone, Debug)]
pub struct KeptField {
    /// The version that has the fields.
    pub version: String,
    pub other: String,
    /// The fields, in the order of the schema. An object that only this version has is one of them, without what is in it.
    pub paths: Vec<Path>,
    /// Those of the fields, and of the fields in them, whose names are usual for secret values.
    pub secrets: Vec<Path>,
}

/// A sensitive field that one of two versions lacks.
#[derive(Clone, Debug)]
pub struct FieldWithoutTarget {
    /// The version that has the field.
    pub version: String,
    pub other: String,
    pub path: Path,
    /// The field, or the object it is in, that only this version has.
    pub only: Path,
}

/// The kept fields of the spoke and of the hub; an end without any has no entry.
pub fn kept(spoke: &Spoke<'_>, conversions: &Conversions<'_>) -> Vec<KeptField> {
    let schema = |end| match end {
        End::Spoke => &spoke.version.schema,
        End::Hub => &conversions.hub.schema,
    };
    let of_end = |end: End| {
        let [version, other] = names(end, spoke, conversions);
        let is_sensitive = |only: &Path| {
            conversions
                .sensitive
                .iter()
                .any(|(of, path)| *of == version && only.is_within(path))
        };
        let moved = moved(end, &spoke.derivation);
        let paths: Vec<Path> = only(spoke)
            .filter(|(of, _)| *of == end)
            .flat_map(|(_, path)| unmoved(path, schema(end), &moved))
            .filter(|path| !is_sensitive(path))
            .collect();
        let secrets = paths.iter().flat_map(|path| secrets(path, schema(end)));
        let secrets = secrets.filter(|path| !is_sensitive(path)).collect();
        (!paths.is_empty()).then_some(KeptField {
            version,
            other,
            paths,
            secrets,
        })
    };
    [End::Hub, End::Spoke]
        .into_iter()
        .filter_map(of_end)
        .collect()
}

/// The paths of a version that are moved to another path of the other version.
fn moved(end: End, derivation: &Derivation) -> Vec<&Path> {
    let by_rule = derivation.rules.iter().filter_map(Rule::moved);
    let by_answer = derivation.questions.iter().filter_map(Question::moved);
    let places = by_rule.chain(by_answer).map(|place| place.at(end));
    let joined = derivation.questions.iter().flat_map(|question| {
        let paths: &[Path] = match (question, end) {
            (Question::Join(spoke, _), End::Spoke) => spoke,
            (Question::Join(_, hub), End::Hub) => hub,
            _ => &[],
        };
        paths
    });
    places.chain(joined).collect()
}

/// The field itself; if parts of it are moved, the other parts.
fn unmoved(path: &Path, root: &Schema, moved: &[&Path]) -> Vec<Path> {
    if moved.contains(&path) {
        return vec![];
    }
    if !moved.iter().any(|moved| moved.is_within(path)) {
        return vec![path.clone()];
    }
    let parts = parts(path, root).into_iter();
    parts.flat_map(|part| unmoved(&part, root, moved)).collect()
}

/// The texts at and below a path whose names are usual for secret values. The name of a Secret is none.
fn secrets(path: &Path, root: &Schema) -> Vec<Path> {
    let name = path.name().to_lowercase();
    let is_usual = SECRET_WORDS.iter().any(|word| name.contains(word)) && !name.ends_with("name");
    let schema = path.resolve(root).map(|(schema, _)| schema);
    let is_text = schema.is_some_and(|schema| schema.type_.as_deref() == Some("string"));
    if is_usual && is_text {
        return vec![path.clone()];
    }
    let parts = parts(path, root).into_iter();
    parts.flat_map(|part| secrets(&part, root)).collect()
}

/// The fields, the items or the values of an object, list or map.
fn parts(path: &Path, root: &Schema) -> Vec<Path> {
    let Some((schema, _)) = path.resolve(root) else {
        return vec![];
    };
    let fields = schema.properties.keys().map(|name| path.field(name));
    let items = schema.items.iter().map(|_| path.with(Step::items(schema)));
    let values = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(_)) => Some(path.with(Step::Values)),
        _ => None,
    };
    fields.chain(items).chain(values).collect()
}

/// The sensitive fields that the other version has no place for.
pub fn unplaced(spoke: &Spoke<'_>, conversions: &Conversions<'_>) -> Vec<FieldWithoutTarget> {
    let of_field = |(end, only): (End, &Path)| {
        let [version, other] = names(end, spoke, conversions);
        conversions
            .sensitive
            .iter()
            .filter(|(of, path)| *of == version && (path.is_within(only) || only.is_within(path)))
            .map(|(_, path)| FieldWithoutTarget {
                version: version.clone(),
                other: other.clone(),
                path: path.clone(),
                only: only.clone(),
            })
            .collect::<Vec<_>>()
    };
    only(spoke).flat_map(of_field).collect()
}

/// The fields that only one version has, each with the end of that version.
fn only<'a>(spoke: &'a Spoke<'_>) -> impl Iterator<Item = (End, &'a Path)> {
    spoke.derivation.rules.iter().filter_map(|rule| match rule {
        Rule::Only(end, path) => Some((*end, path)),
        _ => None,
    })
}

/// The version at an end, and the other one.
fn names(end: End, spoke: &Spoke<'_>, conversions: &Conversions<'_>) -> [String; 2] {
    let (spoke, hub) = (&spoke.version.name, &conversions.hub.name);
    match end {
        End::Spoke => [spoke.clone(), hub.clone()],
        End::Hub => [hub.clone(), spoke.clone()],
    }
}
