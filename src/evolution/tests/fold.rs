//! Applies differences to objects, to test that they contain enough for it: a removed field is dropped, and a new one gets its default.

use operator_schema::{Schema, SchemaOrBool, violations};
use serde_json::{Value, json};

use super::*;
use crate::evolution::difference::Segment;

/// The schema at the end of a path.
fn at<'a>(schema: &'a Schema, path: &[Segment]) -> Option<&'a Schema> {
    let Some((first, rest)) = path.split_first() else {
        return Some(schema);
    };
    let inside = match first {
        Segment::Field(name) => schema.properties.get(name)?,
        Segment::Items => schema.items.as_deref()?,
        Segment::Values => match schema.additional_properties.as_ref()? {
            SchemaOrBool::Schema(values) => values,
            SchemaOrBool::Bool(_) => return None,
        },
    };
    at(inside, rest)
}

/// Asserts that a difference has the schemas at its path.
pub fn assert_schemas(difference: &Difference, before: &Api, after: &Api) {
    if difference.before.is_none() && difference.after.is_none() {
        return;
    }
    for (api, schema) in [(before, &difference.before), (after, &difference.after)] {
        let version = difference.version.as_ref();
        let version = version.and_then(|version| api.version(version)).unwrap();
        let actual = at(&version.schema, &difference.path);
        assert_eq!(actual, schema.as_deref(), "{difference:?}");
    }
}

/// Calls `act` with all values at the end of a path.
fn for_each(value: &mut Value, path: &[Segment], act: &mut dyn FnMut(&mut Value)) {
    let Some((first, rest)) = path.split_first() else {
        return act(value);
    };
    match (first, value) {
        (Segment::Field(name), value) => {
            if let Some(field) = value.get_mut(name) {
                for_each(field, rest, act);
            }
        }
        (Segment::Items, Value::Array(items)) => {
            items.iter_mut().for_each(|item| for_each(item, rest, act));
        }
        (Segment::Values, Value::Object(values)) => {
            values
                .values_mut()
                .for_each(|value| for_each(value, rest, act));
        }
        _ => {}
    }
}

fn converted(differences: &[Difference], mut object: Value) -> Value {
    for difference in differences {
        let Some((Segment::Field(name), parent)) = difference.path.split_last() else {
            continue;
        };
        let default = difference.after.as_ref().and_then(|it| it.default.as_ref());
        for_each(&mut object, parent, &mut |parent| {
            let Some(fields) = parent.as_object_mut() else {
                return;
            };
            match (&difference.before, default) {
                (Some(_), _) if difference.after.is_none() => {
                    fields.shift_remove(name);
                }
                (None, Some(default)) => {
                    fields.entry(name).or_insert_with(|| default.clone());
                }
                _ => {}
            }
        });
    }
    object
}

#[test]
fn an_object_is_converted_by_the_differences_alone() {
    let spec = |field: &str| {
        format!(
            "{{type: object, properties: {{\
               {field},\
               items: {{type: array, items: {{type: object, properties: {{{field}}}}}}},\
               values: {{type: object, additionalProperties: {{type: object, properties: {{{field}}}}}}}\
             }}}}"
        )
    };
    let before = with_spec(&spec("old: {type: string}"));
    let after = with_spec(&spec("new: {type: integer, default: 3}"));
    let differences = differences(&before, &after);
    let object = json!({"spec": {
        "old": "a",
        "items": [{"old": "b"}, {}],
        "values": {"c": {"old": "d"}},
    }});
    let schema = |api: &Api| api.version("v1").unwrap().schema.clone();
    assert_eq!(violations(&schema(&before), &object), []);
    let object = converted(&differences, object);
    assert_eq!(
        object,
        json!({"spec": {
            "items": [{"new": 3}, {"new": 3}],
            "values": {"c": {"new": 3}},
            "new": 3,
        }})
    );
    assert_eq!(violations(&schema(&after), &object), []);
}
