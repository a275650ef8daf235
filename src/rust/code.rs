//! Formats the code of generated modules that belong to the tool. rustfmt skips these modules, so their layout follows a few rules of our
//! own: a long list has one line for each item, and a long line is broken once.
//!
//! All functions return text without an indent; [`indented`] places it one level deeper.

use std::borrow::Cow;

/// The maximum length of all items of a list together; in a longer list, each item has its own line.
const LIST: usize = 80;
/// The maximum length of a line; a longer one is broken if it has a place for a break.
const LINE: usize = 110;

/// The attributes below the comments at the start of a module of the tool. They turn off rustfmt and lints, whatever the workspace
/// configures. The rustc lints are those that are off by default and that the modules would trigger.
const ATTRIBUTES: &str = "#![cfg_attr(rustfmt, rustfmt::skip)]
#![allow(clippy::all, clippy::pedantic, clippy::nursery, clippy::restriction)]
#![allow(missing_debug_implementations, missing_docs, unreachable_pub, unused_qualifications, unused_results)]
";

/// Puts the attributes of the tool's modules below the comments at the start of a module. They also apply to the modules that it declares,
/// so a module with modules of the user must not have them.
pub fn untouched(module: &str) -> String {
    let is_comment = |line: &&str| line.starts_with("//");
    let lines = module.split_inclusive('\n').take_while(is_comment);
    let (comments, code) = module.split_at(lines.map(str::len).sum());
    let blank = if code.starts_with('\n') || code.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{comments}{ATTRIBUTES}{blank}{code}")
}

/// The attributes of a generated function in a module that declares modules of the user.
pub const OF_FUNCTION: &str = "#[rustfmt::skip]\n#[allow(clippy::pedantic)]\n";

/// Indents a text by one level.
pub fn indented(text: &str) -> String {
    let mut inside = String::with_capacity(text.len() + text.len() / 8);
    for line in text.split_inclusive('\n') {
        if line != "\n" {
            inside += "    ";
        }
        inside += line;
    }
    inside
}

/// `pub mod name { text }`.
pub fn module(name: &str, text: &str) -> String {
    format!("pub mod {name} {{\n{}}}\n", indented(text))
}

/// `head rest`, with the rest on its own line if the line is long.
pub fn joined(head: &str, rest: &str) -> String {
    let first = rest.lines().next().unwrap_or_default();
    if head.len() + first.len() < LINE {
        format!("{head} {rest}")
    } else {
        format!("{head}\n    {}", indented(rest).trim_start())
    }
}

/// `head(items)tail`, or with other brackets, with a line feed.
pub fn list(head: &str, brackets: [char; 2], items: &[String], tail: &str) -> String {
    let [open, close] = brackets;
    let inline = items.join(", ");
    let is_short = inline.len() <= LIST || items.len() == 1;
    if is_short && head.len() + inline.len() + tail.len() < LINE && !inline.contains('\n') {
        return format!("{head}{open}{inline}{close}{tail}\n");
    }
    format!("{head}{open}\n{}{close}{tail}\n", lines(items, ",\n"))
}

/// `#[name(arguments)]` with a line feed; empty without arguments.
pub fn attribute(name: &str, arguments: &[String]) -> String {
    match arguments {
        [] => String::new(),
        arguments => format!("#[{}]\n", meta(name, arguments)),
    }
}

/// `name(arguments)` in an attribute. A single argument stays on the line of its name.
pub fn meta(name: &str, arguments: &[String]) -> String {
    bracketed(&format!("{name}("), arguments, ")")
}

/// Items between brackets, without a comma after the last one.
pub fn bracketed(open: &str, items: &[String], close: &str) -> String {
    let inline = items.join(", ");
    if items.len() == 1 || (inline.len() <= LIST && !inline.contains('\n')) {
        return format!("{open}{inline}{close}");
    }
    let lines = lines(items, ",\n");
    let lines = lines.trim_end_matches(",\n");
    format!("{open}\n{lines}\n{close}")
}

fn lines(items: &[String], end: &str) -> String {
    let line = |item: &String| indented(item) + end;
    items.iter().map(line).collect()
}

/// `root.call()`, or a line for each call.
pub fn chain(root: &str, calls: &[String]) -> String {
    let inline = format!("{root}{}", calls.concat());
    if inline.len() <= LIST && !inline.contains('\n') {
        inline
    } else {
        lines_of_chain(root, calls)
    }
}

/// A line for the root of a chain and for each of its calls.
pub fn lines_of_chain(root: &str, calls: &[String]) -> String {
    let line = |call: &String| format!("\n{}", indented(call));
    format!("{root}{}", calls.iter().map(line).collect::<String>())
}

/// `use module::{names};`, with as many names on a line as fit.
pub fn import(module: &str, names: &[String]) -> String {
    if let [one] = names {
        return format!("use {module}::{one};\n");
    }
    let mut lines = vec![String::new()];
    for name in names {
        match lines.last_mut() {
            Some(line) if line.len() + name.len() < LIST => *line += &format!("{name}, "),
            _ => lines.push(format!("{name}, ")),
        }
    }
    match lines.as_slice() {
        [one] => format!("use {module}::{{{}}};\n", one.trim_end_matches(", ")),
        lines => {
            let lines = lines
                .iter()
                .map(|line| format!("    {}\n", line.trim_end()));
            format!("use {module}::{{\n{}}};\n", lines.collect::<String>())
        }
    }
}

/// Whether a character changes the writing direction, which rustc rejects in a literal.
fn changes_direction(char: char) -> bool {
    matches!(char, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats a JSON text as a raw literal. rustc rejects characters that change the writing direction, so they are written as JSON escapes.
pub fn json_literal(json: &str) -> String {
    let mut json = Cow::Borrowed(json);
    if !json.is_ascii() && json.contains(changes_direction) {
        let escaped = |char: char| {
            if changes_direction(char) {
                format!("\\u{:04x}", u32::from(char))
            } else {
                char.to_string()
            }
        };
        json = json.chars().map(escaped).collect();
    }
    let mut hashes = "#".to_owned();
    // the search for a single character is fast, and skips the search for a string in most texts
    while json.contains('#') && json.contains(&format!("\"{hashes}")) {
        hashes.push('#');
    }
    format!("r{hashes}\"{json}\"{hashes}")
}

/// Formats a string literal, as a raw one if that avoids escapes.
pub fn literal(text: &str) -> String {
    // most texts need no escapes
    let is_bare = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.bytes().all(is_bare) {
        return format!("\"{text}\"");
    }
    let is_plain = |char: char| !char.is_control() && !changes_direction(char);
    if text.contains(['"', '\\']) && !text.contains("\"#") && text.chars().all(is_plain) {
        if text.contains('"') {
            format!("r#\"{text}\"#")
        } else {
            format!("r\"{text}\"")
        }
    } else {
        format!("{text:?}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use syn::LitStr;

    use super::*;

    fn texts<const COUNT: usize>(texts: [&str; COUNT]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn the_attributes_are_below_the_comments() {
        let text = untouched("// Generated.\n//! Types.\n\nuse a;\n");
        let expected = format!("// Generated.\n//! Types.\n{ATTRIBUTES}\nuse a;\n");
        assert_eq!(text, expected);
        assert_eq!(untouched("use a;\n"), format!("{ATTRIBUTES}\nuse a;\n"));
    }

    #[test]
    fn a_long_list_has_a_line_for_each_item() {
        let short = list("call", ['(', ')'], &texts(["a", "b"]), ";");
        assert_eq!(short, "call(a, b);\n");
        let (a, b) = ("a".repeat(60), "b".repeat(60));
        let long = list("call", ['(', ')'], &texts([&a, &b]), ";");
        assert_eq!(long, format!("call(\n    {a},\n    {b},\n);\n"));
    }

    #[test]
    fn the_only_argument_of_an_attribute_stays_on_its_line() {
        let (a, b) = ("a".repeat(60), "b".repeat(60));
        let inner = meta("extend", &texts([&a, &b]));
        assert_eq!(
            attribute("schemars", &[inner]),
            format!("#[schemars(extend(\n    {a},\n    {b}\n))]\n")
        );
    }

    #[test]
    fn a_long_line_is_broken_once() {
        let long = "a".repeat(60);
        assert_eq!(joined("type A =", "B;"), "type A = B;");
        assert_eq!(joined(&long, &long), format!("{long}\n    {long}"));
    }

    proptest! {
        #[test]
        fn a_literal_is_read_back_as_its_text(text in "[\\\\'\"#`a\n\r\t\\x00\u{85}\u{202e}\u{2066}\u{e4}{}]{0,12}") {
            let written = literal(&text);
            prop_assert!(!written.contains(changes_direction));
            prop_assert_eq!(syn::parse_str::<LitStr>(&written).unwrap().value(), text.clone());
            let json = serde_json::Value::from(text);
            let written = json_literal(&json.to_string());
            prop_assert!(!written.contains(changes_direction));
            let read = syn::parse_str::<LitStr>(&written).unwrap().value();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&read).unwrap(), json);
        }
    }

    #[test]
    fn bidirectional_control_characters_are_escaped() {
        assert_eq!(json_literal("\"a\u{202e}\""), r##"r#""a\u202e""#"##);
        assert_eq!(json_literal("\"\"#"), "r##\"\"\"#\"##");
        assert_eq!(literal("\\ \u{2066}"), r#""\\ \u{2066}""#);
    }
}
