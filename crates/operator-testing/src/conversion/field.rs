//! Paths of declared fields, such as `spec.pools[].size`, in objects and in messages.

use serde_json::Value;

/// A path, by its steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    text: String,
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Name(String),
    Items,
    Values,
}

impl Field {
    /// Reads a path. The keys in `[name]` and the indices in `[0]` have no meaning here.
    pub fn read(text: &str) -> Self {
        let mut steps = vec![];
        let mut name = String::new();
        let mut rest = text.chars();
        let push = |name: &mut String, steps: &mut Vec<Step>| {
            if !name.is_empty() {
                steps.push(Step::Name(std::mem::take(name)));
            }
        };
        while let Some(next) = rest.next() {
            match next {
                '\\' => name.extend(rest.next()),
                '.' => push(&mut name, &mut steps),
                '[' | '{' => {
                    push(&mut name, &mut steps);
                    let end = if next == '[' { ']' } else { '}' };
                    rest.by_ref().find(|it| *it == end);
                    steps.push(if next == '[' {
                        Step::Items
                    } else {
                        Step::Values
                    });
                }
                other => name.push(other),
            }
        }
        push(&mut name, &mut steps);
        Self {
            text: text.to_owned(),
            steps,
        }
    }

    /// The path as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether `place` is this field or inside it. `place` has indices and keys of maps instead of `[]` and `{}`.
    pub fn contains(&self, place: &str) -> bool {
        let place = Self::read(place).steps;
        self.steps.len() <= place.len()
            && self.steps.iter().zip(&place).all(|pair| match pair {
                (Step::Values, Step::Name(_)) => true,
                (step, place) => step == place,
            })
    }

    /// Removes the field from an object, and the parents that become empty.
    pub fn remove(&self, object: &mut Value) {
        remove(&self.steps, object);
    }

    /// The values of the field in an object.
    pub fn values<'v>(&self, object: &'v Value) -> Vec<&'v Value> {
        self.steps.iter().fold(vec![object], |values, step| {
            values
                .into_iter()
                .flat_map(|value| members(step, value))
                .collect()
        })
    }
}

fn members<'v>(step: &Step, value: &'v Value) -> Vec<&'v Value> {
    match (step, value) {
        (Step::Name(name), value) => value.get(name).into_iter().collect(),
        (Step::Items, Value::Array(items)) => items.iter().collect(),
        (Step::Values, Value::Object(map)) => map.values().collect(),
        _ => vec![],
    }
}

fn remove(steps: &[Step], value: &mut Value) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    let mut members: Vec<&mut Value> = match (step, &mut *value) {
        (Step::Name(name), value) => value.get_mut(name).into_iter().collect(),
        (Step::Items, Value::Array(items)) => items.iter_mut().collect(),
        (Step::Values, Value::Object(map)) => map.values_mut().collect(),
        _ => vec![],
    };
    for member in &mut members {
        remove(rest, member);
        if rest.is_empty() {
            **member = Value::Null;
        }
    }
    // an item of a list stays, as null, so that the list keeps its length
    if let (Step::Name(name), Value::Object(fields)) = (step, value) {
        let is_empty =
            |it: &Value| it.is_null() || it.as_object().is_some_and(serde_json::Map::is_empty);
        if fields.get(name).is_some_and(is_empty) {
            fields.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_found_in_lists_and_maps() {
        let mut object = json!({"spec": {"a": [{"b": {"k": {"c": 1}}}, {}], "d": 2}});
        let field = Field::read("spec.a[name].b{}.c");
        assert!(field.contains("spec.a[3].b.k.c") && field.contains("spec.a[3].b.k.c.x"));
        assert!(!field.contains("spec.a[3].b") && !field.contains("spec.d"));
        assert_eq!(field.values(&object), [&json!(1)]);
        field.remove(&mut object);
        assert_eq!(field.values(&object), [&json!(null); 0]);
        assert_eq!(object["spec"]["d"], 2);
    }
}
