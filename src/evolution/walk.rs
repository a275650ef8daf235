//! Traverses two schemas in parallel: compares a node, then the fields below it. Equal nodes are skipped.

use std::collections::{HashMap, HashSet};

use operator_schema::{Schema, SchemaOrBool, pointer};

use super::{
    change::{Change, ChangeKind, Verdict},
    difference::{Difference, Segment, Side, impact_in_version, shown},
    shape,
    unknown::Unknown,
};
use crate::crd::Version;

/// The differences between the schemas of one version.
pub fn schema(before: &Version, after: &Version) -> Vec<Difference> {
    let mut walk = Walk {
        before,
        after,
        pointer: String::new(),
        path: vec![],
        differences: vec![],
    };
    let root = NodeContext {
        level: Level::Root,
        is_renewed: true,
        ..NodeContext::default()
    };
    walk.node(&before.schema, &after.schema, root);
    walk.differences
}

/// The context of a node.
#[derive(Clone, Copy, Default)]
pub struct NodeContext {
    pub level: Level,
    pub was_required: bool,
    /// Whether each update changes the value, so that the API server always validates it: the root, and everything below it if the root is
    /// atomic.
    pub is_renewed: bool,
    /// Whether an enclosing schema counts the fields of objects, or compares whole objects.
    pub is_counted: bool,
}

/// The position of a node: some fields of a resource follow other rules than its schema.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Level {
    Root,
    /// The node is `apiVersion`, `kind` or `metadata` of a resource, or below one of them. These exist regardless of the schema.
    Envelope,
    #[default]
    Field,
}

/// The state of a walk through the old and the new schema of a version.
pub struct Walk<'a> {
    before: &'a Version,
    after: &'a Version,
    /// The path from the roots of the schemas.
    pointer: String,
    path: Vec<Segment>,
    differences: Vec<Difference>,
}

impl<'a> Walk<'a> {
    /// Compares two nodes. If the new type does not accept all values of the old one, nothing else is compared.
    fn node(&mut self, before: &'a Schema, after: &'a Schema, context: NodeContext) {
        if before == after {
            return;
        }
        let (was, is) = (shape::json(before), shape::json(after));
        if was != is {
            let name = |type_: &str| match type_ {
                "" => "any type".to_owned(),
                type_ => type_.to_owned(),
            };
            let change = if shape::is_wider(was, is) {
                Change::TypeWidened
            } else {
                Change::TypeChanged
            };
            let message = format!("{} -> {}", name(was), name(is));
            match after.type_ {
                Some(_) => self.report(change, context, Side::After, "/type", message),
                None => self.report(change, context, Side::After, "", message),
            }
            if change == Change::TypeChanged {
                return;
            }
        } else if shape::rust(before) != shape::rust(after) && context.level == Level::Field {
            let message = format!("in Rust {} -> {}", shape::rust(before), shape::rust(after));
            self.report(Change::RustTypeChanged, context, Side::After, "", message);
        }
        self.keywords(before, after, context);
        let is_counted = context.is_counted || compares_whole_values(after);
        let is_atomic = after.map_type.as_deref() == Some("atomic");
        let below = NodeContext {
            is_renewed: context.is_renewed && (is_atomic || context.level != Level::Root),
            is_counted,
            ..NodeContext::default()
        };
        self.fields(before, after, context, below);
        if let (Some(SchemaOrBool::Schema(was)), Some(SchemaOrBool::Schema(is))) =
            (&before.additional_properties, &after.additional_properties)
        {
            self.path.push(Segment::Values);
            self.within("/additionalProperties", |walk| walk.node(was, is, below));
            self.path.pop();
        }
        self.path.push(Segment::Items);
        match (&before.items, &after.items) {
            (Some(was), Some(is)) => self.within("/items", |walk| walk.node(was, is, below)),
            (None, Some(_)) if is == "array" => {
                let message = "items of any type -> those of a schema";
                self.report(Change::TypeChanged, below, Side::After, "/items", message);
            }
            (Some(_), None) if is == "array" => {
                let message = "items of a schema -> those of any type";
                self.report(Change::TypeChanged, below, Side::Before, "/items", message);
            }
            _ => {}
        }
        self.path.pop();
    }

    /// Compares the properties of two nodes, and which of them are required.
    fn fields(
        &mut self,
        before: &'a Schema,
        after: &'a Schema,
        context: NodeContext,
        below: NodeContext,
    ) {
        let was_required: HashSet<&String> = before.required.iter().collect();
        for name in merged(before, after) {
            let has_envelope = context.level == Level::Root || after.embedded_resource;
            let is_own =
                has_envelope && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
            let field = NodeContext {
                level: if is_own || context.level == Level::Envelope {
                    Level::Envelope
                } else {
                    Level::Field
                },
                was_required: was_required.contains(name),
                ..below
            };
            let step = format!("/properties/{}", pointer::escape(name));
            self.path.push(Segment::Field(name.clone()));
            match (before.properties.get(name), after.properties.get(name)) {
                (Some(was), Some(is)) => {
                    // the API server ensures that each object has these fields
                    if !(is_own && context.level == Level::Root) {
                        self.required(before, after, name, is, field);
                    }
                    self.within(&step, |walk| walk.node(was, is, field));
                }
                (Some(schema), _) | (_, Some(schema)) if is_own && is_plain(schema) => {}
                (None, Some(is)) => {
                    let unknown = match field.level {
                        Level::Envelope => Unknown::Preserved,
                        _ => Unknown::of(before),
                    };
                    let (change, message) = added(after, name, is, unknown, field);
                    self.report(change, field, Side::After, &step, message);
                }
                (Some(was), None) => {
                    let is_kept =
                        field.level == Level::Envelope || Unknown::of(after) == Unknown::Preserved;
                    let (change, message) = if is_kept {
                        (
                            Change::FieldUndescribed,
                            format!("`{name}` no longer has a schema, but is kept"),
                        )
                    } else {
                        let renamed = renamed(before, after, was).map_or_else(String::new, |new| {
                            format!("; if `{new}` is its new name, a new version (`add-version`) with `renames` keeps the values")
                        });
                        (
                            Change::FieldRemoved,
                            format!("`{name}` was removed{renamed}"),
                        )
                    };
                    self.report(change, field, Side::Before, &step, message);
                }
                (None, None) => {}
            }
            self.path.pop();
        }
        self.undescribed(before, after, below);
    }

    /// Compares whether a field that both schemas describe is required.
    fn required(
        &mut self,
        before: &Schema,
        after: &Schema,
        name: &str,
        is: &Schema,
        context: NodeContext,
    ) {
        let position = |schema: &Schema| schema.required.iter().position(|it| it == name);
        match (position(before), position(after)) {
            (None, Some(index)) => {
                let (change, rest) = match default(is) {
                    Some(_) => (Change::RequiredAddedWithDefault, ", and has a default"),
                    None => (Change::RequiredAdded, ""),
                };
                let message = format!("`{name}` is now required{rest}");
                self.report(
                    change,
                    context,
                    Side::After,
                    &format!("/required/{index}"),
                    message,
                );
            }
            (Some(index), None) => {
                let message = format!("`{name}` is no longer required");
                let step = format!("/required/{index}");
                self.report(
                    Change::RequiredRemoved,
                    context,
                    Side::Before,
                    &step,
                    message,
                );
            }
            _ => {}
        }
    }

    /// Compares required fields without a schema. Required fields that are added or removed with their schema are already reported.
    fn undescribed(&mut self, before: &'a Schema, after: &'a Schema, context: NodeContext) {
        for (schema, other, change, side, message) in [
            (
                after,
                before,
                Change::RequiredAdded,
                Side::After,
                "is now required",
            ),
            (
                before,
                after,
                Change::RequiredRemoved,
                Side::Before,
                "is no longer required",
            ),
        ] {
            for (index, name) in schema.required.iter().enumerate() {
                if !other.required.contains(name) && !schema.properties.contains_key(name) {
                    self.path.push(Segment::Field(name.clone()));
                    let (step, message) =
                        (format!("/required/{index}"), format!("`{name}` {message}"));
                    self.report(change, context, side, &step, message);
                    self.path.pop();
                }
            }
        }
    }

    /// Calls `act` with a pointer that is extended by `step`.
    fn within(&mut self, step: &str, act: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        self.pointer.push_str(step);
        act(self);
        self.pointer.truncate(length);
    }

    /// Reports a change; `step` leads from the node to the difference.
    pub fn report(
        &mut self,
        change: Change,
        context: NodeContext,
        side: Side,
        step: &str,
        message: impl Into<String>,
    ) {
        let mut impact = impact_in_version(change.impact(), self.before, self.after);
        if context.level == Level::Envelope {
            // its Rust type does not depend on the schema
            impact.readers = Verdict::Safe;
        }
        let refuses = matches!(change.kind(), ChangeKind::Tightened | ChangeKind::Changed);
        if context.is_renewed && refuses && impact.stored == Verdict::Risky {
            // ratcheting, by which the API server accepts invalid values that have not changed, never applies
            impact.stored = Verdict::Breaking;
        }
        let version = match side {
            Side::Before => self.before,
            Side::After => self.after,
        };
        self.differences.push(Difference {
            change,
            version: Some(version.name.clone()),
            pointer: version.schema_pointer() + &self.pointer + step,
            side,
            path: self.path.clone(),
            message: message.into(),
            impact,
        });
    }
}

/// The properties of both schemas in the order of the new one. A removed property comes after its former predecessor.
fn merged<'a>(before: &'a Schema, after: &'a Schema) -> Vec<&'a String> {
    let mut gone: HashMap<Option<&String>, Vec<&'a String>> = HashMap::new();
    let mut last = None;
    for name in before.properties.keys() {
        if after.properties.contains_key(name) {
            last = Some(name);
        } else {
            gone.entry(last).or_default().push(name);
        }
    }
    let mut names = gone.remove(&None).unwrap_or_default();
    for name in after.properties.keys() {
        names.push(name);
        names.extend(gone.remove(&Some(name)).unwrap_or_default());
    }
    names
}

/// The only new field with the schema of this removed one, unless another removed field has it, too.
fn renamed<'a>(before: &Schema, after: &'a Schema, was: &Schema) -> Option<&'a String> {
    let plain = |schema: &Schema| Schema {
        description: None,
        ..schema.clone()
    };
    let was = plain(was);
    fn alike<'s>(
        of: &'s Schema,
        without: &Schema,
        is_alike: impl Fn(&Schema) -> bool,
    ) -> Vec<&'s String> {
        let fields = of.properties.iter();
        fields
            .filter(|(name, schema)| !without.properties.contains_key(*name) && is_alike(schema))
            .map(|(name, _)| name)
            .collect()
    }
    let is_alike = |schema: &Schema| plain(schema) == was;
    match (
        alike(after, before, is_alike).as_slice(),
        alike(before, after, is_alike).len(),
    ) {
        ([new], 1) => Some(new),
        _ => None,
    }
}

/// The change for a field that had no schema before.
fn added(
    after: &Schema,
    name: &str,
    is: &Schema,
    unknown: Unknown<'_>,
    context: NodeContext,
) -> (Change, String) {
    let is_counted = context.is_counted || after.max_properties.is_some();
    let is_required = after.required.iter().any(|required| required == name);
    match default(is) {
        _ if unknown.is_kept() => (
            Change::FieldDescribed,
            format!("`{name}` now has a schema; it was {}", unknown.as_str()),
        ),
        None if is_required => (
            Change::RequiredFieldAdded,
            format!("`{name}` is new and required"),
        ),
        None => (Change::FieldAdded, format!("`{name}` is new")),
        Some(value) => {
            let change = if is_counted {
                Change::CountedFieldAdded
            } else {
                Change::FieldAdded
            };
            let value = shown(&value.to_string());
            (change, format!("`{name}` is new, default {value}"))
        }
    }
}

/// Whether a schema of `apiVersion`, `kind` or `metadata` of a resource restricts nothing.
fn is_plain(schema: &Schema) -> bool {
    let plain = Schema {
        type_: schema.type_.clone(),
        description: schema.description.clone(),
        ..Schema::default()
    };
    *schema == plain
}

/// Whether an additional field in a value can change the result of this schema.
fn compares_whole_values(schema: &Schema) -> bool {
    let has_union = !schema.all_of.is_empty()
        || !schema.any_of.is_empty()
        || !schema.one_of.is_empty()
        || schema.not.is_some();
    has_union
        || schema.enum_.is_some()
        || schema.unique_items
        || schema.list_type.as_deref() == Some("set")
}

/// The default. The API server does not distinguish `default: null` from no default.
pub fn default(schema: &Schema) -> Option<&serde_json::Value> {
    schema.default.as_ref().filter(|value| !value.is_null())
}
