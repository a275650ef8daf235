//! A kind with a type that the project has or imports, and the values for the files of its webhooks, or of a controller with a name.

use serde::Serialize;

use super::names::{self, Identity, Names};
use crate::rust::code::literal;

/// A kind, and what the files about it depend on.
pub struct Target<'a> {
    /// The name of the project.
    pub operator: &'a str,
    /// The module of the controller or of the webhooks.
    pub module: &'a str,
    /// The module of the kind's type, and the type's name.
    pub types: String,
    pub root: String,
    pub kind: &'a str,
    pub plural: &'a str,
    /// Whether the kind is namespaced.
    pub namespaced: bool,
    /// Whether the operator watches some namespaces and not all.
    pub in_namespaces: bool,
    /// The file of an object in `manifests/samples/`.
    pub sample: Option<&'a str>,
}

/// The values for the templates.
#[derive(Serialize)]
pub(super) struct Context {
    crate_name: String,
    /// The module of the kind's type, for the code and for the test, and whether it is in `src/api/`.
    own: bool,
    types: String,
    types_in_test: String,
    /// The import of the type, and the name that it gets.
    import: String,
    pub kind: String,
    /// The prefix of the name of the test.
    test: String,
    /// An object of the kind, and the collection of them, as variables.
    var: String,
    objects: String,
    /// The sample's file, as an expression.
    sample: String,
    /// The objects, as an expression.
    api: String,
}

impl Target<'_> {
    /// Fills the templates of the code and of its test.
    pub(super) fn fill<C: Serialize>(
        &self,
        paths: [&str; 2],
        context: impl Fn(Context) -> C,
    ) -> [String; 2] {
        let identity = Identity {
            operator: self.operator,
            module: self.module,
            version: String::new(),
            root: &self.root,
            kind: self.kind,
            plural: self.plural,
        };
        names::fill(paths.map(str::to_owned), identity, |names| {
            context(self.context(names))
        })
    }

    fn context(&self, names: Names) -> Context {
        let namespace = if self.in_namespaces {
            "support::NAMESPACES[0]"
        } else {
            "server.namespace()"
        };
        let sample = self.sample.unwrap_or_default();
        Context {
            own: self.types.starts_with("crate::"),
            types: self.types.clone(),
            types_in_test: match self.types.strip_prefix("crate::") {
                Some(path) => format!("{}::{path}", names.crate_name),
                None => self.types.clone(),
            },
            crate_name: names.crate_name,
            import: names.import,
            kind: names.kind,
            test: self.module.trim_end_matches('_').to_owned(),
            var: names.var,
            objects: names.objects,
            sample: literal(&format!("manifests/samples/{sample}")),
            api: if self.namespaced {
                format!("Api::namespaced(server.client(), {namespace})")
            } else {
                "Api::all(server.client())".to_owned()
            },
        }
    }
}
