//! The public API of a generated module: items, fields, variants, signatures, derives and trait implementations, without documentation,
//! function bodies and attributes of serde and schemars.

use std::collections::BTreeSet;

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, Meta, Token, Visibility, punctuated::Punctuated};

/// The parameters of `#[kube(..)]` that do not affect Rust items.
const KUBE_DATA: [&str; 14] = [
    "annotation",
    "category",
    "deprecated",
    "doc",
    "label",
    "plural",
    "printcolumn",
    "scale",
    "selectable",
    "served",
    "shortname",
    "singular",
    "storage",
    "validation",
];

/// Returns one text for each item; the order of items does not matter.
pub fn public_api(file: syn::File) -> BTreeSet<String> {
    file.items.into_iter().filter_map(item).collect()
}

/// The names in `#[derive(..)]`, for example `Default`.
pub fn derives(attributes: &[Attribute]) -> BTreeSet<String> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
        .filter_map(|list| {
            let parser = Punctuated::<syn::Path, Token![,]>::parse_terminated;
            list.parse_args_with(parser).ok()
        })
        .flatten()
        .filter_map(|path| Some(path.segments.last()?.ident.to_string()))
        .collect()
}

/// The public part of an item as text; `None` if the item is private.
fn item(mut item: Item) -> Option<String> {
    match &mut item {
        Item::Struct(node) => {
            let derives = kept(&node.attrs);
            node.attrs.clear();
            strip(&mut node.fields);
            return is_public(&node.vis).then(|| derives + &node.to_token_stream().to_string());
        }
        Item::Enum(node) => {
            let derives = kept(&node.attrs);
            node.attrs.clear();
            for variant in &mut node.variants {
                variant.attrs.clear();
                strip(&mut variant.fields);
            }
            return is_public(&node.vis).then(|| derives + &node.to_token_stream().to_string());
        }
        Item::Impl(node) => {
            node.attrs.clear();
            let of_trait = node.trait_.is_some();
            let methods = node.items.iter().filter_map(|item| match item {
                ImplItem::Fn(method) if !of_trait && is_public(&method.vis) => {
                    Some(method.sig.to_token_stream().to_string())
                }
                ImplItem::Type(alias) => Some(alias.to_token_stream().to_string()),
                _ => None,
            });
            let methods: BTreeSet<String> = methods.collect();
            node.items.clear();
            let methods: Vec<String> = methods.into_iter().collect();
            return Some(node.to_token_stream().to_string() + &methods.join(" "));
        }
        Item::Fn(node) => {
            return is_public(&node.vis).then(|| node.sig.to_token_stream().to_string());
        }
        Item::Const(node) => node.attrs.clear(),
        Item::Type(node) => node.attrs.clear(),
        Item::Use(node) => node.attrs.clear(),
        Item::Mod(node) => node.attrs.clear(),
        _ => {}
    }
    let visibility = match &item {
        Item::Const(node) => &node.vis,
        Item::Type(node) => &node.vis,
        Item::Use(node) => &node.vis,
        Item::Mod(node) => &node.vis,
        _ => return Some(item.to_token_stream().to_string()),
    };
    is_public(visibility).then(|| item.to_token_stream().to_string())
}

/// The attributes that generate items: the derives, and the attributes of kube's derive.
fn kept(attributes: &[Attribute]) -> String {
    let mut kept: Vec<String> = derives(attributes).into_iter().collect();
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("kube"))
    {
        let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
        match attribute.parse_args_with(parser) {
            Ok(parameters) => kept.extend(parameters.iter().filter_map(|parameter| {
                let is_data = KUBE_DATA.iter().any(|name| parameter.path().is_ident(name));
                (!is_data).then(|| parameter.to_token_stream().to_string())
            })),
            Err(_) => kept.push(attribute.to_token_stream().to_string()),
        }
    }
    kept.join(" ") + " "
}

fn strip(fields: &mut Fields) {
    for field in fields {
        field.attrs.clear();
    }
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = "/// A part.
#[derive(Clone, Default)]
#[serde(rename_all = \"camelCase\")]
pub struct Part {
    /// How many.
    #[serde(default)]
    pub size: i32,
}
impl Part {
    pub fn twice(&self) -> i32 {
        self.size * 2
    }
}
impl From<i32> for Part {
    fn from(size: i32) -> Self {
        Self { size }
    }
}
pub enum Mode {
    Fast,
}
pub type Other = Part;
pub const NAME: &str = \"part\";
fn private() {}
";

    fn of(text: &str) -> BTreeSet<String> {
        public_api(syn::parse_file(text).unwrap())
    }

    #[test]
    fn the_public_api_has_exactly_what_other_code_can_depend_on() {
        let replaced = |from: &str, to: &str| {
            assert!(MODULE.contains(from), "{from}");
            of(&MODULE.replace(from, to)) != of(MODULE)
        };
        for (from, to) in [
            ("Clone, Default", "Clone"),
            ("Clone, Default", "Clone, Default, Hash"),
            ("pub size: i32", "pub size: i64"),
            ("pub size: i32,", "pub size: i32, pub more: bool,"),
            ("twice(&self)", "twice(self)"),
            ("From<i32>", "From<i64>"),
            ("    Fast,", "    Fast, Slow,"),
            ("Other = Part", "Other = i32"),
            ("\"part\"", "\"other\""),
        ] {
            assert!(replaced(from, to), "{from} -> {to}");
        }
        for (from, to) in [
            ("/// How many.", "/// How few."),
            ("#[serde(default)]", ""),
            ("self.size * 2", "self.size + self.size"),
            ("fn private() {}", ""),
        ] {
            assert!(!replaced(from, to), "{from} -> {to}");
        }
    }

    #[test]
    fn the_crd_of_a_kind_is_not_part_of_the_public_api() {
        let kind = |more: &str| {
            of(&format!(
                "#[derive(CustomResource)]\n#[kube(group = \"x.io\", kind = \"X\"{more})]\npub struct XSpec {{}}"
            ))
        };
        for data in [
            ", printcolumn(name = \"A\", type_ = \"string\", json_path = \".spec.a\")",
            ", served = false",
            ", storage = false, deprecated = \"use v2\"",
            ", shortname = \"w\"",
        ] {
            assert_eq!(kind(""), kind(data));
        }
        assert_ne!(kind(""), kind(", namespaced"));
        assert_ne!(kind(""), kind(", status = \"XStatus\""));
    }
}
