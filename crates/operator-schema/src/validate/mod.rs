//! Validates values against a schema, with the order and the messages of the API server's validator.
//!
//! Its quirks are kept if they affect what is accepted: `null` never satisfies an `enum`, a list is accepted for a string with a known
//! format, and bounds lose their fraction if the value is a whole number.

mod kind;

pub(crate) use self::kind::is_same;
use self::kind::{allows, is_whole, type_of, types};
use crate::correlate::Old;
use crate::go::{Num, json, quoted, shown};
use crate::path::child;
use crate::{Reason, Schema, SchemaOrBool, Violation, embedded, format, list, number, pattern};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The reasons why the API server would reject `value`, except for CEL rules (see [`unchecked_rules`](crate::unchecked_rules)).
///
/// `schema` is the root of a version, and `value` a whole object, pruned and defaulted. Corresponding parts of both work too; paths then
/// start at the part. The metadata of the object is not checked, because that does not depend on the schema.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation>
pub fn violations(schema: &Schema, value: &Value) -> Vec<Violation> {
    checked(schema, value, Old::default(), true)
}

/// The reasons why the API server would reject the update of `old` to `new`, except for CEL rules.
///
/// Violations by unchanged values are accepted: a value is unchanged if it equals the old value of the same field, or of the item with the
/// same keys in a list of type `map`. Items of all other lists count as changed if the list has changed. An object that lacks a required
/// field must get it when another field of it changes. Both objects are pruned and defaulted.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-ratcheting>
pub fn update_violations(schema: &Schema, old: &Value, new: &Value) -> Vec<Violation> {
    // if the old object has duplicates in its lists, those of the new one are accepted
    let mut duplicates = Vec::new();
    list::check(schema, old, &mut String::new(), &mut duplicates);
    checked(
        schema,
        new,
        Old::of(schema, new, old),
        duplicates.is_empty(),
    )
}

/// The reasons why the API server would reject the update of `old` to `new` through the subresource `status`, except for CEL rules: the
/// violations of the status alone, by the schema of the status alone.
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#status-subresource>
pub fn status_violations(schema: &Schema, old: &Value, new: &Value) -> Vec<Violation> {
    update_violations(schema, old, new)
        .into_iter()
        .filter(|it| {
            let rest = it.path.trim_start_matches('.').strip_prefix("status");
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
        // the messages, but not the paths, start at the status
        .map(|violation| Violation {
            detail: violation
                .detail
                .replace(": status.", ": ")
                .replace(": status in body", ":  in body"),
            ..violation
        })
        .collect()
}

/// All violations, each once. Duplicates in lists are only reported `with_lists`.
fn checked(schema: &Schema, value: &Value, old: Old<'_>, with_lists: bool) -> Vec<Violation> {
    let mut violations = Validator::default().check(schema, value, old).violations;
    embedded::check(schema, value, &mut String::new(), &mut violations);
    if with_lists {
        list::check(schema, value, &mut String::new(), &mut violations);
    }
    let mut seen = HashSet::new();
    violations.retain(|violation| seen.insert(violation.clone()));
    violations
}

/// Whether the value has no [`violations`].
pub(crate) fn is_valid(schema: &Schema, value: &Value) -> bool {
    violations(schema, value).is_empty()
}

/// The result of a schema for a value. For a union, the branch with the most matches is reported.
#[derive(Default)]
struct Verdict {
    violations: Vec<Violation>,
    /// The number of matches, as the API server's validator counts them.
    matches: usize,
}

impl Verdict {
    fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    fn merge(&mut self, other: Verdict) {
        self.violations.extend(other.violations);
        self.matches += other.matches;
    }

    fn refuse(&mut self, violation: Violation) {
        self.violations.push(violation);
    }
}

#[derive(Default)]
struct Validator {
    path: String,
}

impl Validator {
    fn check(&mut self, schema: &Schema, value: &Value, old: Old<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        if old.is_unchanged() {
            return verdict;
        }
        self.type_(schema, value, &mut verdict);
        if value.is_null() {
            self.enum_(schema, value, &mut verdict);
            return verdict;
        }
        self.combinations(schema, value, old, &mut verdict);
        match value {
            Value::String(text) => self.string(schema, text, &mut verdict),
            Value::Number(value) => {
                verdict.matches += 2;
                number::check(schema, Num::of(value), &self.path, &mut verdict.violations);
            }
            Value::Array(items) => self.array(schema, items, old, &mut verdict),
            _ => {}
        }
        self.enum_(schema, value, &mut verdict);
        if let Value::Object(map) = value {
            self.object(schema, map, old, &mut verdict);
        }
        verdict.matches += 2;
        verdict
    }

    fn type_(&self, schema: &Schema, value: &Value, verdict: &mut Verdict) {
        let wanted = types(schema);
        let format = format::effective(schema);
        if value.is_null() {
            if !wanted.is_empty() && !schema.nullable {
                verdict.refuse(self.wrong_type(wanted, "null"));
            } else {
                verdict.matches += 1;
            }
            return;
        }
        if wanted.is_empty() && format.is_none() {
            return;
        }
        verdict.matches += 1;
        let (actual, actual_format) = type_of(value);
        let fits = allows(schema, actual)
            || (actual == "integer" && allows(schema, "number"))
            || (allows(schema, "integer") && is_whole(value));
        let numeric = allows(schema, "number") || allows(schema, "integer");
        let violation = match (format, actual) {
            (Some(_), "string" | "array") if !numeric => None,
            (Some(format), "boolean" | "object" | "integer" | "number") if !fits => {
                Some(self.wrong_type(format, actual_format))
            }
            _ if !fits => Some(self.wrong_type(wanted, actual)),
            _ => None,
        };
        match violation {
            Some(violation) => verdict.refuse(violation),
            None => verdict.matches += 1,
        }
    }

    fn wrong_type(&self, wanted: &str, actual: &str) -> Violation {
        let actual = quoted(actual);
        let text = format!("{} in body must be of type {wanted}: {actual}", self.path);
        Violation::new(Reason::TypeInvalid, &self.path, actual, text)
    }

    fn combinations(
        &mut self,
        schema: &Schema,
        value: &Value,
        old: Old<'_>,
        verdict: &mut Verdict,
    ) {
        verdict.matches += 2;
        if !schema.any_of.is_empty() {
            self.any_of(schema, value, old, verdict);
        }
        if !schema.one_of.is_empty() {
            self.one_of(schema, value, old, verdict);
        }
        if !schema.all_of.is_empty() {
            self.all_of(schema, value, old, verdict);
        }
        if let Some(not) = &schema.not
            && self.check(not, value, old).is_valid()
        {
            self.refuse_union(verdict, "must not validate the schema (not)");
        }
    }

    fn any_of(&mut self, schema: &Schema, value: &Value, old: Old<'_>, verdict: &mut Verdict) {
        let mut best: Option<Verdict> = None;
        for branch in &schema.any_of {
            let branch = self.check(branch, value, old);
            if branch.is_valid() {
                return verdict.merge(branch);
            }
            keep_best(&mut best, branch);
        }
        self.refuse_union(verdict, "must validate at least one schema (anyOf)");
        best.into_iter().for_each(|best| verdict.merge(best));
    }

    fn one_of(&mut self, schema: &Schema, value: &Value, old: Old<'_>, verdict: &mut Verdict) {
        let (mut valid, mut best) = (Vec::new(), None);
        for branch in &schema.one_of {
            let branch = self.check(branch, value, old);
            if branch.is_valid() {
                valid.push(branch);
            } else {
                keep_best(&mut best, branch);
            }
        }
        let only = "must validate one and only one schema (oneOf).";
        match valid.len() {
            0 => {
                self.refuse_union(verdict, &format!("{only} Found none valid"));
                best.into_iter().for_each(|best| verdict.merge(best));
            }
            1 => valid.into_iter().for_each(|valid| verdict.merge(valid)),
            n => self.refuse_union(verdict, &format!("{only} Found {n} valid alternatives")),
        }
    }

    fn all_of(&mut self, schema: &Schema, value: &Value, old: Old<'_>, verdict: &mut Verdict) {
        let mut valid = 0;
        for branch in &schema.all_of {
            let branch = self.check(branch, value, old);
            valid += usize::from(branch.is_valid());
            verdict.merge(branch);
        }
        if valid < schema.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.refuse_union(
                verdict,
                &format!("must validate all the schemas (allOf){none}"),
            );
        }
    }

    fn refuse_union(&self, verdict: &mut Verdict, text: &str) {
        verdict.refuse(Violation::without_field(format_args!(
            "{} {text}",
            quoted(&self.path)
        )));
    }

    fn string(&self, schema: &Schema, text: &str, verdict: &mut Verdict) {
        let path = &self.path;
        verdict.matches += 1;
        let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
        if let Some(max) = schema.max_length.filter(|max| length > *max) {
            let bytes = if max == 1 { "byte" } else { "bytes" };
            let text = match max {
                0.. => format!("may not be more than {max} {bytes}"),
                _ => "value is too long".to_owned(),
            };
            verdict.refuse(Violation::one(Reason::TooLong, path, text));
        } else if let Some(min) = schema.min_length.filter(|min| length < *min) {
            let detail = format!("{path} in body should be at least {min} chars long");
            verdict.refuse(Violation::new(Reason::Invalid, path, quoted(text), detail));
        } else if let Some(pattern) = schema.pattern.as_deref().filter(|it| !it.is_empty()) {
            let detail = match pattern::compiled(pattern) {
                Ok(regex) if regex.is_match(text) => None,
                Ok(_) => Some(format!("{path} in body should match '{pattern}'")),
                Err(error) => Some(format!(
                    "{path} in body should match '{pattern}, but pattern is invalid: error parsing regexp: {error}'"
                )),
            };
            if let Some(detail) = detail {
                verdict.refuse(Violation::new(Reason::Invalid, path, quoted(text), detail));
            }
        }
        if let Some((name, accepts)) = format::text(schema) {
            verdict.matches += 1;
            if !accepts(text) {
                verdict.refuse(self.wrong_type(name, text));
            }
        }
    }

    fn array(&mut self, schema: &Schema, items: &[Value], old: Old<'_>, verdict: &mut Verdict) {
        if let Some(each) = &schema.items {
            let length = self.path.len();
            for (index, item) in items.iter().enumerate() {
                self.path.push_str(&format!("[{index}]"));
                verdict.merge(self.check(each, item, old.item(schema, each, item)));
                self.path.truncate(length);
            }
        }
        verdict.matches += 2;
        self.count(
            items.len(),
            schema.min_items,
            schema.max_items,
            "items",
            verdict,
        );
        if schema.unique_items && list::has_equal_items(items) {
            let detail = format!("{} in body shouldn't contain duplicates", self.path);
            verdict.refuse(Violation::new(Reason::Invalid, &self.path, "\"\"", detail));
        }
    }

    fn object(
        &mut self,
        schema: &Schema,
        map: &Map<String, Value>,
        old: Old<'_>,
        verdict: &mut Verdict,
    ) {
        verdict.matches += 1;
        self.count(
            map.len(),
            schema.min_properties,
            schema.max_properties,
            "properties",
            verdict,
        );
        for (key, value) in map {
            match (schema.properties.get(key), &schema.additional_properties) {
                (Some(field), _) => {
                    let old = old.member(schema, field, key, value);
                    self.member(key, field, value, old, verdict);
                }
                (None, Some(SchemaOrBool::Schema(field))) => {
                    let old = old.member(schema, field, key, value);
                    self.member(key, field, value, old, verdict);
                }
                (None, Some(SchemaOrBool::Bool(false))) => {
                    let detail = format!("{}.{key} in body is a forbidden property", self.path);
                    let violation =
                        Violation::new(Reason::Invalid, &self.path, quoted(key), detail);
                    verdict.refuse(violation);
                }
                (None, _) => {}
            }
        }
        for key in schema.required.iter().filter(|key| !map.contains_key(*key)) {
            verdict.refuse(Violation::bare(Reason::Required, &child(&self.path, key)));
        }
    }

    fn member(
        &mut self,
        key: &str,
        schema: &Schema,
        value: &Value,
        old: Old<'_>,
        verdict: &mut Verdict,
    ) {
        let length = self.path.len();
        self.path = child(&self.path, key);
        verdict.merge(self.check(schema, value, old));
        self.path.truncate(length);
    }

    fn count(&self, n: usize, min: Option<i64>, max: Option<i64>, of: &str, verdict: &mut Verdict) {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        if let Some(min) = min.filter(|min| n < *min) {
            let detail = format!("{} in body should have at least {min} {of}", self.path);
            verdict.refuse(Violation::new(Reason::Invalid, &self.path, n, detail));
        }
        if let Some(max) = max.filter(|max| n > *max) {
            let items = if max == 1 { "item" } else { "items" };
            let detail = match max {
                0.. => format!("must have at most {max} {items}"),
                _ => "has too many items".to_owned(),
            };
            verdict.refuse(Violation::new(Reason::TooMany, &self.path, n, detail));
        }
    }

    fn enum_(&self, schema: &Schema, value: &Value, verdict: &mut Verdict) {
        let Some(allowed) = schema.enum_.as_deref().filter(|it| !it.is_empty()) else {
            return;
        };
        if allowed.iter().any(|allowed| is_same(value, allowed)) {
            return;
        }
        let name = |allowed: &Value| match allowed {
            Value::String(text) => quoted(text),
            other => quoted(&json(other)),
        };
        let names: Vec<_> = allowed.iter().map(name).collect();
        let detail = format!("supported values: {}", names.join(", "));
        verdict.refuse(Violation::new(
            Reason::NotSupported,
            &self.path,
            shown(value),
            detail,
        ));
    }
}

fn keep_best(best: &mut Option<Verdict>, branch: Verdict) {
    if best
        .as_ref()
        .is_none_or(|best| branch.matches > best.matches)
    {
        *best = Some(branch);
    }
}
