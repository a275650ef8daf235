//! Finds uses by name alone, without compiling the project; a match may be of another type with a field of that name.

use syn::{
    ExprField, ExprMatch, ExprMethodCall, ExprStruct, FieldValue, Member, Pat, PatStruct, Path,
    UseTree,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::{ChangedItems, Use};

/// The uses of changed items in a file, by name; none if it is not Rust.
pub fn find_by_name(path: &str, text: &str, changed: &ChangedItems) -> Vec<Use> {
    visit_file(path, text, changed, true)
}

/// The uses that a new field or variant breaks: struct literals and patterns that name all fields, and `match` expressions of all variants.
pub fn find_non_exhaustive(path: &str, text: &str, changed: &ChangedItems) -> Vec<Use> {
    visit_file(path, text, changed, false)
}

/// Finds the uses of changed items. With `names`, also those that only a name suggests.
fn visit_file(path: &str, text: &str, changed: &ChangedItems, names: bool) -> Vec<Use> {
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut visitor = UseVisitor {
        path,
        changed,
        names,
        uses: vec![],
    };
    visitor.visit_file(&file);
    visitor.uses.sort();
    visitor.uses.dedup();
    visitor.uses
}

struct UseVisitor<'a> {
    path: &'a str,
    changed: &'a ChangedItems,
    names: bool,
    uses: Vec<Use>,
}

impl UseVisitor<'_> {
    fn report(&mut self, at: &impl Spanned, message: String) {
        self.uses.push(Use::at(self.path, at.span(), message));
    }

    fn member(&mut self, at: &impl Spanned, name: &str) {
        if self.names && self.changed.members.contains(name) {
            self.report(
                at,
                format!("`{name}` may be a field that is removed or has another type"),
            );
        }
    }

    fn structure(&mut self, path: &Path, is_open: bool) {
        let name = last(path);
        if !is_open && self.changed.structs_with_new_fields.contains(&name) {
            self.report(
                path,
                format!("`{name}` has new fields, which are missing here"),
            );
        }
    }
}

impl<'ast> Visit<'ast> for UseVisitor<'_> {
    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        if let Member::Named(name) = &field.member {
            self.member(name, &name.to_string());
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.member(&call.method, &call.method.to_string());
        visit::visit_expr_method_call(self, call);
    }

    fn visit_field_value(&mut self, field: &'ast FieldValue) {
        if let Member::Named(name) = &field.member {
            self.member(name, &name.to_string());
        }
        visit::visit_field_value(self, field);
    }

    fn visit_field_pat(&mut self, field: &'ast syn::FieldPat) {
        if let Member::Named(name) = &field.member {
            self.member(name, &name.to_string());
        }
        visit::visit_field_pat(self, field);
    }

    fn visit_expr_struct(&mut self, literal: &'ast ExprStruct) {
        self.structure(&literal.path, literal.rest.is_some());
        let name = last(&literal.path);
        if self.names && self.changed.lost_default.contains(&name) && takes_default(literal) {
            self.report(
                &literal.path,
                format!("`{name}` no longer implements `Default`"),
            );
        }
        visit::visit_expr_struct(self, literal);
    }

    fn visit_pat_struct(&mut self, pattern: &'ast PatStruct) {
        self.structure(&pattern.path, pattern.rest.is_some());
        visit::visit_pat_struct(self, pattern);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let has_wildcard = expression
            .arms
            .iter()
            .any(|arm| arm.guard.is_none() && matches!(&arm.pat, Pat::Wild(_) | Pat::Ident(_)));
        let mut variants = vec![];
        for arm in &expression.arms {
            enums(&arm.pat, &mut variants);
        }
        if let Some(name) = variants
            .iter()
            .find(|name| self.changed.enums_with_new_variants.contains(*name))
            && !has_wildcard
        {
            self.report(
                &expression.match_token,
                format!("`{name}` has new variants, which have no arm here"),
            );
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|part| part.ident.to_string())
            .collect();
        let pairs = names.windows(2).map(|pair| pair.join("::"));
        let items = names.iter().cloned().chain(pairs);
        if self.names
            && let Some(item) = items
                .into_iter()
                .find(|item| self.changed.items.contains(item))
        {
            self.report(path, format!("`{item}` is removed or has another type"));
        }
        visit::visit_path(self, path);
    }

    fn visit_use_tree(&mut self, tree: &'ast UseTree) {
        let name = match tree {
            UseTree::Name(name) => Some(&name.ident),
            UseTree::Rename(name) => Some(&name.ident),
            _ => None,
        };
        if let Some(name) =
            name.filter(|name| self.names && self.changed.items.contains(&name.to_string()))
        {
            self.report(name, format!("`{name}` is removed or has another type"));
        }
        visit::visit_use_tree(self, tree);
    }
}

/// Whether the rest of a literal is a call of `default`.
fn takes_default(literal: &ExprStruct) -> bool {
    let Some(syn::Expr::Call(call)) = literal.rest.as_deref() else {
        return false;
    };
    matches!(&*call.func, syn::Expr::Path(function) if last(&function.path) == "default")
}

fn last(path: &Path) -> String {
    path.segments
        .last()
        .map(|part| part.ident.to_string())
        .unwrap_or_default()
}

/// The types of the variants that a pattern names.
fn enums(pattern: &Pat, names: &mut Vec<String>) {
    let mut path = |path: &Path| {
        let parts = &path.segments;
        names.extend(parts.iter().rev().nth(1).map(|part| part.ident.to_string()));
    };
    match pattern {
        Pat::Path(at) => path(&at.path),
        Pat::TupleStruct(at) => {
            path(&at.path);
            at.elems.iter().for_each(|pattern| enums(pattern, names));
        }
        Pat::Or(cases) => cases.cases.iter().for_each(|pattern| enums(pattern, names)),
        Pat::Reference(to) => enums(&to.pat, names),
        Pat::Paren(inner) => enums(&inner.pat, names),
        Pat::Tuple(parts) => parts.elems.iter().for_each(|pattern| enums(pattern, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use api::{Part as P, Spec};

fn f(spec: &Spec) -> i32 {
    let part = Spec { colour: 1 };
    let Spec { colour, .. } = part;
    let Spec { colour: c } = part;
    match spec.mode {
        Mode::Fast => spec.size,
        Some(Mode::Slow) => spec.size(),
    }
}
";

    #[test]
    fn uses_are_found_by_their_names() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let changed = ChangedItems {
            members: names(&["size"]),
            items: names(&["Part", "Mode::Fast"]),
            structs_with_new_fields: names(&["Spec"]),
            enums_with_new_variants: names(&["Mode"]),
            ..ChangedItems::default()
        };
        let positions = |uses: Vec<Use>| {
            uses.into_iter()
                .map(|at| (at.line, at.column))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            positions(find_non_exhaustive("src/x.rs", CODE, &changed)),
            [(4, 16), (6, 9), (7, 5)]
        );
        let expected = [(1, 11), (4, 16), (6, 9), (7, 5), (8, 9), (8, 28), (9, 34)];
        assert_eq!(
            positions(find_by_name("src/x.rs", CODE, &changed)),
            expected
        );
    }
}
