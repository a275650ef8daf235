//! Compares the `x-kubernetes-` keywords of one schema node, and the treatment of its unknown fields.

use std::collections::HashSet;

use operator_schema::{Rule, Schema};

use super::{
    change::Change,
    difference::{Side, shown},
    shape,
    unknown::Unknown,
    walk::{NodeContext, Walk},
};

impl Walk<'_> {
    pub fn extensions(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        self.unknown_fields(before, after, context);
        self.flag(
            before.embedded_resource,
            after.embedded_resource,
            (Change::ResourceAdded, "it is an embedded resource"),
            (
                Change::ResourceRemoved,
                "it is no longer an embedded resource",
            ),
            "x-kubernetes-embedded-resource",
            context,
        );
        self.list_type(before, after, context);
        self.map_type(before, after, context);
        self.rules(before, after, context);
    }

    fn unknown_fields(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let (was, is) = (Unknown::of(before), Unknown::of(after));
        let can_have_fields = matches!(shape::json(before), "" | "object" | "array");
        let Some(change) = was.to(is).filter(|_| can_have_fields) else {
            return;
        };
        let keyword = |schema: &Schema| match schema.additional_properties {
            Some(_) => Some("/additionalProperties"),
            None if schema.preserve_unknown_fields.is_some() => {
                Some("/x-kubernetes-preserve-unknown-fields")
            }
            None => None,
        };
        let (side, step) = match (keyword(after), keyword(before)) {
            (Some(step), _) => (Side::After, step),
            (None, Some(step)) => (Side::Before, step),
            (None, None) => (Side::After, ""),
        };
        let message = format!("unknown fields are {} -> {}", was.as_str(), is.as_str());
        self.report(change, context, side, step, message);
    }

    fn list_type(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let type_ = |schema: &Schema| schema.list_type.clone().unwrap_or_else(|| "atomic".into());
        let (was, is) = (type_(before), type_(after));
        let keys = |schema: &Schema| schema.list_map_keys.join(", ");
        if was == "map" && is == "map" && before.list_map_keys != after.list_map_keys {
            let step = "/x-kubernetes-list-map-keys";
            let message = format!("the keys of the list {} -> {}", keys(before), keys(after));
            self.report(Change::ListKeysChanged, context, Side::After, step, message);
        }
        let change = match (was.as_str(), is.as_str()) {
            _ if was == is => return,
            (_, "atomic") => Change::ListAtomic,
            ("atomic", _) => Change::ListKeyed,
            _ => Change::ListKeysChanged,
        };
        let side = match after.list_type {
            Some(_) => Side::After,
            None => Side::Before,
        };
        let message = format!("list type {was} -> {is}");
        self.report(change, context, side, "/x-kubernetes-list-type", message);
    }

    fn map_type(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        let type_ = |schema: &Schema| schema.map_type.clone().unwrap_or_else(|| "granular".into());
        let (was, is) = (type_(before), type_(after));
        if was != is {
            let side = match after.map_type {
                Some(_) => Side::After,
                None => Side::Before,
            };
            let message = format!("map type {was} -> {is}");
            self.report(
                Change::MapTypeChanged,
                context,
                side,
                "/x-kubernetes-map-type",
                message,
            );
        }
    }

    /// Compares the sets of CEL rules; their order does not matter.
    fn rules(&mut self, before: &Schema, after: &Schema, context: NodeContext) {
        // the message of a rule is only a description
        fn identity(rule: &Rule) -> (&str, bool) {
            (&rule.rule, rule.optional_old_self == Some(true))
        }
        let was: HashSet<_> = before.validations.iter().map(identity).collect();
        let is: HashSet<_> = after.validations.iter().map(identity).collect();
        for (side, rules, others, change, verb) in [
            (
                Side::Before,
                &before.validations,
                &is,
                Change::RuleRemoved,
                "was removed",
            ),
            (
                Side::After,
                &after.validations,
                &was,
                Change::RuleAdded,
                "is new",
            ),
        ] {
            for (index, rule) in rules.iter().enumerate() {
                if !others.contains(&identity(rule)) {
                    let message = format!("the rule `{}` {verb}", shown(&rule.rule));
                    let step = format!("/x-kubernetes-validations/{index}");
                    self.report(change, context, side, &step, message);
                }
            }
        }
    }
}
