//! Finds uses of the fields `spec` and `status` of a kind. Many types have such fields, so they are found only where a name shows that the
//! value is of the kind.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToSnakeCase;
use quote::ToTokens;
use syn::{Expr, Ident, Member, Pat, Type, visit::Visit};

/// The names in a file whose values are objects of a kind.
#[derive(Default)]
pub struct Roots<'a> {
    fields: Option<&'a BTreeSet<(String, String)>>,
    /// The kind of each name: a variable or field with the kind in its type, or the kind's own name in snake case.
    kinds: BTreeMap<String, String>,
}

impl<'a> Roots<'a> {
    /// The fields to search for, each with its kind.
    pub fn of(file: &syn::File, fields: &'a BTreeSet<(String, String)>) -> Self {
        let kinds = fields.iter();
        let kinds = kinds.map(|(kind, _)| (kind.to_snake_case(), kind.clone()));
        let mut roots = Self {
            fields: Some(fields),
            kinds: kinds.collect(),
        };
        roots.visit_file(file);
        roots
    }

    /// Whether a kind has this field.
    pub fn has(&self, kind: &str, field: &Ident) -> bool {
        let is_same = |root: &(String, String)| root.0 == kind && field == &root.1;
        self.fields.is_some_and(|fields| fields.iter().any(is_same))
    }

    /// The kind whose field `base.field` reads.
    pub fn read(&self, base: &Expr, field: &Ident) -> Option<String> {
        let kind = self.kinds.get(&name(base)?)?;
        self.has(kind, field).then(|| kind.clone())
    }

    fn typed(&mut self, name: &Ident, type_: &Type) {
        let tokens = type_.to_token_stream().to_string();
        let mut words = tokens.split(' ');
        let kinds = self.fields.into_iter().flatten().map(|(kind, _)| kind);
        let of = |word: &str| kinds.clone().find(|kind| *kind == word).cloned();
        if let Some(kind) = words.find_map(of) {
            self.kinds.insert(name.to_string(), kind);
        }
    }
}

impl<'ast> Visit<'ast> for Roots<'_> {
    fn visit_pat_type(&mut self, typed: &'ast syn::PatType) {
        if let Pat::Ident(pattern) = &*typed.pat {
            self.typed(&pattern.ident, &typed.ty);
        }
        syn::visit::visit_pat_type(self, typed);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.typed(name, &field.ty);
        }
    }
}

/// The last name of an expression: `backup` in `(&self.backup)`.
fn name(value: &Expr) -> Option<String> {
    match value {
        Expr::Path(path) => path.path.get_ident().map(Ident::to_string),
        Expr::Field(field) => match &field.member {
            Member::Named(name) => Some(name.to_string()),
            Member::Unnamed(_) => None,
        },
        Expr::Reference(to) => name(&to.expr),
        Expr::Paren(inner) => name(&inner.expr),
        Expr::Unary(unary) => name(&unary.expr),
        _ => None,
    }
}
