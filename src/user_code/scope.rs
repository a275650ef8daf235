//! Finds code that requests objects of a kind in its former scope. rustc rejects `Api::namespaced` for a cluster-scoped kind, but accepts
//! `Api::all` for a namespaced one.

use quote::ToTokens;
use syn::{
    Expr, ExprCall, Local, Pat, Path,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::Use;
use crate::crd::Scope;

/// A kind whose scope changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescoped {
    pub kind: String,
    /// The new scope.
    pub scope: Scope,
}

impl Rescoped {
    fn is_wrong(&self, function: &str) -> bool {
        match self.scope {
            Scope::Cluster => matches!(function, "namespaced" | "default_namespaced"),
            Scope::Namespaced => function == "all",
        }
    }

    fn message(&self, function: &str) -> String {
        let kind = &self.kind;
        match self.scope {
            Scope::Cluster => {
                format!("{kind} is now cluster-scoped, so `Api::{function}` cannot be used for it")
            }
            Scope::Namespaced => format!(
                "{kind} is now namespaced: `Api::all` lists and watches it, but cannot get an object by name"
            ),
        }
    }
}

/// The calls in a file that fit the former scope: `Api::<Kind>::all(..)`, or `Api::all(..)` assigned to a variable of the type `Api<Kind>`.
pub fn find_wrong_scope(path: &str, text: &str, kinds: &[Rescoped]) -> Vec<Use> {
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut visitor = CallVisitor {
        path,
        kinds,
        uses: vec![],
    };
    visitor.visit_file(&file);
    visitor.uses
}

struct CallVisitor<'a> {
    path: &'a str,
    kinds: &'a [Rescoped],
    uses: Vec<Use>,
}

impl CallVisitor<'_> {
    /// Reports a call of `function` that creates an `Api` of `type_`, if it does not fit the scope.
    fn call(&mut self, function: &Path, type_: &str) {
        let Some(last) = function.segments.last() else {
            return;
        };
        let name = last.ident.to_string();
        let is_named = |kind: &str| type_.split(' ').any(|word| word == kind);
        let wrong = |kind: &&Rescoped| is_named(&kind.kind) && kind.is_wrong(&name);
        if let Some(kind) = self.kinds.iter().find(wrong) {
            let message = kind.message(&name);
            self.uses.push(Use::at(self.path, function.span(), message));
        }
    }
}

impl<'ast> Visit<'ast> for CallVisitor<'_> {
    fn visit_local(&mut self, local: &'ast Local) {
        if let Pat::Type(typed) = &local.pat
            && let Some(init) = &local.init
            && let Expr::Call(call) = &*init.expr
            && let Expr::Path(function) = &*call.func
            && is_of_api(&function.path)
        {
            self.call(&function.path, &typed.ty.to_token_stream().to_string());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(function) = &*call.func
            && is_of_api(&function.path)
        {
            let path = &function.path;
            let type_ = path.segments.iter().rev().nth(1);
            let type_ = type_.map(|part| part.arguments.to_token_stream().to_string());
            self.call(path, &type_.unwrap_or_default());
        }
        visit::visit_expr_call(self, call);
    }
}

fn is_of_api(function: &Path) -> bool {
    let type_ = function.segments.iter().rev().nth(1);
    type_.is_some_and(|part| part.ident == "Api")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_former_scope_are_found() {
        let code = "fn f() {
    let a: Api<Widget> = Api::namespaced(client, \"x\");
    let b: Api<ConfigMap> = Api::namespaced(client, \"x\");
    let c = kube::Api::<v1::Widget>::default_namespaced(client);
    let d: kube::Api<Widget> = Api::all(client);
}
";
        let lines = |scope: Scope| {
            let kind = "Widget".to_owned();
            find_wrong_scope("src/x.rs", code, &[Rescoped { kind, scope }])
                .into_iter()
                .map(|at| at.line)
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(Scope::Cluster), [2, 4]);
        assert_eq!(lines(Scope::Namespaced), [5]);
    }
}
