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
    Kind(Kind),
    Struct(BTreeMap<String, Member>),
    Enum(BTreeMap<String, Member>),
    /// A type alias.
    Alias(String),
}

pub struct Kind {
    /// The types of the fields, without `metadata`.
    pub fields: BTreeMap<String, String>,
    pub has_default: bool,
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
                && let Some((name, kind)) = kind(item)
            {
                let type_ = Type {
                    shape: Shape::Kind(kind),
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
    /// The types of the fields of a kind, without `metadata`; `None` if the struct is not a kind.
    pub fn root(&self) -> Option<BTreeMap<&str, &str>> {
        match &self.shape {
            Shape::Kind(kind) => {
                let fields = kind.fields.iter();
                Some(fields.map(|(name, type_)| (&**name, &**type_)).collect())
            }
            Shape::Struct(fields) if fields.get(METADATA).is_some_and(is_object_meta) => {
                let fields = fields.iter().filter(|(name, _)| *name != METADATA);
                Some(
                    fields
                        .map(|(name, field)| (&**name, &*field.type_))
                        .collect(),
                )
            }
            _ => None,
        }
    }
}

const METADATA: &str = "metadata";

fn is_object_meta(field: &Member) -> bool {
    field.type_ == "kube :: core :: ObjectMeta"
}

/// The kind that `#[kube(kind = "...", status = "...")]` on the struct of a spec generates, with its name.
fn kind(spec: &syn::ItemStruct) -> Option<(String, Kind)> {
    let kube = spec
        .attrs
        .iter()
        .find(|attribute| attribute.path().is_ident("kube"))?;
    let text = kube.meta.to_token_stream().to_string();
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("{key} = \""))?;
        rest.split('"').next()
    };
    let status = value("status").map(|name| ("status", format!("Option < {name} >")));
    let fields = [("spec", spec.ident.to_string())].into_iter().chain(status);
    let kind = Kind {
        fields: fields
            .map(|(name, type_)| (name.to_owned(), type_))
            .collect(),
        has_default: text.contains("derive = \"Default\""),
    };
    Some((value("kind")?.to_owned(), kind))
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
