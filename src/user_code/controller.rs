//! Finds the optional parts of the trait in a controller's file: `FINALIZER`, the method for objects that are being deleted, and `parents`.

use std::ops::{Range, RangeInclusive};

use syn::{Expr, ImplItem, ImplItemFn, Item, ItemImpl, Lit, spanned::Spanned};

use super::import::full_path;

/// The `impl` block of the trait in a file. Positions are in bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerImpl {
    /// The range from `impl` to the name of the type.
    pub header: Range<usize>,
    pub finalizer: Option<Finalizer>,
    pub cleanup: Option<Part>,
    pub parents: Option<Part>,
    /// Whether it has `related`, which names the watched objects that it needs.
    pub has_related: bool,
    /// The type of the objects.
    pub resource: Option<Resource>,
    /// The types of the object and of the context, as written in the method that takes both.
    pub arguments: [String; 2],
}

/// An item of the `impl` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: Range<usize>,
    /// The range of its lines, from 1, with comments and attributes.
    pub lines: RangeInclusive<usize>,
}

/// The associated type `Resource`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The range of the type as it is written.
    pub range: Range<usize>,
    /// The path of the kind's type from its crate, by the imports of the file; without `PartialObjectMeta` around it.
    pub path: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finalizer {
    pub part: Part,
    /// The name of the finalizer, if it is a literal.
    pub value: Option<String>,
}

/// The constant with the finalizer. No finalizer has this name, because names without a slash are refused.
pub const CONSTANT: &str = "FINALIZER";

impl ControllerImpl {
    /// The name of its finalizer, or that of the constant, if its value is not a literal.
    pub fn finalizer_name(&self) -> Option<&str> {
        let finalizer = self.finalizer.as_ref()?;
        Some(finalizer.value.as_deref().unwrap_or(CONSTANT))
    }
}

/// A trait for controllers.
#[derive(Clone, Copy, Debug)]
pub struct ControllerTrait {
    pub interface: &'static str,
    /// The method that takes an object and the context, and the types to use if the controller has no such method.
    pub method: &'static str,
    pub arguments: [&'static str; 2],
    /// The method that is called when an object is being deleted, if the trait has one.
    pub cleanup: Option<&'static str>,
}

/// Finds the implementation of a trait. Returns `None` if the text is not Rust, or has no such block.
pub fn controller(text: &str, wanted: &ControllerTrait) -> Option<ControllerImpl> {
    let file = syn::parse_file(text).ok()?;
    let block = file.items.iter().find_map(|item| match item {
        Item::Impl(block) if implements(block, wanted.interface) => Some(block),
        _ => None,
    })?;
    let mut controller = ControllerImpl {
        header: block.impl_token.span.byte_range().start..block.self_ty.span().byte_range().end,
        finalizer: None,
        cleanup: None,
        parents: None,
        has_related: false,
        resource: None,
        arguments: wanted.arguments.map(str::to_owned),
    };
    for item in &block.items {
        match item {
            ImplItem::Const(item) if item.ident == CONSTANT && !is_none(&item.expr) => {
                controller.finalizer = Some(Finalizer {
                    part: part(item, item.ident.span()),
                    value: literal(&item.expr),
                });
            }
            ImplItem::Type(item) if item.ident == "Resource" => {
                controller.resource = Some(Resource {
                    range: item.ty.span().byte_range(),
                    path: full_path(&item.ty, &file),
                });
            }
            ImplItem::Fn(item) if wanted.cleanup.is_some_and(|it| item.sig.ident == it) => {
                controller.cleanup = Some(part(item, item.sig.ident.span()));
            }
            ImplItem::Fn(item) if item.sig.ident == "parents" => {
                controller.parents = Some(part(item, item.sig.ident.span()));
            }
            ImplItem::Fn(item) if item.sig.ident == "related" => controller.has_related = true,
            ImplItem::Fn(item) if item.sig.ident == wanted.method => {
                if let Some(types) = types(item, text) {
                    controller.arguments = types;
                }
            }
            _ => {}
        }
    }
    Some(controller)
}

fn implements(block: &ItemImpl, interface: &str) -> bool {
    let path = block.trait_.as_ref().map(|(_, path, _)| path);
    path.and_then(|path| path.segments.last())
        .is_some_and(|segment| segment.ident == interface)
}

fn part(item: &impl Spanned, name: proc_macro2::Span) -> Part {
    let span = item.span();
    Part {
        name: name.byte_range(),
        lines: span.start().line..=span.end().line,
    }
}

fn is_none(value: &Expr) -> bool {
    matches!(value, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "None"))
}

/// The text in `"..."` or `Some("...")`.
fn literal(value: &Expr) -> Option<String> {
    match value {
        Expr::Call(call) => literal(call.args.first()?),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The types of the two arguments of a method, as they are written.
fn types(method: &ImplItemFn, text: &str) -> Option<[String; 2]> {
    let typed = method.sig.inputs.iter().filter_map(|input| match input {
        syn::FnArg::Typed(typed) => text.get(typed.ty.span().byte_range()),
        syn::FnArg::Receiver(_) => None,
    });
    let types: Vec<String> = typed.map(str::to_owned).collect();
    types.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: ControllerTrait = ControllerTrait {
        interface: "Reconciler",
        method: "reconcile",
        arguments: ["Arc<Self::Resource>", "&Context"],
        cleanup: Some("cleanup"),
    };

    fn parse(text: &str) -> Option<ControllerImpl> {
        controller(text, &WANTED)
    }

    const TEXT: &str = "use operator_runtime::Reconciler;

struct Widgets;

impl operator_runtime::Reconciler for Widgets {
    type Resource = Widget;
    /// Ours.
    const FINALIZER: Option<&'static str> = Some(\"x.io/p\");

    async fn reconcile(&self, it: Arc<Widget>, cx: &Context) -> Result<Action> {
        todo(it, cx)
    }

    async fn cleanup(&self, it: Arc<Widget>, cx: &Context) -> Result<()> {
        Ok(())
    }
}
";

    #[test]
    fn the_optional_parts_of_a_controller_are_found_with_their_lines() {
        let all = parse(TEXT).unwrap();
        assert_eq!(
            &TEXT[all.header.clone()],
            "impl operator_runtime::Reconciler for Widgets"
        );
        let finalizer = all.finalizer.unwrap();
        assert_eq!(&TEXT[finalizer.part.name], "FINALIZER");
        assert_eq!(finalizer.part.lines, 7..=8);
        assert_eq!(finalizer.value.as_deref(), Some("x.io/p"));
        assert_eq!(all.cleanup.unwrap().lines, 14..=16);
        assert!(all.parents.is_none() && !all.has_related);
        let related = TEXT.replace("async fn cleanup", "fn related");
        assert!(parse(&related).unwrap().has_related);
        assert_eq!(all.arguments, ["Arc<Widget>", "&Context"]);

        assert_eq!(all.resource.unwrap().path, ["Widget"]);

        let plain = TEXT.replace("Some(\"x.io/p\")", "\"x.io/p\"");
        let finalizer = parse(&plain).unwrap().finalizer.unwrap();
        assert_eq!(finalizer.value.as_deref(), Some("x.io/p"));
        let none = TEXT.replace("Some(\"x.io/p\")", "None");
        assert_eq!(parse(&none).unwrap().finalizer, None);
        let named = TEXT.replace("\"x.io/p\"", "NAME");
        let finalizer = parse(&named).unwrap().finalizer.unwrap();
        assert_eq!(finalizer.value, None);
        assert_eq!(parse("fn main() {}"), None);
        assert_eq!(parse("fn main() {"), None);
        let other = ControllerTrait {
            interface: "Declarative",
            ..WANTED
        };
        assert_eq!(controller(TEXT, &other), None);
        let finalizes = ControllerTrait {
            cleanup: Some("finalize"),
            ..WANTED
        };
        assert_eq!(controller(TEXT, &finalizes).unwrap().cleanup, None);
        let renamed = TEXT.replace("cleanup", "finalize");
        assert!(controller(&renamed, &finalizes).unwrap().cleanup.is_some());
    }
}
