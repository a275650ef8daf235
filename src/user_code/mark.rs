//! Marks with `#[deprecated]` the items of the old types that the new types change or lack.

use std::collections::BTreeMap;

use super::{
    ChangedItems,
    module::{Member, Module, Shape},
};

/// An old module with `#[deprecated]` on each changed item.
#[derive(Clone, Debug)]
pub struct Marked {
    /// The old text with the attributes, in which all lines keep their numbers.
    pub text: String,
    pub changed: ChangedItems,
}

/// Compares the two modules of a version. Returns `None` if one of them is not Rust, for example after an edit.
pub fn mark(before: &str, after: &str) -> Option<Marked> {
    let before = before.trim_start_matches('\u{feff}');
    let (old, new) = (Module::read(before)?, Module::read(after)?);
    let mut marking = Marking {
        old: &old,
        new: &new,
        marks: BTreeMap::new(),
        changed: ChangedItems::default(),
    };
    for name in old.items.keys() {
        marking.item(name);
    }
    let Marking { marks, changed, .. } = marking;
    let mut text = before.to_owned();
    for (place, note) in marks.iter().rev() {
        text.insert_str(*place, &format!("#[deprecated(note = \"{note}\")] "));
    }
    Some(Marked { text, changed })
}

/// The notes in the attributes, which no other deprecation has.
pub const REMOVED: &str = "removed by the new schema";
pub const RETYPED: &str = "retyped by the new schema";

const DEFAULT: &str = "Default";

struct Marking<'a> {
    old: &'a Module,
    new: &'a Module,
    /// The attributes to insert, by their position in the old text.
    marks: BTreeMap<usize, &'static str>,
    changed: ChangedItems,
}

impl Marking<'_> {
    /// Compares the old item of this name with the new one, marks it or its members, and records what changes.
    fn item(&mut self, name: &str) {
        let old = &self.old.items[name];
        let is_root = old.is_root();
        let Some(new) = self.new.items.get(name) else {
            self.marks.insert(old.place, REMOVED);
            self.changed.items.insert(name.to_owned());
            return;
        };
        if old.derives.contains(DEFAULT) && !new.derives.contains(DEFAULT) {
            self.changed.items.insert(format!("{name}::default"));
            self.changed.lost_default.insert(name.to_owned());
        }
        match (&old.shape, &new.shape) {
            (Shape::Struct(old), Shape::Struct(new)) => {
                let changed = self.members(old, new);
                if is_root {
                    let changed = changed.iter().map(|field| format!("{name}::{field}"));
                    self.changed.items.extend(changed);
                } else {
                    self.changed.members.extend(changed);
                }
                if new.keys().any(|field| !old.contains_key(field)) {
                    self.changed.structs_with_new_fields.insert(name.to_owned());
                }
            }
            (Shape::Enum(old), Shape::Enum(new)) => {
                for (variant, member) in old {
                    let is_same = |new: &Member| new.type_ == member.type_;
                    let note = match new.get(variant) {
                        Some(new) if is_same(new) => continue,
                        Some(_) => RETYPED,
                        None => REMOVED,
                    };
                    self.marks.insert(member.place, note);
                    self.changed.items.insert(format!("{name}::{variant}"));
                }
                if new.keys().any(|variant| !old.contains_key(variant)) {
                    self.changed.enums_with_new_variants.insert(name.to_owned());
                }
            }
            // a type is no longer shared, or is now shared: its fields are compared by their resolved types
            (Shape::Alias(_), _) | (_, Shape::Alias(_)) => {}
            (Shape::Kind { has_default: was }, Shape::Kind { has_default: is }) => {
                if *was && !is {
                    self.changed.items.insert(format!("{name}::default"));
                }
            }
            // the same type, derived or written out
            (Shape::Kind { .. }, _) => {
                self.changed.items.insert(format!("{name}::new"));
            }
            (_, Shape::Kind { has_default }) => {
                if !has_default {
                    self.changed.items.insert(format!("{name}::default"));
                }
            }
            _ => {
                self.marks.insert(old.place, RETYPED);
                self.changed.items.insert(name.to_owned());
            }
        }
        let changed = self.members(&old.methods, &new.methods);
        self.changed.members.extend(changed);
    }

    /// Marks the members that are removed or get another type, and returns their names.
    fn members(
        &mut self,
        old: &BTreeMap<String, Member>,
        new: &BTreeMap<String, Member>,
    ) -> Vec<String> {
        let mut changed = vec![];
        for (name, member) in old {
            let resolved = self.old.resolve(&member.type_);
            let note = match new.get(name) {
                Some(new) if self.new.resolve(&new.type_) == resolved => continue,
                Some(_) => RETYPED,
                None => REMOVED,
            };
            self.marks.insert(member.place, note);
            changed.push(name.clone());
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BEFORE: &str = "/// What is wanted.
#[derive(Clone)]
pub struct Spec {
    /// Goes.
    #[serde(default)]
    pub size: i32,

    pub mode: Option<Mode>,
    pub first: Option<Part>,
    pub second: Option<SecondPart>,
}

impl Spec {
    pub fn size(&self) -> i32 {
        self.size
    }
}

pub enum Mode {
    Fast,
    Slow,
    Unrecognized(String),
}

pub struct Part {
    pub x: bool,
}

pub type SecondPart = Part;
";

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn removed_and_retyped_items_are_marked_and_no_line_moves() {
        let after = BEFORE
            .replace(
                "    /// Goes.\n    #[serde(default)]\n    pub size: i32,\n",
                "    pub colour: String,\n",
            )
            .replace(
                "    pub fn size(&self) -> i32 {\n        self.size\n    }\n",
                "",
            )
            .replace("    Fast,\n", "    Faster,\n")
            .replace(
                "pub type SecondPart = Part;",
                "pub struct SecondPart {\n    pub y: bool,\n}",
            );
        let marked = mark(BEFORE, &after).unwrap();
        let lines: Vec<&str> = marked.text.lines().collect();
        assert_eq!(lines.len(), BEFORE.lines().count());
        let marked_lines: Vec<&str> = lines
            .into_iter()
            .filter(|line| line.contains("#[deprecated"))
            .collect();
        let expected = [
            "    #[deprecated(note = \"removed by the new schema\")] pub size: i32,",
            "    #[deprecated(note = \"retyped by the new schema\")] pub second: Option<SecondPart>,",
            "    #[deprecated(note = \"removed by the new schema\")] pub fn size(&self) -> i32 {",
            "    #[deprecated(note = \"removed by the new schema\")] Fast,",
        ];
        assert_eq!(marked_lines, expected);
        let changed = ChangedItems {
            members: names(&["second", "size"]),
            items: names(&["Mode::Fast"]),
            structs_with_new_fields: names(&["Spec"]),
            enums_with_new_variants: names(&["Mode"]),
            ..ChangedItems::default()
        };
        assert_eq!(marked.changed, changed);
    }

    #[test]
    fn plain_and_derived_roots_differ_in_how_they_are_made_and_in_their_fields() {
        let derived = "#[kube(group = \"example.com\", kind = \"Widget\", status = \"WidgetStatus\")]\n\
                       pub struct WidgetSpec {}\npub struct WidgetStatus {}\n";
        let plain = "pub struct Widget {\n    pub metadata: kube::core::ObjectMeta,\n    pub spec: Option<WidgetSpec>,\n    \
                     pub status: Option<WidgetStatus>,\n}\npub struct WidgetSpec {}\npub struct WidgetStatus {}\n";
        let other = plain.replace("spec: Option<WidgetSpec>", "spec: WidgetSpec");
        for (before, after, item) in [
            (derived, plain, "Widget::new"),
            (plain, derived, "Widget::default"),
            (plain, &other, "Widget::spec"),
        ] {
            let changed = mark(before, after).unwrap().changed;
            assert_eq!(changed.members, BTreeSet::new());
            assert_eq!(changed.items, names(&[item]));
        }
        let marked = mark(plain, &other).unwrap().text;
        let retyped = "#[deprecated(note = \"retyped by the new schema\")] pub spec";
        assert!(marked.contains(retyped), "{marked}");
    }

    #[test]
    fn a_type_that_loses_default_is_reported_even_with_the_same_fields() {
        let before = BEFORE.replace("#[derive(Clone)]", "#[derive(Clone, Default)]");
        let changed = mark(&before, BEFORE).unwrap().changed;
        let expected = ChangedItems {
            items: names(&["Spec::default"]),
            lost_default: names(&["Spec"]),
            ..ChangedItems::default()
        };
        assert_eq!(changed, expected);
        let changed = mark(BEFORE, &before).unwrap().changed;
        assert_eq!(changed.items, names(&[]));
        let kind = "#[kube(group = \"example.com\", kind = \"Widget\", derive = \"Default\")]\npub struct WidgetSpec {}\n";
        let without = kind.replace(", derive = \"Default\"", "");
        let changed = mark(kind, &without).unwrap().changed;
        assert_eq!(changed.items, names(&["Widget::default"]));
    }

    #[test]
    fn equal_modules_change_nothing_and_an_empty_one_everything() {
        let same = mark(BEFORE, BEFORE).unwrap();
        assert_eq!(
            (same.text.as_str(), same.changed),
            (BEFORE, ChangedItems::default())
        );
        let gone = mark(BEFORE, "").unwrap().changed;
        let items: Vec<&str> = gone.items.iter().map(String::as_str).collect();
        assert_eq!(items, ["Mode", "Part", "SecondPart", "Spec"]);
    }
}
