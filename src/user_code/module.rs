//! Parses the public items of a generated module: types, fields, variants and methods, with their positions.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::{
    Attribute, Fields, ImplItem, Item, Token, Visibility, punctuated::Punctuated, spanned::Spanned,
};

/// The types of a module.
#[derive(Default)]
pub struct Module {
    pub items: BTreeMap<String, Type>,
}

pub struct Type {
    pub shape: Shape,
    /// The byte offset at which an attribute can be inserted.
    pub place: usize,
    pub methods: BTreeMap<String, Member>,
    /// The names of the derived traits.
    pub derives: BTreeSet<String>,
}

pub enum Shape {
    /// The struct of a kind, which kube derives from the struct of its spec.
    Kind {
        has_default: bool,
    },
    Struct(BTreeMap<String, Member>),
    Enum(BTreeMap<String, Member>),
    /// A type alias.
    Alias(String),
}

pub struct Member {
    /// The type as it is written, without whitespace.
    pub type_: String,
    pub place: usize,
}

impl Module {
    /// Parses a module. Returns `None` if the text is not Rust.
    pub fn read(text: &str) -> Option<Self> {
        let file = syn::parse_file(text).ok()?;
        let mut module = Self::default();
        for item in &file.items {
            if let Item::Struct(item) = item
                && let Some((name, shape)) = kind(item)
            {
                let type_ = Type {
                    shape,
                    place: start(&item.vis),
                    methods: BTreeMap::new(),
                    derives: BTreeSet::new(),
                };
                module.items.insert(name, type_);
            }
            let (name, shape, place) = match item {
                Item::Struct(item) => (&item.ident, fields(&item.fields), start(&item.vis)),
                Item::Enum(item) => {
                    let variants = item.variants.iter().map(|variant| {
                        let member = Member {
                            type_: variant.fields.to_token_stream().to_string(),
                            place: variant.ident.span().byte_range().start,
                        };
                        (variant.ident.to_string(), member)
                    });
                    (
                        &item.ident,
                        Shape::Enum(variants.collect()),
                        start(&item.vis),
                    )
                }
                Item::Type(item) => {
                    let target = item.ty.to_token_stream().to_string();
                    (&item.ident, Shape::Alias(target), start(&item.vis))
                }
                _ => continue,
            };
            let type_ = Type {
                shape,
                place,
                methods: BTreeMap::new(),
                derives: match item {
                    Item::Struct(item) => derives(&item.attrs),
                    Item::Enum(item) => derives(&item.attrs),
                    _ => BTreeSet::new(),
                },
            };
            module.items.insert(name.to_string(), type_);
        }
        module.read_methods(&file);
        Some(module)
    }

    fn read_methods(&mut self, file: &syn::File) {
        let impls = file.items.iter().filter_map(|item| match item {
            Item::Impl(item) if item.trait_.is_none() => Some(item),
            _ => None,
        });
        for item in impls {
            let Some(type_) = self
                .items
                .get_mut(&item.self_ty.to_token_stream().to_string())
            else {
                continue;
            };
            for item in &item.items {
                if let ImplItem::Fn(method) = item {
                    let member = Member {
                        type_: method.sig.to_token_stream().to_string(),
                        place: start(&method.vis),
                    };
                    type_.methods.insert(method.sig.ident.to_string(), member);
                }
            }
        }
    }

    /// Resolves the aliases in a type expression.
    pub fn resolve(&self, expression: &str) -> String {
        let word = |word: &str| match self.items.get(word).map(|item| &item.shape) {
            Some(Shape::Alias(first)) => first.clone(),
            _ => word.to_owned(),
        };
        let words: Vec<String> = expression.split(' ').map(word).collect();
        words.join(" ")
    }
}

impl Type {
    /// Whether the struct is a kind that is written out.
    pub fn is_root(&self) -> bool {
        let is_object_meta = |field: &Member| field.type_ == "kube :: core :: ObjectMeta";
        matches!(&self.shape, Shape::Struct(fields) if fields.get("metadata").is_some_and(is_object_meta))
    }
}

/// The kind that `#[kube(kind = "...")]` on the struct of a spec generates, with its name.
fn kind(spec: &syn::ItemStruct) -> Option<(String, Shape)> {
    let kube = spec
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("kube"))?;
    let text = kube.meta.to_token_stream().to_string();
    let (_, rest) = text.split_once("kind = \"")?;
    let kind = Shape::Kind {
        has_default: text.contains("derive = \"Default\""),
    };
    Some((rest.split('"').next()?.to_owned(), kind))
}

/// The names in `#[derive(..)]`, for example `Default`.
fn derives(attributes: &[Attribute]) -> BTreeSet<String> {
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

fn fields(fields: &Fields) -> Shape {
    let named = fields.iter().filter_map(|field| {
        let member = Member {
            type_: field.ty.to_token_stream().to_string(),
            place: start(&field.vis),
        };
        Some((field.ident.as_ref()?.to_string(), member))
    });
    Shape::Struct(named.collect())
}

/// The offset after the attributes of an item. Generated items are all `pub`.
fn start(visibility: &Visibility) -> usize {
    visibility.span().byte_range().start
}
