//! The conversion of a kind: its hub, its spokes, and the steps of converting an object.

use serde_json::Value;

use super::declared::Declared;
use super::difference::Difference;
use super::error::ConversionError;
use super::kept::Kept;
use super::path::Path;
use super::place::type_of;
use super::restore::restore;
use super::side::Side;
use super::spoke::Spoke;

/// Converts the objects of a kind between its versions.
///
/// Each conversion goes through the hub. What a version cannot hold is kept in the annotation `conversion.<group>/kept` and restored when
/// the object is read in a version that can, unless the field was edited since. Nothing else in `metadata` changes.
///
/// ```
/// use operator_runtime::conversion::{Conversion, Spoke};
/// use serde_json::json;
///
/// let conversion = Conversion::new("memcacheds.cache.example.com", "v2")
///     .spoke(Spoke::new("v1").moved("spec.size", "spec.replicas").only_in_hub("spec.tier"));
/// let old = json!({"apiVersion": "cache.example.com/v1", "kind": "Memcached", "spec": {"size": 3}});
/// let new = conversion.convert(&old, "cache.example.com/v2")?;
/// assert_eq!(new["spec"], json!({"replicas": 3}));
/// assert_eq!(conversion.convert(&new, "cache.example.com/v1")?, old);
/// # Ok::<_, operator_runtime::conversion::ConversionError>(())
/// ```
pub struct Conversion {
    crd: String,
    group: String,
    hub: String,
    spokes: Vec<Spoke>,
    annotation: String,
    sensitive: Vec<(String, Path)>,
    problem: Option<ConversionError>,
}

impl Conversion {
    /// A conversion of the CRD with this name, for example `memcacheds.cache.example.com`, through the version `hub`.
    pub fn new(crd: &str, hub: &str) -> Self {
        let group = crd.split_once('.').map_or("", |(_, group)| group);
        Self {
            crd: crd.to_owned(),
            group: group.to_owned(),
            hub: hub.to_owned(),
            spokes: Vec::new(),
            annotation: format!("conversion.{group}/kept"),
            sensitive: Vec::new(),
            problem: None,
        }
    }

    /// Adds a version.
    pub fn spoke(mut self, mut spoke: Spoke) -> Self {
        spoke.complete(&self.hub);
        for (version, path) in &self.sensitive {
            add_sensitive(&mut spoke, version, path);
        }
        if self
            .spokes
            .iter()
            .any(|it| it.versions.spoke == spoke.versions.spoke)
        {
            spoke.problems.push("the version was added twice".into());
        }
        self.record_problem(&spoke);
        self.spokes.push(spoke);
        self
    }

    /// Marks a field of a version as sensitive: its value, and those below it, are never kept in the annotation.
    pub fn sensitive(mut self, version: &str, path: &str) -> Self {
        match Path::read(path) {
            Ok(path) => {
                let mut spokes = std::mem::take(&mut self.spokes);
                for spoke in &mut spokes {
                    add_sensitive(spoke, version, &path);
                    self.record_problem(spoke);
                }
                self.spokes = spokes;
                self.sensitive.push((version.to_owned(), path));
            }
            Err(problem) => self.add_problem(version, format!("path {path:?}: {problem}")),
        }
        self
    }

    /// The name of the CRD.
    pub fn crd(&self) -> &str {
        &self.crd
    }

    /// The version that all conversions go through.
    pub fn hub(&self) -> &str {
        &self.hub
    }

    /// All versions, the hub first.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        let spokes = self
            .spokes
            .iter()
            .map(|spoke| spoke.versions.spoke.as_str());
        std::iter::once(self.hub.as_str()).chain(spokes)
    }

    /// What the conversions may change or refuse.
    pub fn declared(&self) -> impl Iterator<Item = &Declared> {
        self.spokes.iter().flat_map(|spoke| &spoke.declared)
    }

    /// Fails with the first problem of the rules themselves, as every conversion does.
    pub fn check(&self) -> Result<(), ConversionError> {
        self.problem.clone().map_or(Ok(()), Err)
    }

    /// Converts an object to another version; `to` is its group and version, for example `cache.example.com/v2`.
    pub fn convert(&self, object: &Value, to: &str) -> Result<Value, ConversionError> {
        self.check()?;
        let found = |found| ConversionError::NotAnObject { found };
        let fields = object.as_object().ok_or_else(|| found(type_of(object)))?;
        let api_version = fields.get("apiVersion").and_then(Value::as_str);
        let from = self.version(api_version.ok_or_else(|| found("one without it"))?)?;
        let to = self.version(to)?;
        if from == to {
            return Ok(object.clone());
        }
        let mut converted = None;
        // to the hub first, and from there; neither is a step if the version is the hub itself
        for (version, side) in [(from, Side::Hub), (to, Side::Spoke)] {
            if let Some(spoke) = self.spokes.iter().find(|it| it.versions.spoke == version) {
                converted = Some(self.step(spoke, converted.as_ref().unwrap_or(object), side)?);
            }
        }
        Ok(converted.unwrap_or_else(|| object.clone()))
    }

    /// Converts an object between a spoke and the hub.
    fn step(&self, spoke: &Spoke, object: &Value, to: Side) -> Result<Value, ConversionError> {
        let from = to.other();
        let mut kept = Kept::read(object, &self.annotation);
        // the entries for the object's own version are out of date: what it has is in its fields
        kept.0.remove(spoke.versions.of(from));
        let mut converted = spoke.plain(object, to)?;
        self.set_version(&mut converted, spoke.versions.of(to));
        let entries = kept.0.remove(spoke.versions.of(to)).unwrap_or_default();
        let (mut converted, back) = restore(spoke, to, converted, object, &entries)?;
        let lost = Difference::of(spoke, from, object, &converted, &back)?;
        kept.0.insert(spoke.versions.of(from).clone(), lost);
        kept.write(&mut converted, &self.annotation)?;
        Ok(converted)
    }

    /// Sets the `apiVersion` of an object.
    fn set_version(&self, object: &mut Value, version: &str) {
        if let Some(api_version) = object.get_mut("apiVersion") {
            *api_version = format!("{}/{version}", self.group).into();
        }
    }

    /// The version of an `apiVersion`, if it is one of this CRD.
    fn version<'a>(&self, api_version: &'a str) -> Result<&'a str, ConversionError> {
        let version = api_version.rsplit_once('/');
        let version = version
            .filter(|(group, _)| *group == self.group)
            .map(|(_, version)| version);
        let known = version.filter(|version| self.versions().any(|it| it == *version));
        known.ok_or_else(|| ConversionError::UnknownVersion {
            crd: self.crd.clone(),
            api_version: api_version.to_owned(),
            known: self.versions().collect::<Vec<_>>().join(", "),
        })
    }

    /// Records the first problem of a spoke.
    fn record_problem(&mut self, spoke: &Spoke) {
        if let Some(problem) = spoke.problems.first() {
            self.add_problem(&spoke.versions.spoke, problem.clone());
        }
    }

    fn add_problem(&mut self, version: &str, problem: String) {
        self.problem.get_or_insert(ConversionError::Rule {
            crd: self.crd.clone(),
            version: version.to_owned(),
            problem,
        });
    }
}

fn add_sensitive(spoke: &mut Spoke, version: &str, path: &Path) {
    for side in [Side::Spoke, Side::Hub] {
        if spoke.versions.of(side) == version {
            spoke.check_sensitive(side, path);
        }
    }
}
