//! Finds the answers about a version in the user's conversion file.

use std::ops::Range;

use syn::{Expr, ExprStruct, Item, Macro, Member, spanned::Spanned, visit::Visit};

/// The answers as they are written. Positions are in bytes of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// The path of the struct.
    pub name: Range<usize>,
    /// The fields, each with the range of its name.
    pub fields: Vec<AnswerField>,
    /// Whether the rest comes from another value: `..answers`.
    pub has_rest: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerField {
    pub ident: String,
    pub range: Range<usize>,
    /// Whether its value is still the error of the skeleton.
    pub is_open: bool,
}

/// The functions of a conversion file, and the structs that it creates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversionFile {
    /// The names of the functions.
    pub functions: Vec<String>,
    /// The structs that are created, by their names.
    pub answers: Vec<(String, Answers)>,
}

/// Finds the functions and the structs in a file; `None` if the text is not Rust.
pub fn conversion_file(text: &str) -> Option<ConversionFile> {
    let file = syn::parse_file(text).ok()?;
    let mut found = ConversionFile::default();
    for item in &file.items {
        if let Item::Fn(function) = item {
            found.functions.push(function.sig.ident.to_string());
        }
    }
    found.visit_file(&file);
    Some(found)
}

impl<'a> Visit<'a> for ConversionFile {
    fn visit_expr_struct(&mut self, expression: &'a ExprStruct) {
        let fields = expression.fields.iter().filter_map(|field| {
            let Member::Named(ident) = &field.member else {
                return None;
            };
            Some(AnswerField {
                ident: ident.to_string(),
                range: ident.span().byte_range(),
                is_open: is_open(&field.expr),
            })
        });
        let answers = Answers {
            name: expression.path.span().byte_range(),
            fields: fields.collect(),
            has_rest: expression.rest.is_some(),
        };
        if let Some(last) = expression.path.segments.last() {
            self.answers.push((last.ident.to_string(), answers));
        }
        syn::visit::visit_expr_struct(self, expression);
    }
}

/// Whether two texts differ only in what rustfmt changes: blanks, commas, and the braces of closures.
pub fn is_same_apart_from_layout(a: &str, b: &str) -> bool {
    let is_kept = |c: &char| !c.is_whitespace() && !matches!(c, ',' | '{' | '}');
    a.chars().filter(is_kept).eq(b.chars().filter(is_kept))
}

/// Whether an expression contains `compile_error!`.
fn is_open(expression: &Expr) -> bool {
    struct Open(bool);
    impl<'a> Visit<'a> for Open {
        fn visit_macro(&mut self, call: &'a Macro) {
            self.0 |= call.path.is_ident("compile_error");
        }
    }
    let mut open = Open(false);
    open.visit_expr(expression);
    open.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_with_the_open_ones() {
        let text = "pub fn v1() -> V1Answers {\n    V1Answers {\n        a: Both { to_hub: |a| compile_error!(\"x\"), to_spoke: |a| Ok(a) },\n        b: |_| Ok(1),\n        ..other()\n    }\n}\n";
        let file = conversion_file(text).unwrap();
        assert_eq!(file.functions, ["v1"]);
        let (name, answers) = &file.answers[0];
        assert_eq!((name.as_str(), answers.has_rest), ("V1Answers", true));
        assert_eq!(&text[answers.name.clone()], "V1Answers");
        let fields: Vec<_> = answers
            .fields
            .iter()
            .map(|it| (it.ident.as_str(), it.is_open))
            .collect();
        assert_eq!(fields, [("a", true), ("b", false)]);
        assert_eq!(conversion_file("fn {"), None);
    }

    #[test]
    fn a_formatted_skeleton_is_the_same() {
        let skeleton = "A { a: Both { to_hub: |a| compile_error!(\"x\") }, rules: r }";
        let formatted = "A {\n    a: Both {\n        to_hub: |a| {\n            compile_error!(\"x\")\n        },\n    },\n    rules: r,\n}";
        assert!(is_same_apart_from_layout(skeleton, formatted));
        let other = skeleton.replace('x', "y");
        assert!(!is_same_apart_from_layout(&other, formatted));
    }
}
