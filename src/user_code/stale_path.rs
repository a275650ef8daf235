//! Finds paths that are stale: of a removed module, or of an outdated version. A `use` is reported once, however much of the file depends on
//! it.

use syn::{
    Ident, Path, UseTree,
    visit::{self, Visit},
};

use super::Use;

/// A module that code should no longer name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StalePath {
    /// The segments, for example `api`, `widget` and `v1`.
    pub path: Vec<String>,
    pub message: String,
}

impl StalePath {
    /// Whether `names`, the first segments of a path, name this module: `crate::api::widget::v1`, or `widget::v1` if `widget` was imported.
    fn matches(&self, names: &[String]) -> bool {
        match self.path.as_slice() {
            [_, inner @ ..] if inner.len() > 1 && names == inner => true,
            path => names.ends_with(path),
        }
    }
}

/// The places where a file names one of the paths.
pub fn find_stale_paths(path: &str, text: &str, stale: &[StalePath]) -> Vec<Use> {
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut visitor = PathVisitor {
        path,
        stale,
        names: vec![],
        uses: vec![],
    };
    visitor.visit_file(&file);
    visitor.uses
}

struct PathVisitor<'a> {
    path: &'a str,
    stale: &'a [StalePath],
    /// The segments of the current path.
    names: Vec<String>,
    uses: Vec<Use>,
}

impl PathVisitor<'_> {
    /// Adds a segment to the current path. Returns whether the path is stale and was reported.
    fn step(&mut self, name: &Ident) -> bool {
        self.names.push(name.to_string());
        let stale = self.stale.iter().find(|stale| stale.matches(&self.names));
        if let Some(stale) = stale {
            self.uses
                .push(Use::at(self.path, name.span(), stale.message.clone()));
        }
        stale.is_some()
    }
}

impl<'ast> Visit<'ast> for PathVisitor<'_> {
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
}
";

    fn positions(path: &[&str]) -> Vec<(usize, usize)> {
        let stale = StalePath {
            path: path.iter().map(|name| (*name).to_owned()).collect(),
            message: String::new(),
        };
        find_stale_paths("src/x.rs", CODE, &[stale])
            .into_iter()
            .map(|at| (at.line, at.column))
            .collect()
    }

    #[test]
    fn a_stale_path_is_reported_once_where_it_is_named() {
        let version = [(1, 29), (4, 23), (4, 74)];
        assert_eq!(positions(&["api", "memcached", "v1alpha1"]), version);
        assert_eq!(
            positions(&["api", "memcached"]),
            [(1, 18), (2, 24), (4, 63)]
        );
    }
}
