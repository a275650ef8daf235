//! The versions of a kind between which the operator converts: what follows from their schemas and from `operator.toml`.

use operator_schema::Schema;

use super::KindId;
use crate::{
    config::{ConfigError, Kind, Paths, Place, Renamed, Source, Step},
    conversion::{self, Derivation, End, Path, Rename, RenameError, derive, resolve},
    crd::{Api, Version},
};

/// Adds the fields of the version `other` that a rename creates from sensitive fields of `version`.
fn carry<'a>(
    sensitive: &mut Vec<(&'a str, Path)>,
    rename: &Rename,
    (end, version): (End, &str),
    (other_end, other): (End, &'a str),
) {
    let is_sensitive = |path: &Path| {
        sensitive
            .iter()
            .filter(|(of, _)| *of == version)
            .any(|(_, it)| it.is_within(path) || path.is_within(it))
    };
    if !rename.at(end).iter().any(is_sensitive) {
        return;
    }
    for path in rename.at(other_end) {
        let mut known = sensitive.iter();
        if !known.any(|(of, it)| *of == other && path.is_within(it)) {
            sensitive.push((other, path.clone()));
        }
    }
}

/// The conversions of a kind whose versions have different schemas.
#[derive(Clone, Debug)]
pub struct Conversions<'a> {
    pub hub: &'a Version,
    pub spokes: Vec<Spoke<'a>>,
    /// The fields whose values are never kept in an annotation, each with its version.
    pub sensitive: Vec<(&'a str, Path)>,
}

/// A version that is converted to the hub and back.
#[derive(Clone, Debug)]
pub struct Spoke<'a> {
    pub version: &'a Version,
    pub derivation: Derivation,
}

/// A part of a kind in `operator.toml` that its CRD contradicts.
#[derive(Clone, Debug, thiserror::Error)]
enum Problem {
    #[error("its CRD has no version `{version}`; it has {}", known.join(", "))]
    NoVersion { version: String, known: Vec<String> },
    #[error("`{0}` is the hub, which is the target of all renames")]
    OfHub(String),
    #[error("`hub` is missing, so there is no conversion that `{key}` applies to")]
    NoHub {
        key: &'static str,
        known: Vec<String>,
    },
    #[error("`versions` lacks `{0}`, which is converted")]
    NoTypes(String),
    #[error("its CRD belongs to another operator, which converts its versions")]
    Foreign,
    #[error("`{0}` is an empty list")]
    Empty(&'static str),
    #[error("the module of the version `{0}` has a name that is in use")]
    Module(String),
    #[error("nothing is converted, because the schemas of all versions are equal")]
    Equal,
    #[error(transparent)]
    Rename(#[from] RenameError),
}

impl Problem {
    fn help(&self) -> String {
        match self {
            Problem::NoVersion { known, .. } if known.len() == 1 => format!(
                "only one version is left: set `hub = {:?}`, and remove `renames` and `sensitive`",
                known[0]
            ),
            Problem::NoVersion { .. } => "choose one of these, or remove the entry if the version was removed".into(),
            Problem::OfHub(_) => "write the version that has the other path".into(),
            Problem::NoHub { key, known } if known.len() == 1 => {
                format!("only one version is left, so nothing is converted: remove `{key}`")
            }
            Problem::NoHub { known, .. } => format!(
                "set `hub` to the version that all others are converted to and from: {}",
                known.join(" or ")
            ),
            Problem::NoTypes(version) => format!("add {version:?} to `versions`"),
            Problem::Foreign => "remove `hub`, or set `scaffold` if the kind is this operator's own".into(),
            Problem::Equal => "remove the entry until the schemas differ: the API server carries each field to the one of its name".into(),
            Problem::Empty(_) => "name at least one field".into(),
            Problem::Module(_) => "give the version another name, such as `v1`".into(),
            Problem::Rename(error) => error.help(),
        }
    }

    /// The error about this part of the table of a kind.
    fn of(&self, id: KindId, kind: &Kind, steps: &[Step]) -> ConfigError {
        ConfigError::at(
            steps.iter().cloned().fold(id.place(), Place::then),
            format!("{}: {self}", kind.full_name()),
            self.help(),
        )
    }
}

impl Kind {
    /// Whether the operator converts between versions of the kind. `was_converted` is whether it did so before.
    pub fn is_converted(&self, api: &Api, was_converted: bool) -> bool {
        let hub = self.hub.as_ref().filter(|_| self.source() == Source::Own);
        let hub = hub.and_then(|hub| api.version(hub));
        hub.is_some_and(|hub| conversion::spokes(api, hub, was_converted).is_some())
    }
}

/// The errors about versions that the CRD of a kind does not have.
pub(super) fn unknown_versions(id: KindId, kind: &Kind, api: &Api) -> Vec<ConfigError> {
    let is_unknown = |(_, version): &(usize, &String)| api.version(version).is_none();
    let versions = kind.versions.iter().enumerate().filter(is_unknown);
    versions
        .map(|(index, version)| {
            ConfigError::at(
                id.place().then("versions").then(index),
                format!(
                    "operator.toml names the version `{version}` of {}, but its CRD has no such version",
                    kind.kind
                ),
                "remove it from `versions` in operator.toml",
            )
        })
        .collect()
}

/// The conversions that the operator serves for a kind; `None` if there is no hub, or if all versions have equal schemas.
///
/// A kind that `was_converted` stays converted while it has a hub, even if it has one version: server-side apply of a CRD without the webhook
/// that an earlier release has installed is refused, because the runtime owns the field `caBundle` in it.
pub(super) fn conversions<'a>(
    id: KindId,
    kind: &'a Kind,
    api: &'a Api,
    was_converted: bool,
) -> Result<Option<Conversions<'a>>, ConfigError> {
    let declared = Declared { id, kind, api };
    let Some(hub) = &kind.hub else {
        return declared.without_hub();
    };
    if kind.source() == Source::Foreign {
        return Err(declared.failed(Problem::Foreign, &["hub".into()]));
    }
    let hub = declared.version(hub, &["hub".into()])?;
    declared.check_renames(hub)?;
    let (mut spokes, mut renamed) = (vec![], vec![]);
    let versions = conversion::spokes(api, hub, was_converted);
    for version in versions.iter().flatten().copied() {
        let renames = declared.renames(version, hub)?;
        spokes.push(Spoke {
            version,
            derivation: derive(version, hub, &renames),
        });
        renamed.push((version, renames));
    }
    if versions.is_none() && !kind.renames.is_empty() {
        return Err(declared.failed(Problem::Equal, &["renames".into(), 0usize.into()]));
    }
    let all: Vec<&Version> = spokes.iter().map(|it| it.version).chain([hub]).collect();
    let mut sensitive = declared.sensitive(&all, hub)?;
    // first from all spokes to the hub, then back: so a field that is sensitive in one spoke is sensitive in the others, too
    for end in [End::Hub, End::Spoke] {
        for (version, renames) in &renamed {
            let (of_spoke, of_hub) = (
                (End::Spoke, version.name.as_str()),
                (End::Hub, hub.name.as_str()),
            );
            let (from, to) = match end {
                End::Hub => (of_spoke, of_hub),
                End::Spoke => (of_hub, of_spoke),
            };
            for rename in renames {
                carry(&mut sensitive, rename, from, to);
            }
        }
    }
    if versions.is_none() {
        return Ok(None);
    }
    for version in all {
        let name = || version.name.clone();
        let problem = if !kind.versions.contains(&version.name) {
            Problem::NoTypes(name())
        } else if ["conversion", "versions"].contains(&version.name.as_str()) {
            Problem::Module(name())
        } else {
            continue;
        };
        return Err(declared.failed(problem, &["versions".into()]));
    }
    Ok(Some(Conversions {
        hub,
        spokes,
        sensitive,
    }))
}

/// The table of a kind, which declares its conversions, and its CRD.
struct Declared<'a> {
    id: KindId,
    kind: &'a Kind,
    api: &'a Api,
}

impl<'a> Declared<'a> {
    fn failed(&self, problem: Problem, steps: &[Step]) -> ConfigError {
        problem.of(self.id, self.kind, steps)
    }

    fn known(&self) -> Vec<String> {
        let versions = self.api.versions.iter();
        versions.map(|version| version.name.clone()).collect()
    }

    /// The result for a kind without a hub: no conversions, and an error if a key needs one.
    fn without_hub(&self) -> Result<Option<Conversions<'a>>, ConfigError> {
        let keys = [
            ("renames", !self.kind.renames.is_empty()),
            ("sensitive", !self.kind.sensitive.is_empty()),
        ];
        match keys.into_iter().find(|(_, is_set)| *is_set) {
            Some((key, _)) => {
                let known = self.known();
                Err(self.failed(Problem::NoHub { key, known }, &[key.into()]))
            }
            None => Ok(None),
        }
    }

    fn version(&self, name: &str, steps: &[Step]) -> Result<&'a Version, ConfigError> {
        self.api.version(name).ok_or_else(|| {
            let problem = Problem::NoVersion {
                version: name.to_owned(),
                known: self.known(),
            };
            self.failed(problem, steps)
        })
    }

    /// Checks the renames except for their paths: the version, and that no side is empty.
    fn check_renames(&self, hub: &Version) -> Result<(), ConfigError> {
        for (index, renamed) in self.kind.renames.iter().enumerate() {
            let keys = |key: &'static str| ["renames".into(), index.into(), key.into()];
            let version = self.version(&renamed.version, &keys("version"))?;
            if version.name == hub.name {
                return Err(self.failed(Problem::OfHub(hub.name.clone()), &keys("version")));
            }
            for (key, paths) in [("from", &renamed.from), ("to", &renamed.to)] {
                if paths.as_slice().is_empty() {
                    return Err(self.failed(Problem::Empty(key), &keys(key)));
                }
            }
        }
        Ok(())
    }

    /// The renames between a version and the hub.
    fn renames(&self, version: &'a Version, hub: &'a Version) -> Result<Vec<Rename>, ConfigError> {
        let (numbers, renames): (Vec<usize>, Vec<&Renamed>) = self
            .kind
            .renames
            .iter()
            .enumerate()
            .filter(|(_, it)| it.version == version.name)
            .unzip();
        let declared: Vec<_> = renames
            .iter()
            .map(|it| [it.from.as_slice().to_vec(), it.to.as_slice().to_vec()])
            .collect();
        resolve(&declared, named(version), named(hub)).map_err(|(at, error)| {
            let (end, path) = error.place();
            let (key, paths) = match end {
                End::Spoke => ("from", &renames[at].from),
                End::Hub => ("to", &renames[at].to),
            };
            let mut steps = vec!["renames".into(), numbers[at].into(), key.into()];
            let position = paths.as_slice().iter().position(|it| it == path);
            if let (Paths::Many(_), Some(position)) = (paths, position) {
                steps.push(position.into());
            }
            self.failed(error.into(), &steps)
        })
    }

    /// The fields of the key `sensitive`, in each version that has them.
    fn sensitive(
        &self,
        all: &[&'a Version],
        hub: &'a Version,
    ) -> Result<Vec<(&'a str, Path)>, ConfigError> {
        let mut sensitive = vec![];
        for (index, text) in self.kind.sensitive.iter().enumerate() {
            let resolve = |version: &'a Version| {
                let path = conversion::path(End::Hub, text, named(version));
                path.map(|path| (version.name.as_str(), path))
            };
            let mut found: Vec<_> = all.iter().filter_map(|it| resolve(it).ok()).collect();
            if found.is_empty() {
                // no version has the field, so it is reported for the hub
                let keys = ["sensitive".into(), index.into()];
                found.push(resolve(hub).map_err(|error| self.failed(error.into(), &keys))?);
            }
            sensitive.extend(found);
        }
        Ok(sensitive)
    }
}

/// A version, for paths in its schema.
fn named(version: &Version) -> (&str, &Schema) {
    (&version.name, &version.schema)
}
