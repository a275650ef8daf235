//! Finds edits after which an object satisfies its schema again: of required fields, sizes, and the branches of unions.

use super::demand::Plan;
use super::edit::{Edit, at, member};
use crate::Schema;
use crate::validate::is_valid;
use serde_json::Value;

/// Plans for the first part of the object that its schema refuses.
pub(super) fn plans(schema: &Schema, object: &Value) -> Vec<Plan> {
    plans_at(schema, object, "").unwrap_or_default()
}

fn plans_at(schema: &Schema, value: &Value, place: &str) -> Option<Vec<Plan>> {
    if is_valid(schema, value) {
        return None;
    }
    let here = here(schema, value, place);
    if !here.is_empty() {
        return Some(here);
    }
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, it)| (member("", key), it)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(nth, it)| (format!("/{nth}"), it))
            .collect(),
        _ => return None,
    };
    parts
        .into_iter()
        .find_map(|(part, value)| plans_at(at(schema, &part)?, value, &format!("{place}{part}")))
}

/// Plans for the keywords of the schema itself, without the schemas below it.
fn here(schema: &Schema, value: &Value, place: &str) -> Vec<Plan> {
    let mut plans = Vec::new();
    match value {
        Value::Object(map) => {
            let absent = schema.required.iter().filter(|key| !map.contains_key(*key));
            let make: Plan = absent.map(|key| Edit::Make(member(place, key))).collect();
            plans.extend(Some(make).filter(|it| !it.is_empty()));
        }
        Value::Array(items) => {
            let size = i64::try_from(items.len()).unwrap_or(i64::MAX);
            if schema.min_items.is_some_and(|it| size < it) {
                plans.push(vec![Edit::Append(place.to_owned(), None)]);
            }
            if schema.max_items.is_some_and(|it| size > it) {
                plans.push(vec![Edit::Remove(format!("{place}/{}", items.len() - 1))]);
            }
        }
        _ => {}
    }
    let valid = |branches: &[Schema]| branches.iter().filter(|it| is_valid(it, value)).count();
    if !schema.any_of.is_empty() && valid(&schema.any_of) == 0 {
        plans.extend(
            schema
                .any_of
                .iter()
                .map(|branch| towards(branch, value, place)),
        );
    }
    if !schema.one_of.is_empty() && valid(&schema.one_of) != 1 {
        for branch in &schema.one_of {
            let mut plan = towards(branch, value, place);
            let others = schema
                .one_of
                .iter()
                .flat_map(|it| &it.required)
                .filter(|key| !branch.required.contains(key) && value.get(key).is_some());
            plan.extend(others.map(|key| Edit::Remove(member(place, key))));
            plans.push(plan);
        }
    }
    if let Some(not) = schema.not.as_deref().filter(|it| is_valid(it, value)) {
        plans.extend(
            not.required
                .iter()
                .map(|key| vec![Edit::Remove(member(place, key))]),
        );
        let unions = not.any_of.iter().filter(|it| is_valid(it, value));
        plans.extend(
            unions
                .flat_map(|it| &it.required)
                .map(|key| vec![Edit::Remove(member(place, key))]),
        );
    }
    plans.extend(
        schema
            .all_of
            .iter()
            .flat_map(|part| here(part, value, place)),
    );
    plans.retain(|plan| !plan.is_empty());
    plans
}

/// The edits after which a value is likely to satisfy the branch of a union.
fn towards(branch: &Schema, value: &Value, place: &str) -> Plan {
    let mut plan: Plan = branch
        .required
        .iter()
        .filter(|key| value.get(key).is_none())
        .map(|key| Edit::Make(member(place, key)))
        .collect();
    for (key, field) in &branch.properties {
        let is_there = value.get(key).is_some() || branch.required.contains(key);
        if let Some(allowed) = field
            .enum_
            .as_ref()
            .and_then(|it| it.first())
            .filter(|_| is_there)
            && value.get(key) != Some(allowed)
        {
            plan.push(Edit::Set(member(place, key), allowed.clone()));
        }
    }
    if let Some(not) = &branch.not {
        let there = not.required.iter().filter(|key| value.get(key).is_some());
        plan.extend(there.map(|key| Edit::Remove(member(place, key))));
    }
    plan
}
