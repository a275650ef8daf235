//! Which Rust type each field has, as a text that a project keeps, so that a change of a type is told and never silent.
//!
//! ```text
//! WidgetSpec /spec
//!   affinity: Option<Affinity>
//!   first: Option<WidgetSpecFirst>
//! WidgetSpecSecond = WidgetSpecFirst /spec/second
//! ```

use std::collections::{BTreeMap, HashMap};

use super::{
    graph::{Definition, Field, Shape, TypeGraph},
    render::Writer,
};
use crate::project::SchemaMode;

/// A field that stays where it was, and whose type is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retype {
    /// The wire names from the root.
    pub path: Vec<String>,
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
            let type_ = writer.written(field).inline();
            format!("  {}: {type_}\n", field.wire.escape_debug())
        };
        fields.iter().map(line).collect()
    };
    text += &format!("{} /\n{}", graph.root_name, fields(&graph.root));
    for Definition {
        name, path, shape, ..
    } in &graph.definitions
    {
        let path: String = path
            .iter()
            .map(|wire| format!("/{}", escaped(wire)))
            .collect();
        text += &match shape {
            Shape::Struct(found) => format!("{name} {path}\n{}", fields(&found.fields)),
            Shape::Enum(_) => format!("{name} {path}\n"),
            Shape::Alias(first) => format!("{name} = {} {path}\n", graph.get(*first).name),
        };
    }
    text
}

const HEADER: &str =
    "# The types of all fields. Written by `cargo operator`, which tells by it when one changes.\n";

/// What a new record says otherwise than the one before. What is only in one of them is no retype.
pub fn retyped(before: &str, after: &str) -> Vec<Retype> {
    let (before, after) = (Record::read(before), Record::read(after));
    let mut found = vec![];
    for (path, old) in &before.types {
        let Some(new) = after.types.get(path) else {
            continue;
        };
        let wires: Vec<String> = path
            .split('/')
            .filter(|wire| !wire.is_empty())
            .map(unescaped)
            .collect();
        if let Some(first) = old.alias {
            if after.has(first) && after.resolve(new.name) != after.resolve(first) {
                found.push(Retype {
                    path: wires.clone(),
                    before: first.to_owned(),
                    after: after.resolve(new.name),
                });
            }
            if new.alias.is_some() {
                continue;
            }
        }
        let fields = after.fields(new);
        for (wire, old) in before.fields(old) {
            let Some(new) = fields.get(wire) else {
                continue;
            };
            let is_same = |record: &Record| record.resolve(old) == record.resolve(new);
            if !is_same(&before) && !is_same(&after) {
                found.push(Retype {
                    path: [wires.as_slice(), &[(*wire).to_owned()]].concat(),
                    before: (*old).to_owned(),
                    after: (*new).to_owned(),
                });
            }
        }
    }
    found
}

/// A record that was read.
#[derive(Default)]
struct Record<'a> {
    /// By their paths.
    types: BTreeMap<&'a str, Entry<'a>>,
    paths: HashMap<&'a str, &'a str>,
}

#[derive(Default)]
struct Entry<'a> {
    name: &'a str,
    /// The type for which the name is another one.
    alias: Option<&'a str>,
    /// By wire names.
    fields: BTreeMap<&'a str, &'a str>,
}

impl<'a> Record<'a> {
    /// Total: a line that is none of ours says nothing.
    fn read(text: &'a str) -> Self {
        let mut record = Self::default();
        let mut open = "";
        for line in text.lines() {
            if let Some(field) = line.strip_prefix("  ") {
                let entry = record.types.get_mut(open);
                if let (Some(entry), Some((wire, type_))) = (entry, field.rsplit_once(": ")) {
                    entry.fields.insert(wire, type_);
                }
            } else if let Some((head, path)) = line.split_once(" /") {
                let (name, alias) = match head.split_once(" = ") {
                    Some((name, first)) => (name, Some(first)),
                    None => (head, None),
                };
                open = path;
                record.paths.insert(name, path);
                let fields = BTreeMap::new();
                record.types.insert(
                    path,
                    Entry {
                        name,
                        alias,
                        fields,
                    },
                );
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

    /// Those of what it stands for.
    fn fields<'e>(&'e self, entry: &'e Entry<'a>) -> &'e BTreeMap<&'a str, &'a str> {
        let first = entry.alias.and_then(|first| self.entry(first));
        &first.unwrap_or(entry).fields
    }

    /// A type expression with the types themselves in place of their other names.
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

/// A wire name as a part of a path in a line.
fn escaped(wire: &str) -> String {
    let wire = wire.replace('~', "~0").replace('/', "~1");
    wire.escape_debug().to_string()
}

fn unescaped(wire: &str) -> String {
    wire.replace("~1", "/").replace("~0", "~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &[(&str, &str, &str)]) {
        let found = retyped(before, after);
        let found: Vec<_> = found
            .iter()
            .map(|found| {
                (
                    found.path.join("."),
                    found.before.as_str(),
                    found.after.as_str(),
                )
            })
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, before, after)| ((*path).to_owned(), *before, *after))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_field_with_another_type_is_told_and_a_new_one_is_not() {
        check(
            "KSpec /spec\n  a: Option<KSpecA>\n  b: String\nKSpecA /spec/a\n  c: i32\n",
            "KSpec /spec\n  a: Option<Affinity>\n  b: String\n  c: i32\n",
            &[("spec.a", "Option<KSpecA>", "Option<Affinity>")],
        );
    }

    #[test]
    fn another_name_of_the_same_type_is_no_other_type() {
        let before = "KSpec /spec\n  b: KSpecB\n  c: KSpecC\nKSpecB /spec/b\n  d: i32\nKSpecC = KSpecB /spec/c\n";
        let after = "KSpec /spec\n  a: KSpecA\n  b: KSpecB\n  c: KSpecC\nKSpecA /spec/a\n  d: i32\nKSpecB = KSpecA /spec/b\nKSpecC = KSpecA /spec/c\n";
        check(before, after, &[]);
        check(after, before, &[]);
    }

    #[test]
    fn names_of_one_type_that_become_two_are_told() {
        check(
            "KSpecB /spec/b\n  d: i32\nKSpecC = KSpecB /spec/c\n",
            "KSpecB /spec/b\n  d: i32\nKSpecC /spec/c\n  d: i32\n  e: i32\n",
            &[("spec.c", "KSpecB", "KSpecC")],
        );
    }
}
