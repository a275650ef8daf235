//! Renames that the user declares, checked against the schemas.

use operator_schema::{Schema, SchemaOrBool};

use super::{
    path::{Path, Step},
    rule::End,
};

/// Fields of the spoke that are other fields of the hub: one that is renamed or moved, or several that are split or merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    pub spoke: Vec<Path>,
    pub hub: Vec<Path>,
}

/// A rename that the schemas contradict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    #[error("`{path}` is not a path of fields")]
    Syntax { end: End, path: String },
    #[error("version `{version}` has no field `{path}`")]
    NoField {
        end: End,
        version: String,
        path: String,
        similar: Vec<String>,
    },
    #[error("`{path}` is not in the same list or map as `{other}`")]
    OtherCollection {
        end: End,
        path: String,
        other: String,
    },
    #[error("`{path}` is renamed twice")]
    Twice { end: End, path: String },
}

impl RenameError {
    pub fn help(&self) -> String {
        match self {
            Self::Syntax { .. } => PATHS.into(),
            Self::NoField { similar, .. } if similar.is_empty() => PATHS.into(),
            Self::NoField { similar, .. } => {
                let similar: Vec<String> = similar.iter().map(|it| format!("{it:?}")).collect();
                format!("did you mean {}?", similar.join(" or "))
            }
            Self::OtherCollection { .. } => {
                "a rename moves a field within an item; for everything else, add rules in the conversion file".into()
            }
            Self::Twice { .. } => "remove one of the two".into(),
        }
    }

    /// The side of the wrong path, and the path as it was declared.
    pub fn place(&self) -> (End, &str) {
        match self {
            Self::Syntax { end, path }
            | Self::NoField { end, path, .. }
            | Self::OtherCollection { end, path, .. }
            | Self::Twice { end, path } => (*end, path),
        }
    }
}

const PATHS: &str = "write the path as `kubectl explain` does, with `[]` for the items of a list and `{}` for the values of a map, such as \"spec.pools[].size\"";

impl Rename {
    /// The fields of one of the versions.
    pub fn at(&self, end: End) -> &[Path] {
        match end {
            End::Spoke => &self.spoke,
            End::Hub => &self.hub,
        }
    }
}

/// A version, by its name and schema.
pub type Named<'a> = (&'a str, &'a Schema);

/// Resolves the declared paths of all renames of a spoke. Each rename has its paths in the spoke, then its paths in the hub. An error has
/// the index of its rename.
pub fn resolve(
    declared: &[[Vec<String>; 2]],
    spoke: Named<'_>,
    hub: Named<'_>,
) -> Result<Vec<Rename>, (usize, RenameError)> {
    let mut renames = vec![];
    for (index, [of_spoke, of_hub]) in declared.iter().enumerate() {
        let paths = |end, texts: &[String], named| -> Result<Vec<Path>, (usize, RenameError)> {
            texts
                .iter()
                .map(|text| path(end, text, named))
                .collect::<Result<_, _>>()
                .map_err(|error| (index, error))
        };
        renames.push(Rename {
            spoke: paths(End::Spoke, of_spoke, spoke)?,
            hub: paths(End::Hub, of_hub, hub)?,
        });
    }
    for (index, rename) in renames.iter().enumerate() {
        check(rename, &renames).map_err(|error| (index, error))?;
    }
    Ok(renames)
}

/// Parses a path of a field, and resolves it in the schema of a version.
pub fn path(end: End, text: &str, (version, schema): Named<'_>) -> Result<Path, RenameError> {
    let path = Path::parse(text).ok_or_else(|| RenameError::Syntax {
        end,
        path: text.to_owned(),
    })?;
    let is_field = |path: &Path| path.steps().len() > 1 && path.names().next() != Some("metadata");
    match path.resolve(schema).filter(|(_, path)| is_field(path)) {
        Some((_, path)) => Ok(path),
        None => Err(RenameError::NoField {
            end,
            version: version.to_owned(),
            path: text.to_owned(),
            similar: similar(schema, &path),
        }),
    }
}

/// Checks that no field is renamed twice, and that all fields of a rename are in corresponding lists and maps.
fn check(rename: &Rename, all: &[Rename]) -> Result<(), RenameError> {
    for end in [End::Spoke, End::Hub] {
        for path in rename.at(end) {
            let twins = all
                .iter()
                .flat_map(|it| it.at(end))
                .filter(|it| *it == path);
            if twins.count() > 1 {
                let path = path.to_string();
                return Err(RenameError::Twice { end, path });
            }
        }
    }
    let Some(first) = rename.spoke.first() else {
        return Ok(());
    };
    let collections = |path: &Path| -> Vec<Path> {
        path.collections()
            .into_iter()
            .map(|it| counterpart(&it, all))
            .map(|path| unkeyed(&path))
            .collect()
    };
    let wanted = collections(first);
    let of_spoke = rename
        .spoke
        .iter()
        .map(|path| (End::Spoke, path, collections(path)));
    let of_hub = rename.hub.iter().map(|path| {
        let collections = path.collections();
        (End::Hub, path, collections.iter().map(unkeyed).collect())
    });
    match of_spoke.chain(of_hub).find(|(.., found)| *found != wanted) {
        None => Ok(()),
        Some((end, path, _)) => Err(RenameError::OtherCollection {
            end,
            path: path.to_string(),
            other: first.to_string(),
        }),
    }
}

/// The path in the hub of a path of the spoke.
fn counterpart(path: &Path, renames: &[Rename]) -> Path {
    renames
        .iter()
        .filter_map(|it| match (&*it.spoke, &*it.hub) {
            ([spoke], [hub]) => Some((spoke, hub)),
            _ => None,
        })
        .filter(|(spoke, _)| path.is_within(spoke))
        .max_by_key(|(spoke, _)| spoke.steps().len())
        .and_then(|(spoke, hub)| path.moved(spoke, hub))
        .unwrap_or_else(|| path.clone())
}

/// The path without the keys of its lists.
fn unkeyed(path: &Path) -> Path {
    path.steps().iter().fold(Path::default(), |path, step| {
        path.with(match step {
            Step::Items(_) => Step::Items(vec![]),
            step => step.clone(),
        })
    })
}

/// The existing paths that a wrong one may mean, most similar first.
fn similar(schema: &Schema, path: &Path) -> Vec<String> {
    let mut paths = vec![];
    collect(schema, &Path::default(), &mut paths);
    let wanted = path.to_string().to_lowercase();
    let likeness = |known: &Path| {
        let spelled = strsim::jaro_winkler(&known.to_string().to_lowercase(), &wanted);
        if known.name().eq_ignore_ascii_case(path.name()) {
            spelled + 1.0
        } else {
            spelled
        }
    };
    let paths = paths.iter().map(|it| (likeness(it), it.to_string()));
    let mut paths: Vec<(f64, String)> = paths.filter(|(likeness, _)| *likeness > 0.9).collect();
    paths.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let has_name = paths.first().is_some_and(|(likeness, _)| *likeness > 1.0);
    paths.retain(|(likeness, _)| !has_name || *likeness > 1.0);
    paths.into_iter().take(3).map(|(_, path)| path).collect()
}

/// The paths of all fields below the top level.
fn collect(schema: &Schema, path: &Path, paths: &mut Vec<Path>) {
    for (name, field) in &schema.properties {
        let path = path.field(name);
        if path.steps().len() > 1 {
            paths.push(path.clone());
        }
        collect(field, &path, paths);
    }
    if let Some(items) = &schema.items {
        collect(items, &path.with(Step::items(schema)), paths);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        collect(values, &path.with(Step::Values), paths);
    }
}
