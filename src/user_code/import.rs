//! Resolves a type to its path from its crate, by the `use` items of its file.

use syn::{File, GenericArgument, Item, PathArguments, Type, UseTree};

/// The path of a type, as far as the imports show it; for `PartialObjectMeta<T>`, the path of `T`. Empty if the type is not a path.
pub fn full_path(type_: &Type, file: &File) -> Vec<String> {
    let Type::Path(type_) = type_ else {
        return vec![];
    };
    if let Some(last) = type_.path.segments.last()
        && last.ident == "PartialObjectMeta"
        && let PathArguments::AngleBracketed(arguments) = &last.arguments
        && let Some(GenericArgument::Type(inner)) = arguments.args.first()
    {
        return full_path(inner, file);
    }
    let names = type_.path.segments.iter().map(|it| it.ident.to_string());
    let mut names: Vec<String> = names.collect();
    let uses = file.items.iter().filter_map(|item| match item {
        Item::Use(item) => Some(&item.tree),
        _ => None,
    });
    let mut imports = uses.filter_map(|tree| imported(tree, &names[0]));
    if let Some(path) = imports.next() {
        names.splice(..1, path);
    }
    names
}

/// The path that a `use` item imports under this name.
fn imported(tree: &UseTree, name: &str) -> Option<Vec<String>> {
    match tree {
        UseTree::Path(step) => {
            let outer = step.ident.to_string();
            // `use a::b::{self}` imports `b`
            let rest = match &*step.tree {
                inner if names_itself(inner) && outer == name => vec![],
                inner => imported(inner, name)?,
            };
            Some([vec![outer], rest].concat())
        }
        UseTree::Name(leaf) => (leaf.ident == name).then(|| vec![name.to_owned()]),
        UseTree::Rename(leaf) => (leaf.rename == name).then(|| match leaf.ident.to_string() {
            own if own == "self" => vec![],
            own => vec![own],
        }),
        UseTree::Group(group) => group.items.iter().find_map(|tree| imported(tree, name)),
        UseTree::Glob(_) => None,
    }
}

/// Whether the last part of a `use` item has `self`.
fn names_itself(tree: &UseTree) -> bool {
    match tree {
        UseTree::Name(leaf) => leaf.ident == "self",
        UseTree::Group(group) => group.items.iter().any(names_itself),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_has_the_path_of_its_import() {
        let path = |imports: &str, type_: &str| {
            let file = syn::parse_file(imports).unwrap();
            full_path(&syn::parse_str(type_).unwrap(), &file).join("::")
        };
        const POD: &str = "k8s_openapi::api::core::v1::Pod";
        for (imports, type_) in [
            ("use k8s_openapi::api::core::v1::Pod;", "Pod"),
            (
                "use k8s_openapi::api::{apps::v1::Deployment, core::v1::{Node, Pod}};",
                "Pod",
            ),
            ("use k8s_openapi::api::core::v1::Pod as Mine;", "Mine"),
            ("use k8s_openapi::api::core::v1;", "v1::Pod"),
            ("use k8s_openapi::api::core::v1::{self, Node};", "v1::Pod"),
            (
                "use k8s_openapi::api::core::v1::{self as core};",
                "core::Pod",
            ),
            (
                "use k8s_openapi::api::core::v1::Pod;",
                "kube::core::PartialObjectMeta<Pod>",
            ),
            ("", "k8s_openapi::api::core::v1::Pod"),
        ] {
            assert_eq!(path(imports, type_), POD, "{imports} {type_}");
        }
        assert_eq!(path("use k8s_openapi::api::core::v1::*;", "Pod"), "Pod");
        assert_eq!(path("", "(Pod, Pod)"), "");
    }
}
