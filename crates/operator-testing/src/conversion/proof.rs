//! Converts arbitrary objects to every other version and back, and compares.

use std::path::Path;

use serde_json::Value;

use super::crd::{Crd, Version};
use super::declared::{Declared, Kind, subject};
use super::difference::differences;
use super::field::Field;
use super::report::{Report, shown};

/// The number of objects of a version that cover its schema.
const COVERING: usize = 300;
/// The number of further objects of a version.
const RANDOM: usize = 40;
/// The number of objects of a version that are also converted through a third version.
const DETOURS: usize = 60;

type Convert<'a> = Box<dyn Fn(&Value, &str) -> Result<Value, String> + 'a>;

/// Proves that the conversions of a kind lose nothing.
///
/// Arbitrary valid objects of each version are converted to every other version and back. The proof fails unless each converted object is
/// valid in its version (with the feature `cel`, its rules too), each comes back equal, converting it again changes nothing, a detour
/// through a third version changes nothing, and `metadata` is the same except for the annotation `conversion.<group>/kept`. Between
/// conversions, unknown fields are dropped and defaults are set as in the API server.
///
/// ```no_run
/// # struct Conversion;
/// # impl Conversion { fn convert(&self, _: &serde_json::Value, _: &str) -> Result<serde_json::Value, String> { Err("".into()) } }
/// # let conversion = Conversion;
/// use operator_testing::ConversionProof;
///
/// ConversionProof::new("crds/caches.yaml", "caches.cache.example.com", |object, to| {
///     conversion.convert(object, to).map_err(|error| error.to_string())
/// })
/// .assert();
/// ```
pub struct ConversionProof<'a> {
    pub(super) crd: Crd,
    convert: Convert<'a>,
    pub(super) declared: Vec<Declared>,
}

impl<'a> ConversionProof<'a> {
    /// A proof for the CRD of this name in a file. `convert` gets an object, and the group and version to convert it to. Errors about a
    /// field begin with version and path: `v1 spec.size: reason`.
    ///
    /// # Panics
    ///
    /// If the file does not have the CRD.
    pub fn new(
        path: impl AsRef<Path>,
        crd: &str,
        convert: impl Fn(&Value, &str) -> Result<Value, String> + 'a,
    ) -> Self {
        Self::with(Crd::read(path.as_ref(), crd), convert)
    }

    /// Like [`new`](Self::new), with the CRD itself.
    ///
    /// # Panics
    ///
    /// If a schema of the CRD cannot be read.
    pub fn of(crd: &Value, convert: impl Fn(&Value, &str) -> Result<Value, String> + 'a) -> Self {
        Self::with(Crd::of(crd), convert)
    }

    fn with(crd: Crd, convert: impl Fn(&Value, &str) -> Result<Value, String> + 'a) -> Self {
        Self {
            crd,
            convert: Box::new(convert),
            declared: vec![],
        }
    }

    /// An exception: `kind` is `lossy`, `normalised` or `inexpressible`, `field` a path of the version of `example`, which is an object.
    /// The proof fails if the example does not show such a case.
    ///
    /// # Panics
    ///
    /// If there is no such kind.
    pub fn declared(mut self, kind: &str, field: &str, example: &Value) -> Self {
        self.declared.push(Declared {
            kind: Kind::read(kind),
            field: Field::read(field),
            example: example.clone(),
        });
        self
    }

    /// # Panics
    ///
    /// Panics with all failures, one for each field, if there are any.
    pub fn assert(&self) {
        let failures = self.failures();
        assert!(
            failures.is_empty(),
            "the conversions of {} do not keep every object:\n\n{}\n",
            self.crd.name,
            failures.join("\n")
        );
    }

    /// The failures, as [`assert`](Self::assert) prints them.
    pub fn failures(&self) -> Vec<String> {
        let mut report = Report::default();
        for from in &self.crd.versions {
            let objects = self.crd.objects(from, COVERING, RANDOM);
            if objects.is_empty() {
                let what = "no valid object was found, so nothing is proven";
                report.add(
                    &from.name,
                    "schema",
                    "empty",
                    what,
                    "simplify its rules and patterns",
                );
            }
            for (index, object) in objects.iter().enumerate() {
                for to in self.others(from) {
                    self.check(from, to, object, index < DETOURS, &mut report);
                }
            }
        }
        self.check_declared(&mut report);
        report.into_lines()
    }

    fn others<'s>(&'s self, version: &'s Version) -> impl Iterator<Item = &'s Version> {
        let versions = self.crd.versions.iter();
        versions.filter(|other| other.name != version.name)
    }

    fn check(
        &self,
        from: &Version,
        to: &Version,
        object: &Value,
        detours: bool,
        report: &mut Report,
    ) {
        let Some(converted) = self.convert(object, to, report) else {
            return;
        };
        let settled = self.settled(converted, from, to, report);
        for violation in to.violations(&settled) {
            let (field, reason) = violation.split_once(": ").unwrap_or(("", &violation));
            let what = format!(
                "{reason}\n  when this object of {} is converted to {}: {}",
                from.name,
                to.name,
                shown(object.get("spec").or(Some(object)))
            );
            let help = "answer this field in the kind's conversion file, so that the value is valid, or declare it as inexpressible and return an error";
            report.add(&to.name, field, "invalid", &what, help);
        }
        let Some(back) = self.convert(&settled, from, report) else {
            return;
        };
        let back = self.settled(back, to, from, report);
        let route = format!("{} -> {} -> {}", from.name, to.name, from.name);
        let help = "give the field a place there, with `renames` in operator.toml or an answer in the kind's conversion file, or declare it there as lossy or normalised";
        self.compare(from, object, &back, &route, "lost", help, report);
        if let Some(again) = self.convert(&back, to, report) {
            let again = self.settled(again, from, to, report);
            let route = format!("{} -> {route} -> {}", from.name, to.name);
            let help = "the two functions of an answer have to undo each other, or the field has to be declared as normalised";
            self.compare(to, &settled, &again, &route, "unstable", help, report);
        }
        for third in self
            .others(from)
            .filter(|third| detours && third.name != to.name)
        {
            let detour = self.convert(object, third, report);
            let detour = detour.map(|it| self.settled(it, from, third, report));
            if let Some(arrived) = detour.and_then(|it| self.convert(&it, to, report)) {
                let arrived = self.settled(arrived, third, to, report);
                let route = format!("{} -> {} -> {}", from.name, third.name, to.name);
                let help =
                    "convert through the hub only, with functions that depend on nothing else";
                self.compare(to, &settled, &arrived, &route, "detour", help, report);
            }
        }
    }

    /// Converts an object; an error that is not declared is reported.
    fn convert(&self, object: &Value, to: &Version, report: &mut Report) -> Option<Value> {
        let error = match (self.convert)(object, &self.crd.api_version(&to.name)) {
            Ok(converted) => {
                self.check_metadata(object, &converted, to, report);
                return Some(converted);
            }
            Err(error) if self.is_declared(&error) => return None,
            Err(error) => error,
        };
        let (version, field) = subject(&error).unwrap_or((&to.name, "conversion"));
        let what = format!("cannot be converted: {error}");
        let help = "answer every value of this field in the kind's conversion file, or declare it there as inexpressible";
        report.add(version, field, "error", &what, help);
        None
    }

    /// What the API server makes of a converted object. Fields that it drops are reported.
    fn settled(
        &self,
        mut object: Value,
        from: &Version,
        to: &Version,
        report: &mut Report,
    ) -> Value {
        let before = object.clone();
        for path in to.settle(&mut object) {
            let value = Field::read(&path);
            let value = value.values(&before).first().copied();
            let what = format!(
                "the conversion from {} writes this field, which the schema does not have: {}",
                from.name,
                shown(value)
            );
            let help =
                "run `cargo operator regenerate`, which finds fields that only one version has";
            report.add(&to.name, &path, "unknown", &what, help);
        }
        object
    }

    /// Compares two objects of a version, except for declared fields. Metadata is compared after each conversion.
    #[allow(clippy::too_many_arguments, reason = "each is a part of the message")]
    fn compare(
        &self,
        version: &Version,
        before: &Value,
        after: &Value,
        route: &str,
        kind: &str,
        help: &str,
        report: &mut Report,
    ) {
        let before = self.comparable(version, before);
        let after = self.comparable(version, after);
        for difference in differences(&before, &after) {
            let what = format!(
                "{} becomes {} on the way {route}",
                shown(difference.before),
                shown(difference.after)
            );
            report.add(&version.name, &difference.path, kind, &what, help);
        }
    }

    fn comparable(&self, version: &Version, object: &Value) -> Value {
        let mut object = self.without_declared(&version.name, object);
        if let Some(fields) = object.as_object_mut() {
            fields.retain(|name, _| !matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
        }
        object
    }

    fn check_metadata(&self, before: &Value, after: &Value, to: &Version, report: &mut Report) {
        let meta = |object: &Value| {
            let mut object = object.clone();
            self.remove_annotation(&mut object);
            serde_json::json!({"metadata": object["metadata"], "kind": object["kind"]})
        };
        let help = "only the annotation of the conversion may change";
        for difference in differences(&meta(before), &meta(after)) {
            let what = format!(
                "{} becomes {} in the conversion of {}",
                shown(difference.before),
                shown(difference.after),
                shown(before.get("apiVersion"))
            );
            report.add(&to.name, &difference.path, "metadata", &what, help);
        }
        let api_version = self.crd.api_version(&to.name);
        if after["apiVersion"] != api_version.as_str() {
            let what = format!(
                "is {} instead of {api_version:?}",
                shown(after.get("apiVersion"))
            );
            report.add(
                &to.name,
                "apiVersion",
                "metadata",
                &what,
                "set it to the version that was asked for",
            );
        }
    }

    fn remove_annotation(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove(&self.crd.annotation());
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
    }

    /// An object after it was converted to another version and back, as the API server returns it.
    pub(super) fn there_and_back(&self, object: &Value, other: &str) -> Result<Value, String> {
        let mut object = object.clone();
        let from = self.crd.version_of(&object).ok_or("no such version")?;
        let to = self
            .crd
            .versions
            .iter()
            .find(|it| it.name == other)
            .ok_or("no such version")?;
        for version in [to, from] {
            object = (self.convert)(&object, &self.crd.api_version(&version.name))?;
            version.settle(&mut object);
        }
        Ok(object)
    }
}
