//! Walks the schemas of two versions in parallel, and writes down a rule or a question for each difference.

use operator_schema::{Schema, SchemaOrBool, apply_defaults, violations};
use serde_json::{Value, json};

use super::{
    form::{Form, bare, is_alike},
    image::{images, likeness},
    path::{Path, Step},
    rename::{Rename, at},
    rule::{End, Place, Question, Rule},
};
use crate::crd::Version;

/// The conversion between two versions, as far as it follows from their schemas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Derivation {
    pub rules: Vec<Rule>,
    pub questions: Vec<Question>,
    /// The number of fields of both versions; a field that both have counts once.
    pub fields: usize,
    /// The number of these fields for which there is a question.
    pub asked: usize,
}

/// Derives the conversion between a version and the hub. The renames must be valid for these schemas.
pub fn derive(spoke: &Version, hub: &Version, renames: &[Rename]) -> Derivation {
    let (spoke, hub) = (bare(&spoke.schema), bare(&hub.schema));
    let mut walk = Walk {
        renames,
        is_root: true,
        derivation: Derivation::default(),
    };
    walk.node(&spoke, &hub, &Place::default());
    for rename in renames {
        let (Some(of_spoke), Some(of_hub)) = (at(&spoke, &rename.spoke), at(&hub, &rename.hub))
        else {
            continue;
        };
        walk.derivation.rules.push(Rule::Moved(rename.clone()));
        let is_required = [(&spoke, &rename.spoke), (&hub, &rename.hub)].map(|(root, path)| {
            let parent = path.parent().and_then(|parent| at(root, &parent));
            parent.is_some_and(|parent| is_required(parent, path.name()))
        });
        walk.both(of_spoke, of_hub, is_required, rename);
    }
    walk.derivation
}

struct Walk<'a> {
    renames: &'a [Rename],
    /// Whether the node is the root, whose envelope has no rules.
    is_root: bool,
    derivation: Derivation,
}

impl Walk<'_> {
    fn node(&mut self, spoke: &Schema, hub: &Schema, place: &Place) {
        if spoke == hub && !self.has_rename_below(place) {
            self.derivation.fields += count(spoke);
            return;
        }
        match (Form::of(spoke), Form::of(hub)) {
            (Form::Object, Form::Object) | (Form::Open, Form::Open) => {
                self.fields(spoke, hub, place);
            }
            (Form::List(Some(a)), Form::List(Some(b))) => {
                self.node(a, b, &place.with(&Step::Items));
            }
            (Form::Map(a), Form::Map(b)) => self.node(a, b, &place.with(&Step::Values)),
            (Form::Scalar(a), Form::Scalar(b)) if a == b => self.values(spoke, hub, place),
            (Form::List(None), Form::List(_))
            | (Form::List(_), Form::List(None))
            | (Form::Any, Form::Any) => {}
            (_, Form::List(Some(item))) if is_alike(spoke, item) => {
                self.derivation.fields += count(spoke);
                self.rule(Rule::ListOfOne(place.clone()));
            }
            (Form::List(Some(item)), _) if is_alike(item, hub) => {
                self.derivation.fields += count(hub);
                self.rule(Rule::OneOfList(place.clone()));
            }
            (a, b) => {
                let fields = count(spoke).max(count(hub));
                self.derivation.fields += fields;
                self.derivation.asked += fields + 1;
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
                self.derivation.fields += 1 + count(field);
                // what has no schema there is kept by the API server nevertheless
                if Form::of(other) == Form::Open {
                    continue;
                }
                let path = place.at(end).field(name);
                self.rule(Rule::Only(end, path.clone()));
                if is_required(parent, name) {
                    let pair = pairs.iter().find(|pair| pair[end as usize] == *name);
                    let meant = pair.map(|pair| {
                        let other = end.other();
                        place.at(other).field(pair[other as usize])
                    });
                    self.require(end, field, path, meant);
                }
            }
        }
        for [before, after] in pairs {
            let is_asked = is_supplied(spoke, before) || is_supplied(hub, after);
            if !is_asked {
                self.derivation.asked += 2;
                self.ask(Question::Renamed(Place {
                    spoke: place.spoke.field(before),
                    hub: place.hub.field(after),
                }));
            }
        }
    }

    /// Compares a field that both versions have. `is_required` tells in which of them it is required.
    fn both(&mut self, spoke: &Schema, hub: &Schema, is_required: [bool; 2], place: &Place) {
        self.derivation.fields += 1;
        let asked = self.derivation.questions.len();
        let ruled = self.derivation.rules.len();
        self.node(spoke, hub, place);
        let is_converted = matches!(
            &self.derivation.questions[asked..],
            [Question::Convert(it, _)] if it == place
        );
        let (end, schema, other) = match is_required {
            _ if is_converted => return,
            [true, false] => (End::Spoke, spoke, hub),
            [false, true] => (End::Hub, hub, spoke),
            _ => return,
        };
        match outer(schema, other).or_else(|| zero(schema)) {
            // before the rules of its fields, which need it
            Some(value) => {
                let rule = Rule::Default(end, place.at(end).clone(), value);
                self.derivation.rules.insert(ruled, rule);
            }
            None => self.require(end, schema, place.at(end).clone(), None),
        }
    }

    /// A version requires a field that an object of the other may not have.
    fn require(&mut self, end: End, schema: &Schema, path: Path, meant: Option<Path>) {
        match zero(schema) {
            Some(value) => self.rule(Rule::Default(end, path, value)),
            None => {
                self.derivation.asked += 1;
                self.ask(Question::Supply(end, path, meant));
            }
        }
    }

    fn values(&mut self, spoke: &Schema, hub: &Schema, place: &Place) {
        // where only one version has an enum, its values are a constraint like any other
        let (Some(a), Some(b)) = (&spoke.enum_, &hub.enum_) else {
            return;
        };
        let (pairs, missing) = images(a, b);
        if !pairs.is_empty() {
            self.rule(Rule::Values(place.clone(), pairs));
        }
        if missing.iter().any(|values| !values.is_empty()) {
            self.derivation.asked += 1;
            self.ask(Question::Values(place.clone(), missing));
        }
    }

    fn is_renamed(&self, end: End, path: &Path) -> bool {
        self.renames.iter().any(|rename| rename.at(end) == path)
    }

    fn has_rename_below(&self, place: &Place) -> bool {
        self.renames
            .iter()
            .any(|rename| rename.spoke.is_within(&place.spoke) || rename.hub.is_within(&place.hub))
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

/// Whether only the user knows the value of a field if the other version does not have it.
fn is_supplied(parent: &Schema, name: &str) -> bool {
    let field = parent.properties.get(name);
    is_required(parent, name) && field.is_some_and(|field| zero(field).is_none())
}

/// The value of a required field that is absent in the other version: its default, or an object without fields that is valid.
fn zero(schema: &Schema) -> Option<Value> {
    if let Some(default) = schema.default.as_ref().filter(|value| !value.is_null()) {
        return Some(default.clone());
    }
    let is_object = matches!(Form::of(schema), Form::Object | Form::Open | Form::Map(_));
    let mut value = json!({});
    apply_defaults(schema, &mut value);
    (is_object && violations(schema, &value).is_empty()).then_some(value)
}

/// The value of an object that a version requires and the other may lack: `{}`, if each field that it must have has a rule or a question of its
/// own. Other constraints are not considered.
fn outer(schema: &Schema, other: &Schema) -> Option<Value> {
    let is_object = |schema| matches!(Form::of(schema), Form::Object | Form::Open);
    let is_covered = |name: &String| !is_required(other, name);
    let is_outer = is_object(schema) && is_object(other) && schema.default.is_none();
    (is_outer && schema.required.iter().all(is_covered)).then(|| json!({}))
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

/// The pairs of fields that may be one field with two names, each field in at most one pair.
fn candidates<'a>(spoke: &[(&'a str, &Schema)], hub: &[(&'a str, &Schema)]) -> Vec<[&'a str; 2]> {
    let mut pairs: Vec<(f64, [&str; 2])> = vec![];
    for (before, of_spoke) in spoke {
        for (after, of_hub) in hub {
            if !is_alike(of_spoke, of_hub) {
                continue;
            }
            let twins = |fields: &[(&str, &Schema)]| {
                let alike = fields.iter().filter(|(_, field)| is_alike(field, of_spoke));
                alike.count()
            };
            let is_unique = twins(spoke) == 1 && twins(hub) == 1;
            let likeness = likeness(before, after);
            // names that share a word have others that distinguish them
            if is_unique && likeness == 0.0 || likeness > 0.5 || count(of_spoke) >= 2 {
                pairs.push((likeness, [before, after]));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut chosen: Vec<[&str; 2]> = vec![];
    for (_, pair) in pairs {
        if !chosen.iter().any(|it| it[0] == pair[0] || it[1] == pair[1]) {
            chosen.push(pair);
        }
    }
    chosen
}
