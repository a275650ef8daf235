//! Checks the schemas under `allOf`, `anyOf`, `oneOf` and `not`, which may restrict values, but not declare fields.

use super::{Effect, Level, Problem, Problems, SchemaContext, branches};
use crate::{Schema, SchemaOrBool};

impl Problems {
    /// Checks the schemas under the junctors of a schema.
    pub(super) fn junctors(&mut self, schema: &Schema, context: &SchemaContext) {
        let any_of = is_int_or_string(&schema.any_of);
        let all_of = schema
            .all_of
            .first()
            .is_some_and(|it| is_int_or_string(&it.any_of));
        for (step, branch) in branches(schema) {
            if !(any_of && step.starts_with("/anyOf/")) {
                let names_types = all_of && step == "/allOf/0";
                self.within(&step, |it| {
                    it.branch(branch, Some(schema), context, names_types);
                });
            }
        }
    }

    /// Checks a schema under a junctor. `structure` is its counterpart in the structural schema. If `names_types`, its `anyOf` is that of
    /// an int-or-string, which may have types.
    fn branch(
        &mut self,
        schema: &Schema,
        structure: Option<&Schema>,
        context: &SchemaContext,
        names_types: bool,
    ) {
        self.keywords(schema, context);
        self.forbidden(schema);
        for (step, branch) in branches(schema) {
            if !(names_types && step.starts_with("/anyOf/")) {
                self.within(&step, |it| it.branch(branch, structure, context, false));
            }
        }
        for (name, field) in &schema.properties {
            let field_structure = structure.and_then(|it| it.properties.get(name));
            let missing = structure.is_some() && field_structure.is_none();
            self.within_property(name, |it| {
                it.restricted(field, field_structure, missing, context);
            });
        }
        if let Some(items) = &schema.items {
            let item_structure = structure.and_then(|it| it.items.as_deref());
            let missing = structure.is_some() && item_structure.is_none();
            self.within("/items", |it| {
                it.restricted(items, item_structure, missing, context);
            });
        }
        if let Some(SchemaOrBool::Schema(field)) = &schema.additional_properties {
            self.within("/additionalProperties", |it| it.keywords(field, context));
        }
    }

    /// Checks the schema of a field or item under a junctor. `missing` means that the structural schema does not specify it.
    fn restricted(
        &mut self,
        schema: &Schema,
        structure: Option<&Schema>,
        missing: bool,
        context: &SchemaContext,
    ) {
        if missing {
            let message =
                "is restricted here, but not specified outside of allOf, anyOf, oneOf and not";
            // The server checks this only under the junctors of the root.
            let effect = match context.level {
                Level::Root => Effect::Refused,
                Level::Item | Level::Field => Effect::Contradiction,
            };
            let pointer = self.pointer.clone();
            self.problems.push(Problem {
                pointer,
                message: message.to_owned(),
                effect,
            });
        }
        self.branch(schema, structure, context, false);
    }

    fn forbidden(&mut self, schema: &Schema) {
        let additional = match &schema.additional_properties {
            None | Some(SchemaOrBool::Bool(false)) => false,
            Some(_) => true,
        };
        let default = schema.default.as_ref().is_some_and(|it| !it.is_null());
        let text = |text: &Option<String>| text.as_deref().is_some_and(|it| !it.is_empty());
        for (present, keyword, message) in [
            (
                text(&schema.type_),
                "type",
                "must be empty to be structural",
            ),
            (
                additional,
                "additionalProperties",
                "must be undefined to be structural",
            ),
            (default, "default", "must be undefined to be structural"),
            (
                text(&schema.title),
                "title",
                "must be empty to be structural",
            ),
            (
                text(&schema.description),
                "description",
                "must be empty to be structural",
            ),
            (
                schema.nullable,
                "nullable",
                "must be false to be structural",
            ),
            (
                schema.preserve_unknown_fields == Some(true),
                "x-kubernetes-preserve-unknown-fields",
                "must be false to be structural",
            ),
            (
                schema.embedded_resource,
                "x-kubernetes-embedded-resource",
                "must be false to be structural",
            ),
            (
                schema.int_or_string,
                "x-kubernetes-int-or-string",
                "must be false to be structural",
            ),
            (
                !schema.list_map_keys.is_empty(),
                "x-kubernetes-list-map-keys",
                "must be empty to be structural",
            ),
            (
                schema.list_type.is_some(),
                "x-kubernetes-list-type",
                "must be undefined to be structural",
            ),
            (
                schema.map_type.is_some(),
                "x-kubernetes-map-type",
                "must be undefined to be structural",
            ),
            (
                !schema.validations.is_empty(),
                "x-kubernetes-validations",
                "must be empty to be structural",
            ),
            (
                schema.properties.contains_key("metadata"),
                "properties/metadata",
                "must not be specified in a nested context",
            ),
        ] {
            self.refuse_if(present, keyword, message);
        }
    }
}

/// Whether a union is that of int-or-string, the only union that may have types.
fn is_int_or_string(union: &[Schema]) -> bool {
    let only = |type_: &str| Schema {
        type_: Some(type_.into()),
        ..Schema::default()
    };
    union.len() == 2 && union == [only("integer"), only("string")]
}
