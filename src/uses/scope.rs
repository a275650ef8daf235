//! Code that asks for objects of a kind in the way of its former scope. rustc refuses `Api::namespaced` of a kind that has no namespaces; the
//! other way round it says nothing.

use quote::ToTokens;
use syn::{
    Expr, ExprCall, Local, Pat, Path,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::Use;
use crate::crd::Scope;

/// A kind that has another scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescoped {
    pub kind: String,
    /// That which it has now.
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

/// The calls in a file that fit the former scope: `Api::<Kind>::all(..)`, or `Api::all(..)` where the variable is said to be `Api<Kind>`.
pub fn scoped(path: &str, text: &str, kinds: &[Rescoped]) -> Vec<Use> {
    let Ok(file) = syn::parse_file(text) else {
        return vec![];
    };
    let mut looking = Looking {
        path,
        kinds,
        found: vec![],
    };
    looking.visit_file(&file);
    looking.found
}

struct Looking<'a> {
    path: &'a str,
    kinds: &'a [Rescoped],
    found: Vec<Use>,
}

impl Looking<'_> {
    /// Of a call of `function`, which makes an `Api` of `type_`.
    fn call(&mut self, function: &Path, type_: &str) {
        let Some(last) = function.segments.last() else {
            return;
        };
        let name = last.ident.to_string();
        let is_named = |kind: &str| type_.split(' ').any(|word| word == kind);
        let wrong = |kind: &&Rescoped| is_named(&kind.kind) && kind.is_wrong(&name);
        if let Some(kind) = self.kinds.iter().find(wrong) {
            let message = kind.message(&name);
            self.found
                .push(Use::at(self.path, function.span(), message));
        }
    }
}

impl<'ast> Visit<'ast> for Looking<'_> {
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
            let found = scoped("src/x.rs", code, &[Rescoped { kind, scope }]).into_iter();
            found.map(|at| at.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(Scope::Cluster), [2, 4]);
        assert_eq!(lines(Scope::Namespaced), [5]);
    }
}
