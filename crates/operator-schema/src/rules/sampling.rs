//! Checks samples against rules, and finds a name that the rules of the root accept.

use super::rule_violations;
use super::value::escaped;
use crate::format::is_name;
use crate::{Schema, Violation};
use serde_json::{Value, json};

/// Whether the value satisfies all its rules, and those below. A root gets a name if its rules use one and the value has none.
pub(crate) fn permits(schema: &Schema, value: &Value) -> bool {
    if asks_for_name(schema, value) {
        name(schema, value).is_some()
    } else {
        broken(schema, value).is_empty()
    }
}

/// The violations for which [`permits`] returns false.
pub(crate) fn broken(schema: &Schema, value: &Value) -> Vec<Violation> {
    let mut value = value.clone();
    if asks_for_name(schema, &value) {
        value["metadata"] = json!({"name": "example"});
    }
    super::evaluate_rules(schema, &value, None, is_resource(schema)).violations
}

/// The metadata that the rules of a root require.
pub(crate) fn metadata(schema: &Schema, value: &Value) -> Option<Value> {
    if !asks_for_name(schema, value) {
        return None;
    }
    name(schema, value).map(|name| json!({"name": name}))
}

/// A name that the rules of a root accept: `example`, or a text in the rules.
fn name(schema: &Schema, value: &Value) -> Option<String> {
    let texts = schema.validations.iter().map(|rule| rule.rule.as_str());
    let quoted = texts.flat_map(|rule| rule.split(['\'', '"']).skip(1).step_by(2));
    let mut names = std::iter::once("example").chain(quoted.filter(|it| is_name(it)));
    let suits = |name: &&str| {
        let mut value = value.clone();
        value["metadata"] = json!({"name": name});
        rule_violations(schema, &value, None).violations.is_empty()
    };
    names.find(suits).map(str::to_owned)
}

/// Whether a value is a root without a name whose rules use the metadata.
pub(super) fn asks_for_name(schema: &Schema, value: &Value) -> bool {
    let mentions = |text: &str| text.contains("self.metadata");
    let is_unnamed = value.is_object() && value.pointer("/metadata/name").is_none();
    is_unnamed && is_resource(schema) && schema.validations.iter().any(|it| mentions(&it.rule))
}

/// Whether a schema looks like the root of a version.
pub(super) fn is_resource(schema: &Schema) -> bool {
    let metadata = schema.properties.get("metadata");
    metadata.is_some_and(|it| it.additional_properties.is_none())
        && ["apiVersion", "kind"]
            .iter()
            .all(|key| schema.properties.contains_key(*key))
}

/// The fields that the rules of an object mention.
pub(crate) fn mentioned(schema: &Schema) -> Vec<&str> {
    let word = |c: char| !(c.is_alphanumeric() || c == '_');
    let names = schema.properties.keys().map(String::as_str);
    let is_mentioned = |name: &&str| {
        let rules = &mut schema.validations.iter().map(|rule| rule.rule.as_str());
        escaped(name).is_some_and(|it| rules.any(|rule| rule.split(word).any(|part| part == it)))
    };
    names.filter(is_mentioned).collect()
}
