//! Applies differences to objects at their paths: a removed field is dropped, and a new one gets its default.

use operator_schema::{Schema, SchemaOrBool, pointer, violations};
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

/// The pointer of a difference inside of a schema leads to the end of its path, or to a keyword there.
pub fn assert_path(difference: &Difference, api: &Api) {
    let Some((_, parent)) = difference.path.split_last() else {
        return;
    };
    let version = difference.version.as_ref();
    let version = version.and_then(|it| api.version(it)).unwrap();
    let step = |segment: &Segment| match segment {
        Segment::Field(name) => format!("/properties/{}", pointer::escape(name)),
        Segment::Items => "/items".to_owned(),
        Segment::Values => "/additionalProperties".to_owned(),
    };
    let to =
        |path: &[Segment]| version.schema_pointer() + &path.iter().map(step).collect::<String>();
    let is_required = difference.pointer.starts_with(&(to(parent) + "/required/"));
    assert!(
        is_required || difference.pointer.starts_with(&to(&difference.path)),
        "{difference:?}"
    );
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

fn converted(
    differences: &[Difference],
    [before, after]: [&Schema; 2],
    mut object: Value,
) -> Value {
    for difference in differences {
        let Some((Segment::Field(name), parent)) = difference.path.split_last() else {
            continue;
        };
        let [was, is] = [before, after].map(|schema| at(schema, &difference.path));
        let default = is.and_then(|it| it.default.as_ref());
        for_each(&mut object, parent, &mut |parent| {
            let Some(fields) = parent.as_object_mut() else {
                return;
            };
            match (was, default) {
                (Some(_), _) if is.is_none() => {
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
fn an_object_is_converted_at_the_paths_of_the_differences() {
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
    for difference in &differences {
        let api = match difference.side {
            Side::Before => &before,
            Side::After => &after,
        };
        assert_path(difference, api);
    }
    let object = json!({"spec": {
        "old": "a",
        "items": [{"old": "b"}, {}],
        "values": {"c": {"old": "d"}},
    }});
    let schema = |api: &Api| api.version("v1").unwrap().schema.clone();
    let (was, is) = (schema(&before), schema(&after));
    assert_eq!(violations(&was, &object), []);
    let object = converted(&differences, [&was, &is], object);
    assert_eq!(
        object,
        json!({"spec": {
            "items": [{"new": 3}, {"new": 3}],
            "values": {"c": {"new": 3}},
            "new": 3,
        }})
    );
    assert_eq!(violations(&is, &object), []);
}
