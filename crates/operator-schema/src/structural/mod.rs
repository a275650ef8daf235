//! Checks whether the API server accepts a schema, and whether a value can satisfy it.

mod keywords;
mod metadata;
mod nested;

use crate::{Reason, Rule, Schema, SchemaOrBool, pointer::escape, prune, violations};

/// A problem of a schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The JSON pointer of the keyword from the schema's root, for example `/properties/spec/type`; the keyword may be missing.
    pub pointer: String,
    /// The error message.
    pub message: String,
    /// How the API server reacts.
    pub effect: Effect,
}

/// The effect of a [`Problem`] in the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The API server rejects the CustomResourceDefinition.
    Refused,
    /// The API server accepts the CRD, but drops this unknown keyword.
    Dropped,
    /// The API server accepts the CRD, although the schema contradicts itself.
    Contradiction,
}

/// A CEL rule of a schema.
#[derive(Clone, Debug, PartialEq)]
pub struct UncheckedRule<'a> {
    /// The JSON pointer from the schema's root.
    pub pointer: String,
    /// The rule itself.
    pub rule: &'a Rule,
}

/// The problems of the schema of a version: violations of a structural schema, forbidden keywords and combinations, invalid patterns and
/// defaults, and contradictions.
///
/// CEL rules are not compiled; see [`unchecked_rules`].
///
/// ```
/// use operator_schema::{Effect, Schema, structural};
///
/// let schema: Schema = serde_json::from_str(r#"{"type": "object", "properties": {"size": {}}}"#)?;
/// let problems = structural(&schema);
/// assert_eq!(problems[0].pointer, "/properties/size/type");
/// assert_eq!(problems[0].effect, Effect::Refused);
/// # Ok::<_, serde_json::Error>(())
/// ```
///
/// <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>
pub fn structural(schema: &Schema) -> Vec<Problem> {
    let mut problems = Problems {
        pointer: String::new(),
        problems: Vec::new(),
    };
    problems.refuse_if(
        schema.nullable,
        "nullable",
        "nullable cannot be true at the root",
    );
    problems.structure(
        schema,
        &SchemaContext {
            level: Level::Root,
            ..SchemaContext::default()
        },
    );
    problems.problems
}

/// All CEL rules of a schema, which [`violations`] does not evaluate.
///
/// <https://kubernetes.io/docs/reference/using-api/cel/>
pub fn unchecked_rules(schema: &Schema) -> Vec<UncheckedRule<'_>> {
    let mut rules = Vec::new();
    collect_rules(schema, &mut String::new(), &mut rules);
    rules
}

/// Collects the rules of a schema and of all schemas below; `pointer` is that of the schema.
fn collect_rules<'a>(schema: &'a Schema, pointer: &mut String, rules: &mut Vec<UncheckedRule<'a>>) {
    for (index, rule) in schema.validations.iter().enumerate() {
        let pointer = format!("{pointer}/x-kubernetes-validations/{index}");
        rules.push(UncheckedRule { pointer, rule });
    }
    let length = pointer.len();
    let mut below = |step: &str, name: &str, schema| {
        pointer.push_str(step);
        pointer.push_str(name);
        collect_rules(schema, pointer, rules);
        pointer.truncate(length);
    };
    for (name, field) in &schema.properties {
        below("/properties/", &escape(name), field);
    }
    if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
        below("/additionalProperties", "", values);
    }
    if let Some(items) = &schema.items {
        below("/items", "", items);
    }
    for (step, branch) in branches(schema) {
        below(&step, "", branch);
    }
}

/// The schemas under `allOf`, `anyOf`, `oneOf` and `not`.
fn branches(schema: &Schema) -> impl Iterator<Item = (String, &Schema)> {
    let lists = [
        ("allOf", &schema.all_of),
        ("anyOf", &schema.any_of),
        ("oneOf", &schema.one_of),
    ];
    lists
        .into_iter()
        .flat_map(|(keyword, list)| {
            list.iter()
                .enumerate()
                .map(move |(index, it)| (format!("/{keyword}/{index}"), it))
        })
        .chain(schema.not.as_deref().map(|it| ("/not".to_owned(), it)))
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Level {
    Root,
    Item,
    #[default]
    Field,
}

/// The context of a schema.
#[derive(Clone, Default)]
struct SchemaContext {
    level: Level,
    /// Whether it is within the `apiVersion`, `kind` or `metadata` of a resource.
    in_meta: bool,
    /// Whether it is below `additionalProperties`, where the API server does not check defaults.
    in_additional: bool,
    /// The reason why a default is not allowed here, if there is one.
    no_default: Option<String>,
}

struct Problems {
    pointer: String,
    problems: Vec<Problem>,
}

impl Problems {
    fn refuse(&mut self, step: &str, message: impl Into<String>) {
        self.push(step, message.into(), Effect::Refused);
    }

    fn refuse_if(&mut self, wrong: bool, step: &str, message: &str) {
        if wrong {
            self.refuse(step, message);
        }
    }

    fn contradiction(&mut self, step: &str, message: impl Into<String>) {
        self.push(step, message.into(), Effect::Contradiction);
    }

    fn push(&mut self, step: &str, message: String, effect: Effect) {
        let pointer = format!("{}/{step}", self.pointer);
        self.problems.push(Problem {
            pointer,
            message,
            effect,
        });
    }

    /// Calls `act` with the pointer extended by `step`.
    fn within(&mut self, step: &str, act: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push_str(step);
        act(self);
        self.pointer.truncate(length);
    }

    fn within_property(&mut self, name: &str, act: impl FnOnce(&mut Self)) {
        self.within("/properties/", |it| it.within(&escape(name), act));
    }

    /// Checks a schema that is not under a logical junctor (`allOf`, `anyOf`, `oneOf`, `not`), and all schemas below.
    fn structure(&mut self, schema: &Schema, context: &SchemaContext) {
        self.keywords(schema, context);
        self.types(schema, context.level);
        self.meta_fields(schema, context.level);
        self.contradictions(schema);
        self.default(schema, context);
        self.junctors(schema, context);

        for (name, field) in &schema.properties {
            let mut inner = SchemaContext {
                level: Level::Field,
                ..context.clone()
            };
            if (context.level == Level::Root || schema.embedded_resource) && prune::is_meta(name) {
                inner.in_meta = true;
                if context.level == Level::Root {
                    inner.no_default = Some(format!("in top-level {name}"));
                }
            }
            self.within_property(name, |problems| problems.structure(field, &inner));
        }
        if let Some(SchemaOrBool::Schema(field)) = &schema.additional_properties {
            let mut inner = SchemaContext {
                level: Level::Field,
                in_additional: true,
                ..context.clone()
            };
            if context.in_meta {
                inner.no_default =
                    Some("inside additionalProperties applying to object metadata".into());
            }
            self.within("/additionalProperties", |problems| {
                problems.structure(field, &inner);
            });
        }
        if let Some(items) = &schema.items {
            let inner = SchemaContext {
                level: Level::Item,
                ..context.clone()
            };
            self.within("/items", |problems| problems.structure(items, &inner));
        }
    }

    fn types(&mut self, schema: &Schema, level: Level) {
        let type_ = schema.type_.as_deref().unwrap_or("");
        let preserved = schema.preserve_unknown_fields == Some(true);
        if schema.embedded_resource && type_ != "object" {
            self.refuse(
                "type",
                "must be object if x-kubernetes-embedded-resource is true",
            );
        } else if type_.is_empty() && !schema.int_or_string && !preserved {
            self.refuse(
                "type",
                match level {
                    Level::Root => "must not be empty at the root",
                    Level::Item => "must not be empty for specified array items",
                    Level::Field => "must not be empty for specified object fields",
                },
            );
        } else if level == Level::Root && !type_.is_empty() && type_ != "object" {
            self.refuse("type", "must be object at the root");
        }
        let no_items = type_ == "array" && schema.items.is_none();
        self.refuse_if(no_items, "items", "must be specified");
        if schema.int_or_string {
            let message = "must be false if x-kubernetes-int-or-string is true";
            self.refuse_if(preserved, "x-kubernetes-preserve-unknown-fields", message);
            self.refuse_if(
                schema.embedded_resource,
                "x-kubernetes-embedded-resource",
                message,
            );
        }
        if schema.additional_properties.is_some() {
            let step = "additionalProperties";
            self.refuse_if(level == Level::Root, step, "must not be used at the root");
            let message = "must not be used if x-kubernetes-embedded-resource is set";
            self.refuse_if(schema.embedded_resource, step, message);
        }
    }

    fn default(&mut self, schema: &Schema, context: &SchemaContext) {
        let Some(default) = schema.default.as_ref().filter(|it| !it.is_null()) else {
            return;
        };
        if let Some(reason) = &context.no_default {
            return self.refuse("default", format!("must not be set {reason}"));
        }
        let resource;
        let schema = match context.level {
            Level::Root => {
                resource = Schema {
                    embedded_resource: true,
                    ..schema.clone()
                };
                &resource
            }
            Level::Item | Level::Field => schema,
        };
        let effect = |unchecked| {
            if unchecked {
                Effect::Contradiction
            } else {
                Effect::Refused
            }
        };
        if let Some(unknown) = prune::prune_part(schema, &mut default.clone()).first() {
            let message = format!("must not have unknown fields, such as {unknown}");
            self.push("default", message, effect(context.in_additional));
        }
        for violation in violations(schema, default) {
            // The server does not look for duplicates in defaults.
            let unchecked = context.in_additional || violation.reason == Reason::Duplicate;
            let message = format!("is not valid: {violation}");
            self.push("default", message, effect(unchecked));
        }
    }
}
