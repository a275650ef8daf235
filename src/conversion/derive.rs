//! Walks the schemas of two versions in parallel, and records a rule or a question for each difference.

use operator_schema::{Schema, SchemaOrBool, apply_defaults};
use serde_json::Value;

use super::{
    form::{Form, bare, is_alike},
    path::{Path, Step},
    rename::Rename,
    rule::{End, Place, Question, Rule},
    similarity::{is_related, likeness, same_values},
};
use crate::crd::Version;

/// The conversion between two versions, as far as it follows from their schemas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derivation {
    pub rules: Vec<Rule>,
    pub questions: Vec<Question>,
}

/// Derives the conversion between a version and the hub. The renames must have been resolved for these schemas.
pub fn derive(spoke: &Version, hub: &Version, renames: &[Rename]) -> Derivation {
    let roots = [bare(&spoke.schema), bare(&hub.schema)];
    let mut walk = Walk {
        renames,
        is_root: true,
        derivation: Derivation::default(),
    };
    walk.node(&roots[0], &roots[1], &Place::default());
    for rename in renames {
        walk.rename(&roots, rename);
    }
    walk.derivation
}

/// The state of a walk through the schemas of a spoke and the hub.
struct Walk<'a> {
    renames: &'a [Rename],
    /// Whether the node is the root, whose envelope has no rules.
    is_root: bool,
    derivation: Derivation,
}

impl Walk<'_> {
    /// Compares two nodes by their forms. Nodes of forms that no rule converts are a question.
    fn node(&mut self, spoke: &Schema, hub: &Schema, place: &Place) {
        if spoke == hub && !self.has_rename_below(place) {
            return;
        }
        match (Form::of(spoke), Form::of(hub)) {
            (Form::Object, Form::Object) | (Form::Open, Form::Open) => {
                self.fields(spoke, hub, place);
            }
            (Form::List(Some(a)), Form::List(Some(b))) => {
                let items = [Step::items(spoke), Step::items(hub)];
                self.node(a, b, &place.with(items));
            }
            (Form::Map(a), Form::Map(b)) => {
                self.node(a, b, &place.with([Step::Values, Step::Values]));
            }
            (Form::Scalar(a), Form::Scalar(b)) if a == b => self.values(spoke, hub, place),
            (Form::List(None), Form::List(_))
            | (Form::List(_), Form::List(None))
            | (Form::Any, Form::Any) => {}
            (_, Form::List(Some(item))) if is_alike(spoke, item) => {
                self.rule(Rule::ListOfOne(place.clone()));
            }
            (Form::List(Some(item)), _) if is_alike(item, hub) => {
                self.rule(Rule::OneOfList(place.clone()));
            }
            (a, b) => {
                self.defaults_within(End::Spoke, spoke, &place.spoke);
                self.defaults_within(End::Hub, hub, &place.hub);
                self.ask(Question::Convert(place.clone(), [a.name(), b.name()]));
            }
        }
    }

    /// Compares the fields of two objects.
    fn fields(&mut self, spoke: &Schema, hub: &Schema, place: &Place) {
        let is_envelope = |name: &str| matches!(name, "apiVersion" | "kind" | "metadata");
        let is_root = std::mem::take(&mut self.is_root);
        let (mut in_spoke, mut in_hub) = (vec![], vec![]);
        for (name, field) in &spoke.properties {
            let here = place.field(name);
            if is_root && is_envelope(name) || self.is_renamed(End::Spoke, &here.spoke) {
                continue;
            }
            match hub.properties.get(name) {
                Some(other) if !self.is_renamed(End::Hub, &here.hub) => {
                    let is_required = [is_required(spoke, name), is_required(hub, name)];
                    self.both(field, other, is_required, &here);
                }
                _ => in_spoke.push((name.as_str(), field)),
            }
        }
        for (name, field) in &hub.properties {
            let here = place.field(name);
            let is_common =
                spoke.properties.contains_key(name) && !self.is_renamed(End::Spoke, &here.spoke);
            let is_renamed = self.is_renamed(End::Hub, &here.hub);
            if !(is_root && is_envelope(name) || is_renamed || is_common) {
                in_hub.push((name.as_str(), field));
            }
        }
        let pairs = candidates(&in_spoke, &in_hub);
        for (end, fields, parent, other) in [
            (End::Spoke, &in_spoke, spoke, hub),
            (End::Hub, &in_hub, hub, spoke),
        ] {
            for (name, field) in fields {
                // an object of the other version keeps the field, although its schema does not name it
                if Form::of(other) == Form::Open {
                    continue;
                }
                let path = place.at(end).field(name);
                self.rule(Rule::Only(end, path.clone()));
                if let Some(value) = default(field) {
                    self.rule(Rule::Default(end, path, value));
                } else if is_required(parent, name) {
                    let pair = pairs.iter().find(|pair| pair[end as usize] == *name);
                    let meant = pair.map(|pair| {
                        let other = end.other();
                        place.at(other).field(pair[other as usize])
                    });
                    self.require(end, field, &path, meant, &|_| false);
                }
            }
        }
        for [before, after] in pairs {
            let pair = Place {
                spoke: place.spoke.field(before),
                hub: place.hub.field(after),
            };
            let is_asked = self.derivation.questions.iter().any(|question| {
                matches!(question, Question::Supply(end, path, _) if pair.at(*end) == path)
            });
            if !is_asked {
                self.ask(Question::Renamed(pair));
            }
        }
    }

    /// Compares a field that both versions have. `is_required` is for the spoke and for the hub.
    fn both(&mut self, spoke: &Schema, hub: &Schema, is_required: [bool; 2], place: &Place) {
        for (end, schema, other) in [(End::Spoke, spoke, hub), (End::Hub, hub, spoke)] {
            if schema.nullable && !other.nullable && Form::of(other) != Form::Any {
                self.rule(Rule::Null(end, place.at(end).clone()));
            }
            let [is_required, is_present] = match end {
                End::Spoke => is_required,
                End::Hub => [is_required[1], is_required[0]],
            };
            let is_absent = !is_present && default(other).is_none();
            if let Some(value) = default(schema).filter(|_| is_absent) {
                self.rule(Rule::Default(end, place.at(end).clone(), value));
            } else if is_required && is_absent {
                let is_covered = |name: &str| !self::is_required(other, name);
                let is_outer = is_object(schema) && is_object(other);
                self.require(end, schema, place.at(end), None, &|name| {
                    is_outer && is_covered(name)
                });
            }
        }
        self.node(spoke, hub, place);
    }

    /// Handles a field that a version requires, and that an object of the other may lack. An empty object is used if each of its required
    /// fields has a default, or a rule or a question of its own; otherwise, there is a question. Other constraints are not considered.
    fn require(
        &mut self,
        end: End,
        schema: &Schema,
        path: &Path,
        meant: Option<Path>,
        is_covered: &dyn Fn(&str) -> bool,
    ) {
        let is_renamed = |name: &str| self.is_renamed(end, &path.field(name));
        let has_value = |name: &String| {
            let field = schema.properties.get(name);
            field.is_some_and(|field| default(field).is_some())
                || is_covered(name)
                || is_renamed(name)
        };
        if is_object(schema) && schema.required.iter().all(has_value) {
            self.rule(Rule::Empty(end, path.clone()));
        } else {
            self.ask(Question::Supply(end, path.clone(), meant));
        }
    }

    /// Adds rules for the defaults inside of a value that the user's functions convert.
    fn defaults_within(&mut self, end: End, schema: &Schema, path: &Path) {
        for (name, field) in &schema.properties {
            let path = path.field(name);
            if let Some(value) = default(field) {
                self.rule(Rule::Default(end, path.clone(), value));
            }
            self.defaults_within(end, field, &path);
        }
        if let Some(items) = &schema.items {
            self.defaults_within(end, items, &path.with(Step::items(schema)));
        }
        if let Some(SchemaOrBool::Schema(values)) = &schema.additional_properties {
            self.defaults_within(end, values, &path.with(Step::Values));
        }
    }

    /// Adds the rules of a renamed field and of the fields below it, or the question about fields that are split or merged.
    fn rename(&mut self, roots: &[Schema; 2], rename: &Rename) {
        let at = |end: End| {
            let root = &roots[end as usize];
            rename
                .at(end)
                .iter()
                .filter_map(|path| {
                    let (schema, _) = path.resolve(root)?;
                    let (parent, _) = path.parent()?.resolve(root)?;
                    Some((schema, is_required(parent, path.name()), path))
                })
                .collect::<Vec<_>>()
        };
        let (spoke, hub) = (at(End::Spoke), at(End::Hub));
        if let ([(of_spoke, spoke_requires, spoke)], [(of_hub, hub_requires, hub)]) =
            (&*spoke, &*hub)
        {
            let place = Place {
                spoke: (*spoke).clone(),
                hub: (*hub).clone(),
            };
            self.both(of_spoke, of_hub, [*spoke_requires, *hub_requires], &place);
            let Derivation {
                rules, questions, ..
            } = &mut self.derivation;
            let mut moved = rules
                .iter()
                .filter_map(Rule::moved)
                .chain(questions.iter().filter_map(Question::moved));
            if !moved.any(|it| *it == place) {
                rules.push(Rule::Moved(place));
            }
            return;
        }
        for (end, fields, others) in [(End::Spoke, &spoke, &hub), (End::Hub, &hub, &spoke)] {
            for (schema, is_required, path) in fields {
                self.defaults_within(end, schema, path);
                if let Some(value) = default(schema) {
                    self.rule(Rule::Default(end, (*path).clone(), value));
                } else if *is_required && !others.iter().any(|(_, is_required, _)| *is_required) {
                    self.require(end, schema, path, None, &|_| false);
                }
            }
        }
        self.ask(Question::Join(rename.spoke.clone(), rename.hub.clone()));
    }

    /// Compares the values of two enums.
    fn values(&mut self, spoke: &Schema, hub: &Schema, place: &Place) {
        // where only one version has an enum, its values are a constraint like any other
        let (Some(a), Some(b)) = (&spoke.enum_, &hub.enum_) else {
            return;
        };
        let (pairs, missing) = same_values(a, b);
        if !pairs.is_empty() {
            self.rule(Rule::Values(place.clone(), pairs));
        }
        if missing.iter().any(|values| !values.is_empty()) {
            self.ask(Question::Values(place.clone(), missing));
        }
    }

    fn is_renamed(&self, end: End, path: &Path) -> bool {
        self.renames
            .iter()
            .any(|rename| rename.at(end).contains(path))
    }

    fn has_rename_below(&self, place: &Place) -> bool {
        let is_below = |end, rename: &Rename| {
            let paths = rename.at(end);
            paths.iter().any(|path| path.is_within(place.at(end)))
        };
        self.renames
            .iter()
            .any(|rename| is_below(End::Spoke, rename) || is_below(End::Hub, rename))
    }

    fn rule(&mut self, rule: Rule) {
        self.derivation.rules.push(rule);
    }

    fn ask(&mut self, question: Question) {
        self.derivation.questions.push(question);
    }
}

fn is_required(parent: &Schema, name: &str) -> bool {
    parent.required.iter().any(|required| required == name)
}

fn is_object(schema: &Schema) -> bool {
    matches!(Form::of(schema), Form::Object | Form::Open | Form::Map(_))
}

/// The default, completed with the defaults of the fields in it. The API server does not distinguish `default: null` from no default.
fn default(schema: &Schema) -> Option<Value> {
    let mut value = schema.default.clone().filter(|value| !value.is_null())?;
    apply_defaults(schema, &mut value);
    Some(value)
}

/// The number of fields below a node.
fn count(schema: &Schema) -> usize {
    let fields = schema.properties.values().map(|field| 1 + count(field));
    let items = schema.items.as_deref().map_or(0, count);
    let values = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(values)) => count(values),
        _ => 0,
    };
    fields.sum::<usize>() + items + values
}

/// The pairs of fields that may be one field with two names, each field in at most one pair. Fields of the same type come first.
fn candidates<'a>(spoke: &[(&'a str, &Schema)], hub: &[(&'a str, &Schema)]) -> Vec<[&'a str; 2]> {
    let mut pairs: Vec<(bool, f64, [&str; 2])> = vec![];
    for (before, of_spoke) in spoke {
        for (after, of_hub) in hub {
            let is_alike = is_alike(of_spoke, of_hub);
            let likeness = likeness(before, after);
            let may_be_one = likeness > 0.5
                || if is_alike {
                    count(of_spoke) >= 2 || is_only_pair([of_spoke, of_hub], spoke, hub)
                } else {
                    // such as `timeout` and `timeoutSeconds`
                    is_related(before, after)
                };
            if may_be_one {
                pairs.push((is_alike, likeness, [before, after]));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)));
    let mut chosen: Vec<[&str; 2]> = vec![];
    for (.., pair) in pairs {
        if !chosen.iter().any(|it| it[0] == pair[0] || it[1] == pair[1]) {
            chosen.push(pair);
        }
    }
    chosen
}

/// Whether two alike fields are the only ones of their type, or of their schema if it has more than a type.
fn is_only_pair(
    [of_spoke, of_hub]: [&Schema; 2],
    spoke: &[(&str, &Schema)],
    hub: &[(&str, &Schema)],
) -> bool {
    let are_unique = |is_same: &dyn Fn(&Schema) -> bool| {
        let is_single = |fields: &[(&str, &Schema)]| {
            let same = fields.iter().filter(|(_, field)| is_same(field));
            same.count() == 1
        };
        is_single(spoke) && is_single(hub)
    };
    are_unique(&|field| is_alike(field, of_spoke))
        || of_spoke == of_hub && is_constrained(of_spoke) && are_unique(&|field| field == of_spoke)
}

/// Whether a schema has more than the type and the format of the values.
fn is_constrained(schema: &Schema) -> bool {
    let plain = Schema {
        type_: schema.type_.clone(),
        format: schema.format.clone(),
        ..Schema::default()
    };
    *schema != plain
}
