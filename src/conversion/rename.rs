//! Renames that the user declares, checked against the schemas.

use operator_schema::{Schema, SchemaOrBool};

use super::{
    path::{Path, Step},
    rule::{End, Place},
};

/// A field that has one path in the spoke and another in the hub.
pub type Rename = Place;

/// A rename that the schemas contradict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    #[error("version `{version}` has no field `{path}`")]
    NoField {
        end: End,
        version: String,
        path: String,
        similar: Vec<String>,
    },
    #[error("`{spoke}` and `{hub}` are not in the same list or map")]
    OtherCollection { spoke: Path, hub: Path },
    #[error("`{0}` is renamed twice")]
    Twice(End, Path),
}

impl RenameError {
    pub fn help(&self) -> String {
        match self {
            Self::NoField { similar, .. } if similar.is_empty() => {
                "write the path as `kubectl explain` does, with `[]` for the items of a list and `{}` for the values of a map, such as \"spec.pools[].size\"".into()
            }
            Self::NoField { similar, .. } => {
                let similar: Vec<String> = similar.iter().map(|it| format!("{it:?}")).collect();
                format!("did you mean {}?", similar.join(" or "))
            }
            Self::OtherCollection { .. } => {
                "a rename moves a field within an item; answer in the conversion file for everything else".into()
            }
            Self::Twice(..) => "remove one of the two".into(),
        }
    }

    /// The version whose path is wrong.
    pub fn end(&self) -> End {
        match self {
            Self::NoField { end, .. } | Self::Twice(end, _) => *end,
            Self::OtherCollection { .. } => End::Hub,
        }
    }
}

/// The schema at a path.
pub fn at<'a>(root: &'a Schema, path: &Path) -> Option<&'a Schema> {
    path.steps()
        .iter()
        .try_fold(root, |schema, step| match step {
            Step::Field(name) => schema.properties.get(name),
            Step::Items => schema.items.as_deref(),
            Step::Values => match &schema.additional_properties {
                Some(SchemaOrBool::Schema(values)) => Some(&**values),
                _ => None,
            },
        })
}

/// Checks a rename by the schemas of the spoke and the hub, with the names of the versions. `all` are the renames of the spoke.
pub fn check(
    rename: &Rename,
    all: &[Rename],
    schemas: [&Schema; 2],
    versions: [&str; 2],
) -> Result<(), RenameError> {
    for (end, schema, version) in [
        (End::Spoke, schemas[0], versions[0]),
        (End::Hub, schemas[1], versions[1]),
    ] {
        let path = rename.at(end);
        if at(schema, path).is_none() || path.steps().len() < 2 {
            return Err(RenameError::NoField {
                end,
                version: version.to_owned(),
                path: path.to_string(),
                similar: similar(schema, path),
            });
        }
        if all.iter().filter(|it| it.at(end) == path).count() > 1 {
            return Err(RenameError::Twice(end, path.clone()));
        }
    }
    let in_hub = rename
        .spoke
        .collections()
        .map(|path| counterpart(&path, all));
    match in_hub.eq(rename.hub.collections()) {
        true => Ok(()),
        false => Err(RenameError::OtherCollection {
            spoke: rename.spoke.clone(),
            hub: rename.hub.clone(),
        }),
    }
}

/// The path in the hub of a path of the spoke.
fn counterpart(path: &Path, renames: &[Rename]) -> Path {
    let mut nearest = renames
        .iter()
        .filter(|it| path.is_within(&it.spoke))
        .collect::<Vec<_>>();
    nearest.sort_by_key(|it| it.spoke.steps().len());
    let moved = nearest.last().and_then(|it| path.moved(&it.spoke, &it.hub));
    moved.unwrap_or_else(|| path.clone())
}

/// The existing paths that a wrong one may mean, most similar first: fields with a similar name anywhere, and near paths.
fn similar(schema: &Schema, path: &Path) -> Vec<String> {
    let mut paths = vec![];
    collect(schema, &Path::default(), &mut paths);
    let wanted = path.to_string();
    let likeness = |known: &Path| {
        let whole = strsim::jaro_winkler(&known.to_string().to_lowercase(), &wanted.to_lowercase());
        let same_name = known.name().eq_ignore_ascii_case(path.name());
        if same_name { whole + 1.0 } else { whole }
    };
    let mut paths: Vec<(f64, String)> = paths
        .iter()
        .map(|it| (likeness(it), it.to_string()))
        .collect();
    paths.retain(|(likeness, _)| *likeness > 0.9);
    paths.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    paths.into_iter().take(3).map(|(_, path)| path).collect()
}

fn collect(schema: &Schema, path: &Path, paths: &mut Vec<Path>) {
    for (name, field) in &schema.properties {
        let path = path.field(name);
        if path.steps().len() > 1 {
            paths.push(path.clone());
        }
        collect(field, &path, paths);
    }
    if let Some(items) = &schema.items {
        collect(items, &path.with(Step::Items), paths);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        collect(values, &path.with(Step::Values), paths);
    }
}
