//! Builds an odd but readable schema from bytes, and checks its types, its objects, and how the API server treats them.

use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use cargo_operator::crd::{self, Api, Scope};
use operator_schema::{
    Effect, Objects, Schema, apply_defaults, prune, sample, structural, unchecked_rules,
    update_violations, violations,
};
use serde_json::Value;

use crate::{module, shape};

/// How many objects of a schema are checked.
const OBJECTS: usize = 12;

static API: LazyLock<Api> = LazyLock::new(|| {
    let text = include_str!("../../tests/crds/widget.yaml");
    let mut apis = crd::read("widget.yaml", text).expect("it is a definition");
    apis.remove(0)
});

/// A schema has types in both modes, its samples are valid, and defaulting and pruning are idempotent.
pub fn schema(bytes: &[u8]) {
    // if the bytes run out, the schema is smaller; that is no error
    let _ = check(&mut Unstructured::new(bytes));
}

fn check(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut api = API.clone();
    api.names.kind = (*bytes.choose(&[
        "Widget",
        "Option",
        "String",
        "HTTPRoute",
        "Condition",
        "K8s",
    ])?)
    .into();
    if bytes.arbitrary()? {
        api.scope = Scope::Cluster;
    }
    let json = shape::root(bytes)?;
    let values = [shape::value(bytes, 3)?, shape::value(bytes, 3)?];
    let seed = bytes.arbitrary()?;
    let Ok(schema) = serde_json::from_value::<Schema>(json) else {
        return Ok(());
    };
    let mut version = api.versions[0].clone();
    version.status_subresource = bytes.arbitrary()?;
    version.schema = schema;
    module::check(&api, &version);
    judge(&version.schema, seed, values);
    Ok(())
}

fn judge(schema: &Schema, seed: u64, values: [Value; 2]) {
    let text = serde_json::to_string(schema).expect("a schema can be written");
    let again: Schema = serde_json::from_str(&text).expect("a schema that was written can be read");
    if *schema != again {
        let again = serde_json::to_string(&again).expect("a schema can be written");
        panic!(
            "read otherwise than it was written {}",
            difference(&text, &again)
        );
    }
    unchecked_rules(schema);
    let is_accepted = !structural(schema)
        .iter()
        .any(|problem| problem.effect == Effect::Refused);

    let objects: Vec<Value> = Objects::new(schema, seed).take(OBJECTS).collect();
    for object in objects.iter().chain(sample(schema).ok().iter()) {
        let mut object = object.clone();
        assert_eq!(prune(schema, &mut object), [""; 0], "{object} of {text}");
        apply_defaults(schema, &mut object);
        assert_eq!(violations(schema, &object), [], "{object} of {text}");
        let mut named = object.clone();
        prune_and_default(schema, &mut named, is_accepted, &text);
        schema.validate(&named);
    }
    let [mut old, mut new] = values;
    for value in [&mut old, &mut new] {
        violations(schema, value);
        prune_and_default(schema, value, is_accepted, &text);
    }
    update_violations(schema, &old, &new);
    schema.validate_update(&old, &new);
}

/// The position at which two texts begin to differ, and what follows in each.
fn difference(one: &str, other: &str) -> String {
    let pairs = one.chars().zip(other.chars());
    let common = pairs.take_while(|(one, other)| one == other).count();
    let rest = |text: &str| -> String { text.chars().skip(common).take(60).collect() };
    format!(
        "from character {common}: `{}`, `{}`",
        rest(one),
        rest(other)
    )
}

/// Prunes and defaults a value. Doing so again changes nothing, unless the API server would reject the schema: then its defaults may be
/// incomplete.
fn prune_and_default(schema: &Schema, value: &mut Value, is_accepted: bool, text: &str) {
    let given = value.clone();
    prune(schema, value);
    assert_eq!(prune(schema, value), [""; 0], "{given} by {text}");
    apply_defaults(schema, value);
    if is_accepted {
        let once = value.clone();
        apply_defaults(schema, value);
        assert_eq!(*value, once, "{given} by {text}");
        assert_eq!(prune(schema, value), [""; 0], "{given} by {text}");
    }
}
