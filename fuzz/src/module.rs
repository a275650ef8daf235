//! Checks the generated types of a version.

use std::collections::BTreeSet;

use cargo_operator::{
    crd::{Api, Version},
    types,
    types::SchemaMode,
};
use syn::{Fields, Item};

/// Generates the module of a version in both modes, twice. Each text parses as Rust without duplicate names, and both modes have the same
/// names.
pub fn check(api: &Api, version: &Version) {
    let [derived, embedded] = [SchemaMode::Derive, SchemaMode::Embed].map(|mode| {
        let text = types::module(api, version, mode).text;
        let again = types::module(api, version, mode).text;
        assert_eq!(text, again, "another text of the same input");
        // rustc rejects these characters
        let is_bidi_control = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(
            !text.contains(is_bidi_control),
            "it changes the writing direction\n{text}"
        );
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut names = BTreeSet::new();
        for item in &file.items {
            let Some(name) = checked(item) else { continue };
            assert!(names.insert(name.clone()), "{name} twice\n{text}");
        }
        // in one mode, kube-derive generates the root type
        names.insert(api.names.kind.clone());
        names
    });
    assert_eq!(derived, embedded, "names of the two modes");
}

/// Checks that the members of a type have different names. Returns the name of the type.
fn checked(item: &Item) -> Option<String> {
    let (name, members) = match item {
        Item::Struct(item) => (&item.ident, fields(&item.fields)),
        Item::Enum(item) => {
            let variants = item.variants.iter();
            (
                &item.ident,
                variants.map(|it| it.ident.to_string()).collect(),
            )
        }
        Item::Type(item) => (&item.ident, vec![]),
        _ => return None,
    };
    let distinct: BTreeSet<&String> = members.iter().collect();
    assert_eq!(
        distinct.len(),
        members.len(),
        "members of {name}: {members:?}"
    );
    Some(name.to_string())
}

fn fields(fields: &Fields) -> Vec<String> {
    let named = fields.iter().filter_map(|field| field.ident.as_ref());
    named.map(ToString::to_string).collect()
}
