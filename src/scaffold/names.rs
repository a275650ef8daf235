//! The names that the example controller uses for a kind. They do not conflict with other names in the templates.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use serde::Serialize;

use super::Subject;
use crate::{
    rust::{is_keyword, module_name, version_module},
    template,
};

/// The names of a kind in its controller and in its test.
pub struct Names {
    pub crate_name: String,
    pub module: String,
    pub version: String,
    /// The Rust type.
    pub kind: String,
    /// The import of the type from its module.
    pub import: String,
    /// An object of the kind, and the collection of them, as variables.
    pub var: String,
    pub objects: String,
}

/// The variables for a kind whose default names are already in use.
const OBJECT: &str = "object";
const OBJECTS: &str = "objects";

impl Names {
    /// Names that no kind has: in a text that is rendered with them, all words except [`OBJECT`] and [`OBJECTS`] come from the template.
    fn placeholders() -> Self {
        let word = |part: &str| format!("placeholder_{part}");
        Self {
            crate_name: word("crate"),
            module: word("module"),
            version: word("version"),
            kind: word("kind"),
            import: word("kind"),
            var: OBJECT.to_owned(),
            objects: OBJECTS.to_owned(),
        }
    }
}

/// The parts of the names of a kind.
pub struct Identity<'a> {
    /// The name of the project.
    pub operator: &'a str,
    pub module: &'a str,
    /// The module of the version.
    pub version: String,
    /// The Rust type.
    pub root: &'a str,
    pub kind: &'a str,
    pub plural: &'a str,
}

impl<'a> Identity<'a> {
    pub fn of(subject: &'a Subject<'_>) -> Self {
        let api = subject.api;
        Self {
            operator: subject.operator,
            module: &subject.module,
            version: version_module(&api.storage_version().name),
            root: &subject.facts.root,
            kind: &api.names.kind,
            plural: &api.names.plural,
        }
    }

    /// The names of the kind, where the templates use `words`.
    fn names(self, words: &HashSet<String>) -> Names {
        let mut name = self.root.to_owned();
        while words.contains(&name) {
            name += "Object";
        }
        let var = module_name(self.kind);
        let objects = module_name(self.plural);
        let version = &self.version;
        let is_free =
            |name: &str| !words.contains(name) && !is_keyword(name) && name != version.as_str();
        let (var, objects) = if is_free(&var) && is_free(&objects) && var != objects {
            (var, objects)
        } else {
            (OBJECT.to_owned(), OBJECTS.to_owned())
        };
        Names {
            crate_name: self.operator.replace('-', "_"),
            module: self.module.to_owned(),
            version: self.version,
            import: if name == self.root {
                name.clone()
            } else {
                format!("{} as {name}", self.root)
            },
            kind: name,
            var,
            objects,
        }
    }
}

/// Fills two templates with the values that belong to the names of a kind.
pub fn fill<C: Serialize>(
    paths: [String; 2],
    kind: Identity<'_>,
    context: impl Fn(Names) -> C,
) -> [String; 2] {
    let fill = |names| {
        let context = context(names);
        paths.each_ref().map(|path| template::fill(path, &context))
    };
    // rendered with placeholders, the texts show which names the templates use, so that those of the kind can avoid them
    let texts = fill(Names::placeholders());
    fill(kind.names(&texts.iter().flat_map(|text| words(text)).collect()))
}

/// The identifiers in Rust code.
fn words(text: &str) -> impl Iterator<Item = String> {
    let tokens: TokenStream = text.parse().expect("a template is Rust");
    let mut words = vec![];
    let mut open = vec![tokens];
    while let Some(tokens) = open.pop() {
        for token in tokens {
            match token {
                TokenTree::Group(group) => open.push(group.stream()),
                TokenTree::Ident(ident) => words.push(ident.to_string()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }
    words.into_iter()
}
