//! The checks of one object: its conversion to another version, back, to that version again, and through a third version.

use serde_json::Value;

use super::crd::Version;
use super::declared::subject;
use super::difference::differences;
use super::field::Field;
use super::proof::ConversionProof;
use super::report::{Report, shown};

impl ConversionProof<'_> {
    /// The other versions.
    pub(super) fn others<'s>(&'s self, version: &'s Version) -> impl Iterator<Item = &'s Version> {
        self.crd
            .versions
            .iter()
            .filter(|other| other.name != version.name)
    }

    /// Checks the conversions of an object of `from` to `to`; with `detours`, also through each third version.
    pub(super) fn check(
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
        let help = "give the field a place in the other version, with `renames` in operator.toml or an answer in the kind's conversion file, or declare it in that file as lossy or normalised";
        self.compare(from, object, &back, &route, "lost", help, report);
        if let Some(again) = self.convert(&back, to, report) {
            let again = self.settled(again, from, to, report);
            let route = format!("{route} -> {}", to.name);
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
                let help = "convert through the hub only, with functions whose results depend only on their arguments";
                self.compare(to, &settled, &arrived, &route, "detour", help, report);
            }
        }
    }

    /// Converts an object. Reports an error, unless its field is declared as inexpressible.
    fn convert(&self, object: &Value, to: &Version, report: &mut Report) -> Option<Value> {
        let error = match (self.function)(object, &self.crd.api_version(&to.name)) {
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

    /// A converted object as the API server returns it: with defaults, and without unknown fields, which are reported.
    fn settled(
        &self,
        mut object: Value,
        from: &Version,
        to: &Version,
        report: &mut Report,
    ) -> Value {
        let before = object.clone();
        for path in to.settle(&mut object) {
            let field = Field::read(&path);
            // the value is not found if a map key in the path contains dots
            let value = field
                .values(&before)
                .first()
                .map(|value| format!(": {}", shown(Some(value))));
            let what = format!(
                "the conversion from {} writes this field, which the schema does not have{}",
                from.name,
                value.unwrap_or_default()
            );
            let help =
                "run `cargo operator regenerate`, which finds fields that only one version has";
            report.add(&to.name, &path, "unknown", &what, help);
        }
        object
    }

    /// Compares two objects of a version, except for declared fields and metadata, which `check_metadata` compares.
    #[expect(clippy::too_many_arguments, reason = "each is a part of the message")]
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
}
