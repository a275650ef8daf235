//! Converts arbitrary objects to every other version and back, and compares.

use std::path::Path;

use serde_json::Value;

use super::crd::Crd;
use super::declared::{Declared, Kind};
use super::field::Field;
use super::report::Report;

/// The number of objects of a version that cover its schema.
const COVERING: usize = 300;
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
    pub(super) function: Convert<'a>,
    pub(super) declared: Vec<Declared>,
}

impl<'a> ConversionProof<'a> {
    /// A proof for the CRD of this name in a file. `convert` gets an object, and the `apiVersion` to convert it to. Errors about a
    /// field begin with its version and path: `v1 spec.size: reason`.
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
            function: Box::new(convert),
            declared: vec![],
        }
    }

    /// Declares an exception: `kind` is `lossy`, `normalised` or `inexpressible`, `field` is a path in the version of `example`, and
    /// `example` is an object that needs the exception. The proof fails if it does not.
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

    /// Checks all objects and declarations.
    ///
    /// # Panics
    ///
    /// Panics with the failures, one for each field, if there are any.
    pub fn assert(&self) {
        const SHOWN: usize = 30;
        let failures = self.failures();
        if failures.is_empty() {
            return;
        }
        let shown = &failures[..failures.len().min(SHOWN)];
        let more = match failures.len() - shown.len() {
            0 => String::new(),
            more => format!("\nand {more} more"),
        };
        let name = &self.crd.name;
        panic!(
            "the conversions of {name} do not keep every object:\n\n{}{more}\n",
            shown.join("\n")
        );
    }

    /// All failures, each as [`assert`](Self::assert) prints it.
    pub fn failures(&self) -> Vec<String> {
        let mut report = Report::default();
        for from in &self.crd.versions {
            let objects = self.crd.objects(from, COVERING);
            if objects.is_empty() {
                report.add(
                    &from.name,
                    "schema",
                    "empty",
                    "no valid object was found, so nothing is proven",
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
            object = (self.function)(&object, &self.crd.api_version(&version.name))?;
            version.settle(&mut object);
        }
        Ok(object)
    }
}
