//! Paths and texts that code should no longer have: of a module that goes, of a version that is no longer the one to use, of a crate that
//! has another name. A `use` is told once, however much of the file depends on it.

use syn::{
    Ident, LitStr, Path, UseTree,
    visit::{self, Visit},
};

use super::Use;

/// A module or a crate that code should not name any more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Left {
    /// `api`, `widget` and `v1`; a crate has its name alone.
    pub path: Vec<String>,
    pub message: String,
}

impl Left {
    /// Whether `names`, a path up to one of its names, lead here: `crate::api::widget::v1`, `widget::v1` where `widget` was imported.
    fn is_reached(&self, names: &[String]) -> bool {
        match self.path.as_slice() {
            [krate] => matches!(names, [first] if first == krate),
            [_, inner @ ..] if inner.len() > 1 && names == inner => true,
            path => names.ends_with(path),
        }
    }
}

/// Where a file names one of them.
pub fn leads(path: &str, text: &str, left: &[Left]) -> Vec<Use> {
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut looking = Leading {
        path,
        left,
        names: vec![],
        found: vec![],
    };
    looking.visit_file(&file);
    looking.found
}

/// The texts of a file that are `name`, or have it between colons, as the name of a service account does.
pub fn literals(path: &str, text: &str, name: &str, message: &str) -> Vec<Use> {
    struct Looking<'a> {
        name: &'a str,
        found: Vec<proc_macro2::Span>,
    }
    impl<'ast> Visit<'ast> for Looking<'_> {
        fn visit_lit_str(&mut self, literal: &'ast LitStr) {
            if literal.value().split(':').any(|part| part == self.name) {
                self.found.push(literal.span());
            }
        }
    }
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut looking = Looking {
        name,
        found: vec![],
    };
    looking.visit_file(&file);
    let uses = looking.found.into_iter();
    uses.map(|span| Use::at(path, span, message.to_owned()))
        .collect()
}

struct Leading<'a> {
    path: &'a str,
    left: &'a [Left],
    /// The path so far.
    names: Vec<String>,
    found: Vec<Use>,
}

impl Leading<'_> {
    /// One step further on a path; whether it is told.
    fn step(&mut self, name: &Ident) -> bool {
        self.names.push(name.to_string());
        let left = self.left.iter().find(|left| left.is_reached(&self.names));
        if let Some(left) = left {
            self.found
                .push(Use::at(self.path, name.span(), left.message.clone()));
        }
        left.is_some()
    }
}

impl<'ast> Visit<'ast> for Leading<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        // a name alone is a variable or a type
        if path.segments.len() < 2 {
            return visit::visit_path(self, path);
        }
        let outer = std::mem::take(&mut self.names);
        for part in &path.segments {
            if self.step(&part.ident) {
                break;
            }
        }
        self.names = outer;
        visit::visit_path(self, path);
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        let depth = self.names.len();
        match tree {
            UseTree::Path(step) => {
                if !self.step(&step.ident) {
                    self.visit_use_tree(&step.tree);
                }
            }
            UseTree::Name(name) => {
                self.step(&name.ident);
            }
            UseTree::Rename(name) => {
                self.step(&name.ident);
            }
            UseTree::Group(group) => group
                .items
                .iter()
                .for_each(|tree| self.visit_use_tree(tree)),
            UseTree::Glob(_) => {}
        }
        self.names.truncate(depth);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use crate::api::{memcached::v1alpha1::{Memcached, MemcachedSpec}, widget};
use mc::{Options, api::memcached::{self, v1::Memcached as New}};

fn f(spec: memcached::v1alpha1::MemcachedSpec) -> crate::api::memcached::v1alpha1::X {
    other::memcached::v1alpha1::f();
    mc::run(\"mc\", \"system:serviceaccount:mc:mc\", \"mcs\", x::mc::y)
}
";

    fn told(path: &[&str]) -> Vec<(usize, usize)> {
        let left = Left {
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            message: String::new(),
        };
        let found = leads("src/x.rs", CODE, &[left]).into_iter();
        found.map(|at| (at.line, at.column)).collect()
    }

    #[test]
    fn a_path_is_told_once_where_it_is_named() {
        let version = [(1, 29), (4, 23), (4, 74)];
        assert_eq!(told(&["api", "memcached", "v1alpha1"]), version);
        assert_eq!(told(&["api", "memcached"]), [(1, 18), (2, 24), (4, 63)]);
        assert_eq!(told(&["mc"]), [(2, 5), (6, 5)]);
    }

    #[test]
    fn texts_that_are_the_name_are_told() {
        let found = literals("src/x.rs", CODE, "mc", "");
        let found: Vec<_> = found.iter().map(|at| (at.line, at.column)).collect();
        assert_eq!(found, [(6, 13), (6, 19)]);
    }
}
