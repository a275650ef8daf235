//! A record of the Rust type of each field, as a text that a project keeps, so that changes of types are reported.
//!
//! ```text
//! struct WidgetSpec /spec
//!   affinity: Option<Affinity>
//!   mode: Option<WidgetSpecMode>
//! enum WidgetSpecMode /spec/mode
//!   fast: Fast
//! type WidgetSpecSecond = WidgetSpecFirst /spec/second
//! ```
//!
//! Wire names are escaped as in JSON strings. Paths are JSON pointers; the path of the root is empty.

use std::collections::{BTreeMap, HashMap};

use operator_schema::pointer;
use serde_json::Value;

use super::{
    graph::{Definition, Field, Shape, TypeGraph, Variant},
    write::Writer,
};
use crate::types::SchemaMode;

/// A field, or a value of an enum, whose Rust type or variant has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retype {
    /// The wire names from the root.
    pub path: Vec<String>,
    /// The enum value, if the path leads to an enum.
    pub value: Option<String>,
    pub before: String,
    pub after: String,
}

/// The types of a module, parents first.
pub fn record(graph: &TypeGraph) -> String {
    let mut text = HEADER.to_owned();
    let writer = Writer {
        graph,
        mode: SchemaMode::Embed,
    };
    let fields = |fields: &[Field]| -> String {
        let line = |field: &Field| {
            let type_ = writer.written(field);
            format!("  {}: {type_}\n", escaped(&field.wire))
        };
        fields.iter().map(line).collect()
    };
    let variants = |variants: &[Variant]| -> String {
        let line = |variant: &Variant| format!("  {}: {}\n", escaped(&variant.wire), variant.ident);
        variants.iter().map(line).collect()
    };
    text += &format!("struct {}\n{}", graph.root_name, fields(&graph.root));
    for Definition {
        name, path, shape, ..
    } in &graph.definitions
    {
        let path = pointer(path);
        text += &match shape {
            Shape::Struct(shape) => format!("struct {name} {path}\n{}", fields(&shape.fields)),
            Shape::Enum(shape) => format!("enum {name} {path}\n{}", variants(shape)),
            Shape::Alias(first) => format!("type {name} = {} {path}\n", graph.get(*first).name),
        };
    }
    text
}

const HEADER: &str =
    "# The types of all fields. `cargo operator` compares this record to report changed types.\n";

/// The differences between an old and a new record. Fields that only one of them has are not reported.
pub fn retyped(before: &str, after: &str) -> Vec<Retype> {
    let (before, after) = (Record::read(before), Record::read(after));
    let mut retypes = vec![];
    for (path, old) in &before.types {
        let Some(new) = after.types.get(path) else {
            continue;
        };
        let mut report = |path: Vec<String>, value, before: &str, after: &str| {
            let (before, after) = (before.to_owned(), after.to_owned());
            retypes.push(Retype {
                path,
                value,
                before,
                after,
            });
        };
        if let Some(first) = old.alias.filter(|first| after.has(first)) {
            if after.resolve(new.name) != after.resolve(first) {
                report(path.clone(), None, first, &after.resolve(new.name));
            }
            // otherwise the report about the first field covers it
            if new.alias.is_some() {
                continue;
            }
        }
        let (old, new) = (before.first(old), after.first(new));
        if old.keyword != new.keyword {
            let of = |entry: &Entry<'_>| format!("{} {}", entry.keyword, entry.name);
            let (was, is) = (of(old), of(new));
            report(path.clone(), None, &was, &is);
            continue;
        }
        for (wire, old) in &old.members {
            let Some(member) = new.members.get(wire) else {
                continue;
            };
            let is_same = |record: &Record| record.resolve(old) == record.resolve(member);
            if is_same(&before) || is_same(&after) {
                continue;
            }
            if new.keyword == ENUM {
                report(path.clone(), Some(wire.clone()), old, member);
            } else {
                let path = [path.as_slice(), std::slice::from_ref(wire)].concat();
                report(path, None, old, member);
            }
        }
    }
    retypes
}

const ENUM: &str = "enum";

/// A parsed record.
#[derive(Default)]
struct Record<'a> {
    /// The types, by their paths.
    types: BTreeMap<Vec<String>, Entry<'a>>,
    paths: HashMap<&'a str, Vec<String>>,
}

#[derive(Default)]
struct Entry<'a> {
    /// The keyword of the item.
    keyword: &'a str,
    name: &'a str,
    /// The target of a type alias.
    alias: Option<&'a str>,
    /// The types of fields, or the variants of values, by wire name.
    members: BTreeMap<String, &'a str>,
}

impl<'a> Record<'a> {
    /// Parses a record. Unknown lines are ignored.
    fn read(text: &'a str) -> Self {
        let mut record = Self::default();
        let mut open = vec![];
        for line in text.lines() {
            if let Some(member) = line.strip_prefix("  ") {
                let entry = record.types.get_mut(&open);
                if let (Some(entry), Some((wire, type_))) = (entry, member.rsplit_once(": ")) {
                    entry.members.insert(unescaped(wire), type_);
                }
            } else if let Some((entry, path)) = Entry::read(line) {
                record.paths.insert(entry.name, path.clone());
                record.types.insert(path.clone(), entry);
                open = path;
            }
        }
        record
    }

    fn has(&self, name: &str) -> bool {
        self.paths.contains_key(name)
    }

    fn entry(&self, name: &str) -> Option<&Entry<'a>> {
        self.types.get(self.paths.get(name)?)
    }

    /// The type that an alias refers to.
    fn first<'e>(&'e self, entry: &'e Entry<'a>) -> &'e Entry<'a> {
        entry
            .alias
            .and_then(|first| self.entry(first))
            .unwrap_or(entry)
    }

    /// A type expression in which all aliases are resolved.
    fn resolve(&self, expression: &str) -> String {
        let mut resolved = String::new();
        for part in expression.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_') {
            let name = part.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let first = self.entry(name).and_then(|entry| entry.alias);
            resolved += first.unwrap_or(name);
            resolved += &part[name.len()..];
        }
        resolved
    }
}

impl<'a> Entry<'a> {
    /// Parses the line of a type, with its path.
    fn read(line: &'a str) -> Option<(Self, Vec<String>)> {
        let (keyword, line) = line.split_once(' ')?;
        if !["struct", ENUM, "type"].contains(&keyword) {
            return None;
        }
        let (head, path) = match line.split_once(" /") {
            Some((head, path)) => (head, path.split('/').map(step).collect()),
            None => (line, vec![]),
        };
        let (name, alias) = match head.split_once(" = ") {
            Some((name, first)) => (name, Some(first)),
            None => (head, None),
        };
        let entry = Self {
            keyword,
            name,
            alias,
            members: BTreeMap::new(),
        };
        Some((entry, path))
    }
}

fn pointer(path: &[String]) -> String {
    let step = |wire: &String| "/".to_owned() + &escaped(&pointer::escape(wire));
    path.iter().map(step).collect()
}

fn step(text: &str) -> String {
    pointer::unescape(&unescaped(text)).into_owned()
}

/// Formats a wire name as part of a line.
fn escaped(wire: &str) -> String {
    let text = Value::from(wire).to_string();
    text[1..text.len() - 1].to_owned()
}

/// Parses a wire name. A text that is not JSON stays as it is.
fn unescaped(text: &str) -> String {
    serde_json::from_str(&format!("\"{text}\"")).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &[(&str, &str, &str)]) {
        let retypes = retyped(before, after);
        let retypes: Vec<_> = retypes
            .iter()
            .map(|retype| {
                (
                    retype.path.join("."),
                    retype.before.as_str(),
                    retype.after.as_str(),
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, before, after)| ((*path).to_owned(), *before, *after))
            .collect();
        assert_eq!(retypes, expected);
    }

    #[test]
    fn a_retyped_field_is_reported_and_a_new_one_is_not() {
        check(
            "struct KSpec /spec\n  a: Option<KSpecA>\n  b: String\nstruct KSpecA /spec/a\n  c: i32\n",
            "struct KSpec /spec\n  a: Option<Affinity>\n  b: String\n  c: i32\n",
            &[("spec.a", "Option<KSpecA>", "Option<Affinity>")],
        );
    }

    #[test]
    fn an_alias_of_the_same_type_is_not_a_change() {
        let before = "struct KSpec /spec\n  b: KSpecB\n  c: KSpecC\nstruct KSpecB /spec/b\n  d: i32\ntype KSpecC = KSpecB /spec/c\n";
        let after = "struct KSpec /spec\n  a: KSpecA\n  b: KSpecB\n  c: KSpecC\nstruct KSpecA /spec/a\n  d: i32\ntype KSpecB = KSpecA /spec/b\ntype KSpecC = KSpecA /spec/c\n";
        check(before, after, &[]);
        check(after, before, &[]);
    }

    #[test]
    fn aliases_that_become_two_types_are_reported() {
        check(
            "struct KSpecB /spec/b\n  d: i32\ntype KSpecC = KSpecB /spec/c\n",
            "struct KSpecB /spec/b\n  d: i32\nstruct KSpecC /spec/c\n  d: i32\n  e: i32\n",
            &[("spec.c", "KSpecB", "KSpecC")],
        );
    }

    #[test]
    fn an_alias_of_a_removed_type_is_compared_itself() {
        check(
            "struct KSpecB /spec/b\n  d: String\ntype KSpecC = KSpecB /spec/c\n",
            "struct KSpecA /spec/a\n  d: bool\ntype KSpecC = KSpecA /spec/c\n",
            &[("spec.c.d", "String", "bool")],
        );
    }

    #[test]
    fn a_struct_that_becomes_an_enum_and_a_renamed_variant_are_reported() {
        check(
            "struct KSpecB /spec/b\n  d: String\n",
            "enum KSpecB /spec/b\n  d: D\n",
            &[("spec.b", "struct KSpecB", "enum KSpecB")],
        );
        let retypes = retyped(
            "enum KSpecB /spec/b\n  http: Http\n",
            "enum KSpecB /spec/b\n  http: LowerHttp\n  Http: Http\n",
        );
        assert_eq!(retypes.len(), 1);
        assert_eq!(retypes[0].path, ["spec", "b"]);
        assert_eq!(retypes[0].value.as_deref(), Some("http"));
        assert_eq!(retypes[0].after, "LowerHttp");
    }

    #[test]
    fn any_wire_name_is_read_back() {
        let wires = [
            "",
            "f\"g",
            "it's",
            "a/b~c",
            "~1",
            "a: b /c",
            "\\ \n\r\u{85}\u{2028}",
            "größe",
        ];
        for wire in wires {
            assert_eq!(unescaped(&escaped(wire)), wire);
            let path = [wire.to_owned(), String::new()];
            let record = |type_: &str| {
                format!(
                    "struct K\n  {0}: {type_}\nstruct A {1}\n  {0}: {type_}\n",
                    escaped(wire),
                    pointer(&path)
                )
            };
            let retypes = retyped(&record("i32"), &record("i64"));
            let retypes: Vec<&[String]> = retypes
                .iter()
                .map(|retype| retype.path.as_slice())
                .collect();
            let below = [wire, "", wire].map(str::to_owned);
            assert_eq!(retypes, [&path[..1], &below[..]]);
        }
    }

    #[test]
    fn the_root_differs_from_a_field_with_an_empty_name() {
        let before = "struct K\n  a: i32\nstruct KEmpty /\n  a: i32\n";
        check(
            before,
            &before.replacen("i32", "i64", 1),
            &[("a", "i32", "i64")],
        );
    }
}
